#include "experiments/induction/phase_change.h"

#include <algorithm>

#include "base/check.h"
#include "base/statistics/estimate.h"

namespace softlookup {
namespace {

constexpr double kBegun = 0.2;
constexpr double kDone = 0.8;
constexpr double kLeastFall = 0.1;  // nats

std::vector<double> Column(
    const std::vector<CurvePoint>& curve,
    const std::function<double(const CurvePoint&)>& value) {
  std::vector<double> column;
  for (const CurvePoint& point : curve) column.push_back(value(point));
  return column;
}

// The largest rise up to the point `end`.
Json MeasureBump(const std::vector<CurvePoint>& curve, int64_t end) {
  const std::vector<double> loss =
      Column(curve, [](const CurvePoint& point) { return Mean(point.loss); });
  Json bump;
  bump["found"] = false;
  double largest = 0;
  int64_t from = -1;
  int64_t to = -1;
  for (int64_t i = 0; i <= end; ++i) {
    for (int64_t j = i + 1; j <= end; ++j) {
      const double rise = loss[j] - loss[i];
      if (rise <= largest) continue;
      largest = rise;
      from = i;
      to = j;
    }
  }
  if (from < 0) return bump;
  std::vector<double> rises;
  for (size_t b = 0; b < curve[to].loss.size(); ++b) {
    rises.push_back(curve[to].loss[b] - curve[from].loss[b]);
  }
  const Estimate rise = MeanEstimate(rises);
  bump["found"] = rise.value > kIntervalMultiple * rise.standard_error;
  bump["rise"] = EstimateJson(rise);
  bump["from"] = curve[from].step;
  bump["to"] = curve[to].step;
  return bump;
}

}  // namespace

int64_t ReachedForGood(absl::Span<const double> values, double share) {
  SOFTLOOKUP_CHECK(!values.empty(), "a value");
  const double first = values.front();
  const double way = values.back() - first;
  auto reached = static_cast<int64_t>(values.size()) - 1;
  while (reached > 0 &&
         (values[reached - 1] - first) * way >= share * way * way) {
    --reached;
  }
  return reached;
}

Json MeasureWindow(const std::vector<CurvePoint>& curve) {
  const std::vector<double> in_context =
      Column(curve, [](const CurvePoint& p) { return p.in_context; });
  Json json;
  const double fall = in_context.front() - in_context.back();
  json["in_context_fall"] = fall;
  json["points"] = curve.size();
  json["found"] = fall >= kLeastFall;
  if (fall < kLeastFall) return json;
  const int64_t begin =
      std::max<int64_t>(0, ReachedForGood(in_context, kBegun) - 1);
  const int64_t end = ReachedForGood(in_context, kDone);
  json["begin"] = curve[begin].step;
  json["end"] = curve[end].step;
  json["half"] = curve[ReachedForGood(in_context, 0.5)].step;
  json["share_of_training"] =
      static_cast<double>(curve[end].step - curve[begin].step) /
      static_cast<double>(curve.back().step);
  return json;
}

Json MeasurePhaseChange(const std::vector<CurvePoint>& curve,
                        const HeadPair& pair) {
  Json json = MeasureWindow(curve);
  int64_t last = static_cast<int64_t>(curve.size()) - 1;
  if (json["found"].get<bool>()) {
    while (curve[last].step > json["end"].get<int64_t>()) --last;
  }
  json["bump"] = MeasureBump(curve, last);
  // When a value has gone half of its way for good.
  const auto half = [&](const std::function<double(const CurvePoint&)>& value) {
    return curve[ReachedForGood(Column(curve, value), 0.5)].step;
  };
  const auto head = [](const CurvePoint& point, const HeadName& name) {
    return point.heads[name.layer][name.head];
  };
  json["induction_half"] = half([&](const CurvePoint& point) {
    return head(point, pair.induction).prefix_matching;
  });
  json["previous_token_half"] = half([&](const CurvePoint& point) {
    return head(point, pair.previous_token).previous_token;
  });
  json["copying_half"] =
      half([](const CurvePoint& point) { return point.accuracy; });
  return json;
}

}  // namespace softlookup
