// The learning rate over a training run: a linear rise, then constant or down
// to zero by a line or half a cosine (Loshchilov and Hutter 2017).
//
//   const RateSchedule schedule = {.peak = 3e-3, .warmup = 100,
//                                  .steps = 1200, .shape =
//                                  ScheduleShape::kCosine};
//   const double rate = RateAt(schedule, step);
#ifndef SOFTLOOKUP_MODEL_SCHEDULE_H_
#define SOFTLOOKUP_MODEL_SCHEDULE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace softlookup {

// After the rise.
enum class ScheduleShape { kConstant, kLinear, kCosine };

struct RateSchedule {
  double peak = 3e-3;
  int64_t warmup = 0;    // steps of the rise, which count among `steps`
  int64_t steps = 1200;  // of the run
  ScheduleShape shape = ScheduleShape::kConstant;
};

// InvalidArgument, naming the field, for a peak that is not positive and
// finite, no steps, and a warm-up outside [0, steps].
absl::Status CheckSchedule(const RateSchedule& schedule);

// The rate of step 0 <= step < schedule.steps, never 0: the n-th of w steps of
// the rise has n / w of the peak, and a fall would reach 0 at step `steps`.
double RateAt(const RateSchedule& schedule, int64_t step);

// "constant", "linear", "cosine".
std::string ScheduleShapeName(ScheduleShape shape);
// InvalidArgument names what is allowed.
absl::StatusOr<ScheduleShape> ParseScheduleShape(const std::string& text);

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_SCHEDULE_H_
