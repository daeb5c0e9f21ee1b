// Estimates from random draws: a value with its standard error.
//
//   Estimate variance = VarianceEstimate(scores);
//   results["variance"] = EstimateJson(variance);
//   // {"value": 127.3, "standard_error": 2.6, "interval": [116.9, 137.7]}
//
// Sums run in index order. The interval reaches four standard errors to either
// side, as far as the ledger lets a printed value stray.
#ifndef SOFTLOOKUP_BASE_STATISTICS_ESTIMATE_H_
#define SOFTLOOKUP_BASE_STATISTICS_ESTIMATE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "base/json.h"

namespace softlookup {

struct Estimate {
  double value = 0;
  double standard_error = 0;
};

// How many standard errors an interval reaches to either side.
inline constexpr double kIntervalMultiple = 4;

// How many standard errors the value lies from what it estimates.
double ErrorsOff(const Estimate& estimate, double truth);

// {"value", "standard_error", "interval": [low, high]}.
Json EstimateJson(const Estimate& estimate);
// The same with "errors_off".
Json EstimateJson(const Estimate& estimate, double truth);

// The mean of n >= 1 draws.
double Mean(absl::Span<const double> draws);

// What an effect is over the draws, in its own unit.
struct MeanAndRange {
  double mean = 0;
  double smallest = 0;
  double largest = 0;
};

// Of n >= 1 draws; NaN in all three when there is a NaN among them.
MeanAndRange MeanAndRangeOf(absl::Span<const double> draws);

// Of one number of every draw's struct: a pointer to a member, or a function of
// the struct.
template <typename Draw, typename Number>
MeanAndRange MeanAndRangeOf(const std::vector<Draw>& draws, Number number) {
  std::vector<double> values;
  for (const Draw& draw : draws) values.push_back(std::invoke(number, draw));
  return MeanAndRangeOf(values);
}

// {"mean", "range": [smallest, largest]}.
Json ToJson(const MeanAndRange& effect);

// The mean of n >= 2 independent draws; its error is the sample's standard
// deviation over sqrt(n).
Estimate MeanEstimate(absl::Span<const double> draws);

// The unbiased variance of n >= 4 independent draws, whatever their
// distribution. Var(s^2) = (m4 - s^4 (n - 3) / (n - 1)) / n, with the draws'
// own fourth central moment for m4.
Estimate VarianceEstimate(absl::Span<const double> draws);

// The square root of the variance's estimate, its error to first order.
Estimate StandardDeviationEstimate(absl::Span<const double> draws);

struct GeometricMean {
  double value = 0;
  double log_standard_error = 0;  // of the logarithm
  double low = 0;                 // four of them below and above, taken back
  double high = 0;
};

// The mean and its error on a logarithmic scale, taken back: the geometric
// mean of n >= 2 positive draws.
GeometricMean GeometricMeanEstimate(absl::Span<const double> draws);

// {"value", "log_standard_error", "interval": [low, high]}.
Json ToJson(const GeometricMean& mean);

// The middle value; the mean of the two middle ones for an even count. n >= 1.
double Median(absl::Span<const double> draws);

using Statistic = std::function<double(absl::Span<const double>)>;

// A statistic of all draws, with an error from replicates: the draws are cut
// into `blocks` >= 2 equal runs, which must divide their number, and the
// standard deviation of the runs' statistics is divided by sqrt(blocks).
Estimate BlockEstimate(absl::Span<const double> draws, int64_t blocks,
                       const Statistic& statistic);

// statistic(numerator) / statistic(denominator) for paired draws, with an error
// from blocks of pairs.
Estimate BlockRatioEstimate(absl::Span<const double> numerator,
                            absl::Span<const double> denominator,
                            int64_t blocks, const Statistic& statistic);

// The fraction of draws that are at least `threshold`.
double FractionAtLeast(absl::Span<const double> draws, double threshold);

struct Histogram {
  double low = 0;
  double high = 0;
  std::vector<int64_t> counts;  // one per bin
};

// How many draws fall into each of `bins` equal bins of [low, high], its upper
// end included. Draws outside are not counted.
Histogram CountDraws(absl::Span<const double> draws, double low, double high,
                     int64_t bins);

// {"low", "high", "counts"}.
Json ToJson(const Histogram& histogram);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_STATISTICS_ESTIMATE_H_
