#include "attention/attend/attend_request.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "attention/cudnn/gpu_attention.h"
#include "base/file.h"
#include "base/named_values.h"
#include "base/status.h"
#include "base/thread_pool.h"

// Every flag, in the order in which they are checked: its type, name, default
// and help, and the function that puts it into the request.
#define SOFTLOOKUP_ATTEND_FLAGS(FLAG)                                          \
  FLAG(std::string, input, "",                                                 \
       "Safetensors file with query [B,H,Tq,D], key [B,Hkv,Tk,D], value "      \
       "[B,Hkv,Tk,Dv]; optional mask (BOOL), bias, key_lengths, key_starts, "  \
       "output_gradient [B,H,Tq,Dv].",                                         \
       ParseInput)                                                             \
  FLAG(std::string, output, "",                                                \
       "Where to write output, log_sum_exp, weights and gradients.",           \
       ParseOutput)                                                            \
  FLAG(std::string, causal, "none",                                            \
       "none, top_left (j <= i) or bottom_right (j <= i + Tk - Tq).",          \
       ParseCausal)                                                            \
  FLAG(std::string, fully_masked, "zero",                                      \
       "What a row with every key masked gives: zero, nan or error.",          \
       ParseRule)                                                              \
  FLAG(std::string, precision, "float64",                                      \
       "Arithmetic and output: float64 or float32; with --backend=cudnn "      \
       "bfloat16 or float16, to which float32 input is rounded.",              \
       ParsePrecision)                                                         \
  FLAG(std::string, scale, "",                                                 \
       "Factor on the products of query and key; empty: 1 / sqrt(D).",         \
       ParseScale)                                                             \
  FLAG(                                                                        \
      std::string, backend, "reference",                                       \
      "Implementation: reference, or with --precision=float32 simd: blocked, " \
      "threaded, widths up to 256, no weights; cudnn: on an NVIDIA GPU, in "   \
      "half precision, if built with --config=cuda; auto: cudnn for F16 or "   \
      "BF16 input where it can, otherwise the CPU in --precision, and it "     \
      "says which.",                                                           \
      ParseBackend)                                                            \
  FLAG(bool, weights, false, "Also write weights, [B,H,Tq,Tk].", ParseWeights) \
  FLAG(std::string, isa, "auto",                                               \
       "Instruction set of simd: auto, portable, avx2 or avx512. The result "  \
       "is the same to the bit.",                                              \
       ParseIsa)                                                               \
  FLAG(std::string, threads, "",                                               \
       "Threads of simd, 1 to 1024; empty: one per processor. The result is "  \
       "the same to the bit.",                                                 \
       ParseThreads)                                                           \
  FLAG(bool, deterministic, false,                                             \
       "With cudnn, gradients of the same bits from run to run, for more "     \
       "memory; the other backends always have them.",                         \
       ParseDeterministic)

#define SOFTLOOKUP_DEFINE_FLAG(type, name, default_value, help, parse) \
  ABSL_FLAG(type, name, default_value, help);
SOFTLOOKUP_ATTEND_FLAGS(SOFTLOOKUP_DEFINE_FLAG)
#undef SOFTLOOKUP_DEFINE_FLAG

namespace softlookup {
namespace {

const NamedValues<Precision>& Precisions() {
  static const auto& names =
      *new NamedValues<Precision>{{Precision::kFloat64, "float64"},
                                  {Precision::kFloat32, "float32"},
                                  {Precision::kBFloat16, "bfloat16"},
                                  {Precision::kFloat16, "float16"}};
  return names;
}

const NamedValues<Backend>& Backends() {
  static const auto& names =
      *new NamedValues<Backend>{{Backend::kReference, "reference"},
                                {Backend::kSimd, "simd"},
                                {Backend::kCudnn, "cudnn"},
                                {Backend::kAuto, "auto"}};
  return names;
}

// Puts a value into `target`, or says which flag is wrong: parsers name the
// option, which on the command line is a flag.
template <typename T>
absl::Status Set(absl::StatusOr<T> value, T& target) {
  if (!value.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag --", value.status().message()));
  }
  target = *std::move(value);
  return absl::OkStatus();
}

absl::Status ParsePath(const char* name, const std::string& path,
                       std::string& target) {
  if (path.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "flag --", name, " is missing; give --", name, "=FILE.safetensors"));
  }
  target = ResolveUserPath(path);
  return absl::OkStatus();
}

absl::Status ParseInput(const std::string& path, AttendRequest& request) {
  return ParsePath("input", path, request.input);
}

absl::Status ParseOutput(const std::string& path, AttendRequest& request) {
  return ParsePath("output", path, request.output);
}

absl::Status ParseCausal(const std::string& text, AttendRequest& request) {
  return Set(ParseCausalAlignment(text), request.causal);
}

