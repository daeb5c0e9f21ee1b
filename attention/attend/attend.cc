// attend: attention, forward and backward, from file to file. The oracle that
// other implementations can be held to, in any language that reads
// safetensors. What the files hold: attention/attend/attend_input.h,
// attend_run.h.
//
//   bazel run //attention:attend -- --input=in.safetensors
//       --output=out.safetensors --causal=top_left --weights
#include <cstdio>
#include <string>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attention/attend/attend_request.h"
#include "attention/attend/attend_run.h"
#include "base/file.h"
#include "base/program.h"
#include "base/safetensors/safetensors.h"
#include "base/status.h"
#include "base/tensor/shape.h"
#include "base/tensor/stored_tensor.h"

ABSL_FLAG(std::string, input, "",
          "Safetensors file with query [B,H,Tq,D], key [B,Hkv,Tk,D], value "
          "[B,Hkv,Tk,Dv]; optional mask (BOOL), bias, key_lengths, key_starts, "
          "output_gradient [B,H,Tq,Dv].");
ABSL_FLAG(std::string, output, "",
          "Where to write output, log_sum_exp, weights and gradients.");
ABSL_FLAG(std::string, causal, "none",
          "none, top_left (j <= i) or bottom_right (j <= i + Tk - Tq).");
ABSL_FLAG(std::string, scale, "",
          "Factor on the products of query and key; empty: 1 / sqrt(D).");
ABSL_FLAG(std::string, fully_masked, "zero",
          "What a row with every key masked gives: zero, nan or error.");
ABSL_FLAG(bool, weights, false, "Also write weights, [B,H,Tq,Tk].");
ABSL_FLAG(std::string, precision, "float64",
          "Arithmetic and output: float64 or float32; with --backend=cudnn "
          "bfloat16 or float16, to which float32 input is rounded.");
ABSL_FLAG(
    std::string, backend, "reference",
    "Implementation: reference, or with --precision=float32 simd: blocked, "
    "threaded, widths up to 256, no weights; cudnn: on an NVIDIA GPU, in half "
    "precision, if built with --config=cuda; auto: cudnn for F16 or BF16 input "
    "where it can, otherwise the CPU in --precision, and it says which.");
ABSL_FLAG(std::string, isa, "auto",
          "Instruction set of simd: auto, portable, avx2 or avx512. The result "
          "is the same to the bit.");
ABSL_FLAG(std::string, threads, "",
          "Threads of simd, 1 to 1024; empty: one per processor. The result is "
          "the same to the bit.");

ABSL_FLAG(bool, deterministic, false,
          "With cudnn, gradients of the same bits from run to run, for more "
          "memory; the other backends always have them.");

namespace softlookup {
namespace {

absl::Status Run() {
  AttendFlags flags;
  flags.input = absl::GetFlag(FLAGS_input);
  flags.output = absl::GetFlag(FLAGS_output);
  flags.causal = absl::GetFlag(FLAGS_causal);
  flags.scale = absl::GetFlag(FLAGS_scale);
  flags.fully_masked = absl::GetFlag(FLAGS_fully_masked);
  flags.weights = absl::GetFlag(FLAGS_weights);
  flags.precision = absl::GetFlag(FLAGS_precision);
  flags.backend = absl::GetFlag(FLAGS_backend);
  flags.isa = absl::GetFlag(FLAGS_isa);
  flags.threads = absl::GetFlag(FLAGS_threads);
  flags.deterministic = absl::GetFlag(FLAGS_deterministic);
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttendRequest request,
                              ParseAttendFlags(flags));
  if (IsSameFile(request.input, request.output)) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag --output is ", request.output,
                     ", the file of --input; allowed: another file"));
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SafetensorsFile file,
                              ReadSafetensors(request.input));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckWritable(request.output));
  absl::StatusOr<AttendResult> result = RunAttend(request, file);
  if (!result.ok()) {
    return absl::Status(
        result.status().code(),
        absl::StrCat(request.input, ": ", result.status().message()));
  }
  SOFTLOOKUP_RETURN_IF_ERROR(WriteSafetensors(request.output, result->file));
  std::printf("%swrote %s:\n", result->summary.c_str(), request.output.c_str());
  for (const StoredTensor& tensor : result->file.tensors) {
    std::printf("  %s %s\n", tensor.name.c_str(),
                ShapeString(tensor.shape).c_str());
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::RunProgram(
      argc, argv,
      "scaled dot-product attention, forward and backward, from a safetensors "
      "file to another; the reference that other implementations are held to.",
      softlookup::Run);
}
