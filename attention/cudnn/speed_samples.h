// Two programs measured in turn, so that a slow moment of the card hits both,
// and what that says about their speeds.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       const SpeedSamples samples,
//       SampleInTurn([&] { return TimeOurs(); }, [&] { return TimeTheirs(); },
//                    /*rounds=*/7));
//   const SpeedRatio ratio = CompareSpeed(samples);
//   // ratio.median >= kLeastRatio: ours is at most 3 % slower
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_SPEED_SAMPLES_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_SPEED_SAMPLES_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace softlookup::cudnn {

struct SpeedSamples {
  std::vector<double> ours;    // seconds of each round
  std::vector<double> theirs;  // the same rounds; empty where there is no other
  // Why `theirs` is empty; OK also if nobody was asked.
  absl::Status theirs_status = absl::OkStatus();
};

using Sampler = std::function<absl::StatusOr<double>()>;

// Ours, theirs, ours, theirs, ... The first round warms both up and is not
// kept. `theirs` may be null; when it fails, ours goes on alone. An error of
// ours is returned.
absl::StatusOr<SpeedSamples> SampleInTurn(const Sampler& ours,
                                          const Sampler& theirs, int rounds);

// How fast ours is in terms of theirs: their seconds over ours.
struct SpeedRatio {
  double median = 0;  // median of theirs over median of ours
  // The middle half of the ratios of single rounds.
  double low = 0;
  double high = 0;
};
inline constexpr double kLeastRatio = 0.97;

// Of samples that have both.
SpeedRatio CompareSpeed(const SpeedSamples& samples);

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_SPEED_SAMPLES_H_
