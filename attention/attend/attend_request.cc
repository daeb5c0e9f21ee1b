#include "attention/attend/attend_request.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "attention/attend/attention_backend.h"
#include "attention/cudnn/gpu_attention.h"
#include "base/file.h"
#include "base/status.h"
#include "base/thread_pool.h"

namespace softlookup {
namespace {

constexpr absl::string_view kCudnn = "cudnn";
constexpr absl::string_view kAuto = "auto";

// Parsers name the option; on the command line it is a flag.
absl::Status FlagError(const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat("flag --", status.message()));
}

absl::StatusOr<std::string> ParsePath(const std::string& name,
                                      const std::string& path) {
  if (path.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "flag --", name, " is missing; give --", name, "=FILE.safetensors"));
  }
  return ResolveUserPath(path);
}

// cuDNN computes in half precision, everything else in more.
absl::StatusOr<Precision> ParsePrecision(const std::string& text,
                                         const std::string& backend) {
  if (backend == kCudnn) {
    for (const Precision precision :
         {Precision::kBFloat16, Precision::kFloat16}) {
      if (text == PrecisionName(precision)) return precision;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("flag --precision is \"", text,
                     "\"; allowed with --backend=cudnn: bfloat16, float16, to "
                     "which float32 input is rounded"));
  }
  for (const Precision precision : {Precision::kFloat64, Precision::kFloat32}) {
    if (text == PrecisionName(precision)) return precision;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "flag --precision is \"", text, "\"; allowed: float64, float32"));
}

absl::StatusOr<double> ParseScale(const std::string& text,
                                  Precision precision) {
  double scale;
  if (!absl::SimpleAtod(text, &scale)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "flag --scale is \"", text, "\"; allowed: a finite number"));
  }
  // Half precision too scales in float32.
  const bool is_float32 = precision != Precision::kFloat64;
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
                     PrecisionName(precision)));
  }
  return scale;
}

absl::StatusOr<int> ParseThreads(const std::string& text) {
  if (text.empty()) return AvailableProcessors();
  int threads;
  if (!absl::SimpleAtoi(text, &threads) || !CheckThreads(threads).ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag --threads is \"", text, "\"; allowed: 1 to ",
                     kMaxThreads, ", or nothing for all processors"));
  }
  return threads;
}

// Flags that only some backends have must be left alone with the others.
absl::Status CheckNoRunOptions(const AttendFlags& flags) {
  for (const auto& [name, is_default] :
       {std::pair("isa", flags.isa == AttendFlags().isa),
        std::pair("threads", flags.threads == AttendFlags().threads)}) {
    if (is_default) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("flag --", name, " with --backend=", flags.backend,
                     ", which has one way to run; allowed: --backend=simd "
                     "--precision=float32"));
  }
  return absl::OkStatus();
}

absl::Status ParseCudnn(const AttendFlags& flags) {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckGpuAttentionBuilt());
  if (flags.weights) {
    return absl::InvalidArgumentError(
        "flag --weights with --backend=cudnn, which never forms them; allowed: "
        "--backend=reference");
  }
  return CheckNoRunOptions(flags);
}

// What the chosen backend does, out of what is asked.
template <typename T>
absl::Status ParseBackend(const AttendFlags& flags, AttendRequest& request) {
  const absl::StatusOr<const AttentionBackend<T>*> backend =
      FindAttentionBackend<T>(flags.backend);
  if (!backend.ok()) return FlagError(backend.status());
  request.backend = flags.backend;
  if (flags.weights && !(*backend)->has_weights) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag --weights with --backend=", flags.backend,
                     ", which never forms them; allowed: "
                     "--backend=reference"));
  }
  if ((*backend)->has_run_options) {
    const auto set = kernels::ParseInstructionSet(flags.isa);
    if (!set.ok()) return FlagError(set.status());
    request.instruction_set = *set;
    SOFTLOOKUP_ASSIGN_OR_RETURN(request.threads, ParseThreads(flags.threads));
    return absl::OkStatus();
  }
  return CheckNoRunOptions(flags);
}

}  // namespace

std::string PrecisionName(Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
      return "float32";
    case Precision::kBFloat16:
      return "bfloat16";
    case Precision::kFloat16:
      return "float16";
    case Precision::kFloat64:
      break;
  }
  return "float64";
}

absl::StatusOr<AttendRequest> ParseAttendFlags(const AttendFlags& flags) {
  AttendRequest request;
  SOFTLOOKUP_ASSIGN_OR_RETURN(request.input, ParsePath("input", flags.input));
  SOFTLOOKUP_ASSIGN_OR_RETURN(request.output,
                              ParsePath("output", flags.output));
  absl::StatusOr<CausalAlignment> causal = ParseCausalAlignment(flags.causal);
  if (!causal.ok()) return FlagError(causal.status());
  request.causal = *causal;
  absl::StatusOr<FullyMasked> fully_masked =
      ParseFullyMasked(flags.fully_masked);
  if (!fully_masked.ok()) return FlagError(fully_masked.status());
  request.options.fully_masked = *fully_masked;
  request.options.weights = flags.weights;
  SOFTLOOKUP_ASSIGN_OR_RETURN(request.precision,
                              ParsePrecision(flags.precision, flags.backend));
  if (!flags.scale.empty()) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(request.options.scale,
                                ParseScale(flags.scale, request.precision));
  }
  request.deterministic = flags.deterministic;
  if (flags.backend == kCudnn || flags.backend == kAuto) {
    request.backend = flags.backend;
    request.threads = AvailableProcessors();
    SOFTLOOKUP_RETURN_IF_ERROR(
        flags.backend == kCudnn ? ParseCudnn(flags) : CheckNoRunOptions(flags));
    return request;
  }
  SOFTLOOKUP_RETURN_IF_ERROR(request.precision == Precision::kFloat32
                                 ? ParseBackend<float>(flags, request)
                                 : ParseBackend<double>(flags, request));
  return request;
}

}  // namespace softlookup
