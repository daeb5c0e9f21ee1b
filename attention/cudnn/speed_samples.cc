#include "attention/cudnn/speed_samples.h"

#include <cstddef>

#include "base/check.h"
#include "base/statistics/quantile.h"
#include "base/status.h"
#include "base/timing.h"

namespace softlookup::cudnn {

absl::StatusOr<SpeedSamples> SampleInTurn(const Sampler& ours,
                                          const Sampler& theirs, int rounds) {
  SpeedSamples samples;
  bool asking = theirs != nullptr;
  for (int round = 0; round <= rounds; ++round) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(const double our_seconds, ours());
    if (round > 0) samples.ours.push_back(our_seconds);
    if (!asking) continue;
    const absl::StatusOr<double> their_seconds = theirs();
    if (!their_seconds.ok()) {
      asking = false;
      samples.theirs_status = their_seconds.status();
      samples.theirs.clear();
    } else if (round > 0) {
      samples.theirs.push_back(*their_seconds);
    }
  }
  return samples;
}

SpeedRatio CompareSpeed(const SpeedSamples& samples) {
  SOFTLOOKUP_CHECK(
      !samples.ours.empty() && samples.ours.size() == samples.theirs.size(),
      "samples of both");
  std::vector<double> ratios;
  for (size_t round = 0; round < samples.ours.size(); ++round) {
    ratios.push_back(samples.theirs[round] / samples.ours[round]);
  }
  return {.median =
              Summarize(samples.theirs).median / Summarize(samples.ours).median,
          .low = Quantile(ratios, 0.25),
          .high = Quantile(ratios, 0.75)};
}

}  // namespace softlookup::cudnn
