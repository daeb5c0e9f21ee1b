#include "model/schedule.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/elementary.h"
#include "base/named_values.h"
#include "base/status.h"

namespace softlookup {
namespace {

constexpr double kPi = 3.14159265358979324;

const NamedValues<Decay>& Decays() {
  static const auto& names =
      *new NamedValues<Decay>{{Decay::kConstant, "constant"},
                              {Decay::kLinear, "linear"},
                              {Decay::kCosine, "cosine"}};
  return names;
}

}  // namespace

absl::Status CheckSchedule(const RateSchedule& schedule) {
  if (!(schedule.peak > 0 && std::isfinite(schedule.peak))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "peak is ", schedule.peak, "; allowed: a positive number"));
  }
  if (schedule.steps < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("steps is ", schedule.steps, "; allowed: 1 or more"));
  }
  if (schedule.warmup < 0 || schedule.warmup > schedule.steps) {
    return absl::InvalidArgumentError(
        absl::StrCat("warmup is ", schedule.warmup, "; allowed: 0 to the ",
                     schedule.steps, " steps"));
  }
  return absl::OkStatus();
}

double RateAt(const RateSchedule& schedule, int64_t step) {
  SOFTLOOKUP_CHECK(
      CheckSchedule(schedule).ok() && 0 <= step && step < schedule.steps,
      "a step of a valid schedule");
  if (step < schedule.warmup) {
    return schedule.peak * static_cast<double>(step + 1) /
           static_cast<double>(schedule.warmup);
  }
  // How much of what follows the rise is over.
  const double over = static_cast<double>(step - schedule.warmup) /
                      static_cast<double>(schedule.steps - schedule.warmup);
  switch (schedule.decay) {
    case Decay::kConstant:
      return schedule.peak;
    case Decay::kLinear:
      return schedule.peak * (1 - over);
    case Decay::kCosine:
      return schedule.peak * (1 + Cos(kPi * over)) / 2;
  }
  return schedule.peak;
}

std::string DecayName(Decay decay) { return NameOf(Decays(), decay); }

absl::StatusOr<Decay> ParseDecay(const std::string& text) {
  return ParseName(Decays(), "lr_schedule", text);
}

}  // namespace softlookup