absl::Status ParseRule(const std::string& text, AttendRequest& request) {
  return Set(ParseFullyMasked(text), request.options.fully_masked);
}

// cuDNN computes in half precision, everything else in more.
absl::Status ParsePrecision(const std::string& text, AttendRequest& request) {
  const bool half =
      absl::GetFlag(FLAGS_backend) == BackendName(Backend::kCudnn);
  const absl::StatusOr<Precision> parsed =
      ParseName(Precisions(), "precision", text);
  if (parsed.ok() && half == (*parsed == Precision::kBFloat16 ||
                              *parsed == Precision::kFloat16)) {
    request.precision = *parsed;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "flag --precision is \"", text, "\"; allowed",
      half ? " with --backend=cudnn: bfloat16, float16, to which float32 input "
             "is rounded"
           : ": float64, float32"));
}

absl::Status ParseScale(const std::string& text, AttendRequest& request) {
  if (text.empty()) return absl::OkStatus();
  double scale;
  if (!absl::SimpleAtod(text, &scale)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "flag --scale is \"", text, "\"; allowed: a finite number"));
  }
  // Half precision too scales in float32.
  const bool is_float32 = request.precision != Precision::kFloat64;
  if (is_float32 && scale != 0 &&
      std::abs(scale) < std::numeric_limits<float>::min()) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag --scale is ", text,
                     ", which float32 does not hold; allowed: 0, or at least ",
                     std::numeric_limits<float>::min(), " in size"));
  }
  const bool finite = is_float32 ? std::isfinite(static_cast<float>(scale))
                                 : std::isfinite(scale);
  if (!finite) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag --scale is ", text, "; allowed: a number finite in ",
                     PrecisionName(request.precision)));
  }
  request.options.scale = scale;
  return absl::OkStatus();
}

absl::Status ParseBackend(const std::string& text, AttendRequest& request) {
  const absl::StatusOr<Backend> parsed = ParseName(Backends(), "backend", text);
  const bool float32 = request.precision == Precision::kFloat32;
  if (!parsed.ok() || (*parsed == Backend::kSimd && !float32)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "flag --backend is \"", text, "\"; allowed with precision ",
        PrecisionName(request.precision), ": reference",
        float32 ? ", simd" : ""));
  }
  request.backend = *parsed;
  return *parsed == Backend::kCudnn ? CheckGpuAttentionBuilt()
                                    : absl::OkStatus();
}

absl::Status ParseWeights(bool weights, AttendRequest& request) {
  request.options.weights = weights;
  if (!weights || request.backend == Backend::kReference ||
      request.backend == Backend::kAuto) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "flag --weights with --backend=", BackendName(request.backend),
      ", which never forms them; allowed: --backend=reference"));
}

// A flag that only simd has must be left alone with the others.
absl::Status CheckLeftAlone(const absl::CommandLineFlag& flag,
                            const AttendRequest& request) {
  if (flag.CurrentValue() == flag.DefaultValue()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "flag --", flag.Name(), " with --backend=", BackendName(request.backend),
      ", which has one way to run; allowed: --backend=simd "
      "--precision=float32"));
}

absl::Status ParseIsa(const std::string& text, AttendRequest& request) {
  if (request.backend != Backend::kSimd) {
    return CheckLeftAlone(absl::GetFlagReflectionHandle(FLAGS_isa), request);
  }
  return Set(kernels::ParseInstructionSet(text), request.instruction_set);
}

absl::Status ParseThreads(const std::string& text, AttendRequest& request) {
  if (text.empty()) {
    request.threads = AvailableProcessors();
    return absl::OkStatus();
  }
  if (request.backend != Backend::kSimd) {
    return CheckLeftAlone(absl::GetFlagReflectionHandle(FLAGS_threads),
                          request);
  }
  if (!absl::SimpleAtoi(text, &request.threads) ||
      !CheckThreads(request.threads).ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag --threads is \"", text, "\"; allowed: 1 to ",
                     kMaxThreads, ", or nothing for all processors"));
  }
  return absl::OkStatus();
}

absl::Status ParseDeterministic(bool deterministic, AttendRequest& request) {
  request.deterministic = deterministic;
  return absl::OkStatus();
}

}  // namespace

std::string PrecisionName(Precision precision) {
  return NameOf(Precisions(), precision);
}

std::string BackendName(Backend backend) { return NameOf(Backends(), backend); }

absl::StatusOr<AttendRequest> RequestFromFlags() {
  AttendRequest request;
#define SOFTLOOKUP_PARSE_FLAG(type, name, default_value, help, parse) \
  SOFTLOOKUP_RETURN_IF_ERROR(parse(absl::GetFlag(FLAGS_##name), request));
  SOFTLOOKUP_ATTEND_FLAGS(SOFTLOOKUP_PARSE_FLAG)
#undef SOFTLOOKUP_PARSE_FLAG
  return request;
}

}  // namespace softlookup
