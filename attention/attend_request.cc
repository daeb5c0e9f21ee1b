#include "attention/attend_request.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "attention/attention_backend.h"
#include "base/file.h"
#include "base/status.h"

namespace softlookup {
namespace {

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

absl::StatusOr<Precision> ParsePrecision(const std::string& text) {
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
  const bool finite = precision == Precision::kFloat32
                          ? std::isfinite(static_cast<float>(scale))
                          : std::isfinite(scale);
  if (!finite) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag --scale is ", text, "; allowed: a number finite in ",
                     PrecisionName(precision)));
  }
  return scale;
}

absl::Status CheckBackend(const std::string& name, Precision precision) {
  return precision == Precision::kFloat32
             ? FindAttentionBackend<float>(name).status()
             : FindAttentionBackend<double>(name).status();
}

}  // namespace

std::string PrecisionName(Precision precision) {
  return precision == Precision::kFloat32 ? "float32" : "float64";
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
                              ParsePrecision(flags.precision));
  if (!flags.scale.empty()) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(request.options.scale,
                                ParseScale(flags.scale, request.precision));
  }
  const absl::Status backend = CheckBackend(flags.backend, request.precision);
  if (!backend.ok()) return FlagError(backend);
  request.backend = flags.backend;
  return request;
}

}  // namespace softlookup
