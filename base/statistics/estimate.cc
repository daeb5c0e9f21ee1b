#include "base/statistics/estimate.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/elementary.h"
#include "base/statistics/quantile.h"
#include "base/tensor/deviation.h"

namespace softlookup {
namespace {

// The mean of (draw - mean)^2 and of its square.
struct CentralMoments {
  double second = 0;
  double fourth = 0;
};

CentralMoments MomentsAbout(double mean, absl::Span<const double> draws) {
  CentralMoments moments;
  for (const double draw : draws) {
    const double square = (draw - mean) * (draw - mean);
    moments.second += square;
    moments.fourth += square * square;
  }
  moments.second /= static_cast<double>(draws.size());
  moments.fourth /= static_cast<double>(draws.size());
  return moments;
}

}  // namespace

double ErrorsOff(const Estimate& estimate, double truth) {
  return std::abs(estimate.value - truth) / estimate.standard_error;
}

Json EstimateJson(const Estimate& estimate) {
  const double reach = kIntervalMultiple * estimate.standard_error;
  return {{"value", estimate.value},
          {"standard_error", estimate.standard_error},
          {"interval", {estimate.value - reach, estimate.value + reach}}};
}

Json EstimateJson(const Estimate& estimate, double truth) {
  Json json = EstimateJson(estimate);
  json["errors_off"] = ErrorsOff(estimate, truth);
  return json;
}

double Mean(absl::Span<const double> draws) {
  double sum = 0;
  for (const double draw : draws) sum += draw;
  return sum / static_cast<double>(draws.size());
}

Estimate MeanEstimate(absl::Span<const double> draws) {
  SOFTLOOKUP_CHECK(draws.size() >= 2, "two draws for an error");
  const double n = static_cast<double>(draws.size());
  const double mean = Mean(draws);
  const double variance = MomentsAbout(mean, draws).second * n / (n - 1);
  return {mean, std::sqrt(variance / n)};
}

MeanAndRange MeanAndRangeOf(absl::Span<const double> draws) {
  SOFTLOOKUP_CHECK(!draws.empty(), "one draw for a mean");
  Largest largest = Largest::OfAny();
  Smallest smallest;
  for (const double draw : draws) {
    largest.See(draw);
    smallest.See(draw);
  }
  return {Mean(draws), smallest.value(), largest.value()};
}

Json ToJson(const MeanAndRange& effect) {
  return {{"mean", effect.mean}, {"range", {effect.smallest, effect.largest}}};
}

Estimate VarianceEstimate(absl::Span<const double> draws) {
  SOFTLOOKUP_CHECK(draws.size() >= 4, "four draws for an error");
  const double n = static_cast<double>(draws.size());
  const CentralMoments moments = MomentsAbout(Mean(draws), draws);
  const double variance = moments.second * n / (n - 1);
  const double spread =
      (moments.fourth - variance * variance * (n - 3) / (n - 1)) / n;
  return {variance, std::sqrt(spread)};
}

Estimate StandardDeviationEstimate(absl::Span<const double> draws) {
  const Estimate variance = VarianceEstimate(draws);
  const double deviation = std::sqrt(variance.value);
  return {deviation, variance.standard_error / (2 * deviation)};
}

GeometricMean GeometricMeanEstimate(absl::Span<const double> draws) {
  std::vector<double> logarithms;
  for (const double draw : draws) logarithms.push_back(Log(draw));
  const Estimate mean = MeanEstimate(logarithms);
  const double reach = kIntervalMultiple * mean.standard_error;
  return {.value = Exp(mean.value),
          .log_standard_error = mean.standard_error,
          .low = Exp(mean.value - reach),
          .high = Exp(mean.value + reach)};
}

Json ToJson(const GeometricMean& mean) {
  return {{"value", mean.value},
          {"log_standard_error", mean.log_standard_error},
          {"interval", {mean.low, mean.high}}};
}

double Median(absl::Span<const double> draws) { return Quantile(draws, 0.5); }

Estimate BlockEstimate(absl::Span<const double> draws, int64_t blocks,
                       const Statistic& statistic) {
  SOFTLOOKUP_CHECK(blocks >= 2 && draws.size() % blocks == 0,
                   "blocks of equal size");
  const size_t size = draws.size() / blocks;
  std::vector<double> replicates;
  for (int64_t block = 0; block < blocks; ++block) {
    replicates.push_back(statistic(draws.subspan(block * size, size)));
  }
  return {statistic(draws), MeanEstimate(replicates).standard_error};
}

Estimate BlockRatioEstimate(absl::Span<const double> numerator,
                            absl::Span<const double> denominator,
                            int64_t blocks, const Statistic& statistic) {
  SOFTLOOKUP_CHECK(numerator.size() == denominator.size() && blocks >= 2 &&
                       numerator.size() % blocks == 0,
                   "paired blocks of equal size");
  const size_t size = numerator.size() / blocks;
  std::vector<double> replicates;
  for (int64_t block = 0; block < blocks; ++block) {
    replicates.push_back(statistic(numerator.subspan(block * size, size)) /
                         statistic(denominator.subspan(block * size, size)));
  }
  return {statistic(numerator) / statistic(denominator),
          MeanEstimate(replicates).standard_error};
}

double FractionAtLeast(absl::Span<const double> draws, double threshold) {
  double count = 0;
  for (const double draw : draws) count += draw >= threshold ? 1 : 0;
  return count / static_cast<double>(draws.size());
}

Histogram CountDraws(absl::Span<const double> draws, double low, double high,
                     int64_t bins) {
  SOFTLOOKUP_CHECK(low < high && bins >= 1, "at least one bin");
  Histogram histogram = {
      .low = low, .high = high, .counts = std::vector<int64_t>(bins, 0)};
  for (const double draw : draws) {
    if (!(draw >= low && draw <= high)) continue;
    const double place =
        (draw - low) / (high - low) * static_cast<double>(bins);
    ++histogram.counts[std::min(static_cast<int64_t>(place), bins - 1)];
  }
  return histogram;
}

Json ToJson(const Histogram& histogram) {
  return {{"low", histogram.low},
          {"high", histogram.high},
          {"counts", histogram.counts}};
}

}  // namespace softlookup
