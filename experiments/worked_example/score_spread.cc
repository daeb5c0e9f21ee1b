#include "experiments/worked_example/score_spread.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/random/random.h"

namespace softlookup {
namespace {

constexpr int kReplicates = 20;

// The standard deviation of `count` scores about their mean.
double StandardDeviation(RandomStream& stream, int64_t width, int64_t count) {
  std::vector<double> query(width);
  std::vector<double> key(width);
  double sum = 0;
  double squares = 0;
  for (int64_t n = 0; n < count; ++n) {
    stream.FillGaussian(absl::MakeSpan(query));
    stream.FillGaussian(absl::MakeSpan(key));
    double score = 0;
    for (int64_t i = 0; i < width; ++i) score += query[i] * key[i];
    sum += score;
    squares += score * score;
  }
  const double n = static_cast<double>(count);
  return std::sqrt((squares - sum * sum / n) / (n - 1));
}

struct MeanAndError {
  double mean;
  double standard_error;
};
MeanAndError Summary(const std::vector<double>& replicates) {
  const double n = static_cast<double>(replicates.size());
  double sum = 0;
  for (const double x : replicates) sum += x;
  const double mean = sum / n;
  double squares = 0;
  for (const double x : replicates) squares += (x - mean) * (x - mean);
  return {mean, std::sqrt(squares / (n - 1) / n)};
}

}  // namespace

Json MeasureScoreSpread(const ScoreSpreadDraws& draws) {
  std::vector<double> deviations[2];
  std::vector<double> ratios;
  for (int replicate = 0; replicate < kReplicates; ++replicate) {
    for (int which = 0; which < 2; ++which) {
      RandomStream stream(
          draws.seed, absl::StrCat("score spread, width ", draws.widths[which],
                                   ", replicate ", replicate));
      deviations[which].push_back(
          StandardDeviation(stream, draws.widths[which], draws.scores));
    }
    ratios.push_back(deviations[1].back() / deviations[0].back());
  }
  const auto describe = [&](int which) {
    const MeanAndError summary = Summary(deviations[which]);
    return Json{{"width", draws.widths[which]},
                {"standard_deviation", summary.mean},
                {"standard_error", summary.standard_error}};
  };
  const MeanAndError ratio = Summary(ratios);
  return {{"replicates", kReplicates},
          {"scores", draws.scores},
          {"narrow", describe(0)},
          {"wide", describe(1)},
          {"wide_over_narrow",
           {{"ratio", ratio.mean}, {"standard_error", ratio.standard_error}}}};
}

}  // namespace softlookup
