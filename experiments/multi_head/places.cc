#include "experiments/multi_head/places.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "attention/attention.h"
#include "attention/reference/attention_reference.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/tensor.h"
#include "interpretability/hand_built_model.h"

namespace softlookup {
namespace {

using Point = std::array<double, 2>;

constexpr Point kA = {1, 0};
constexpr Point kB = {0, 1};

double Distance(const Point& p, const Point& q) {
  const double x = p[0] - q[0];
  const double y = p[1] - q[1];
  return std::sqrt(x * x + y * y);
}

// In units of |a - b|.
double Relative(const Point& p, const Point& q) {
  return Distance(p, q) / Distance(kA, kB);
}

// What one head returns when a's score is `gap` above b's.
absl::StatusOr<Point> OneHead(double gap) {
  const Tensor<double> query({1, 1, 1, 1}, {gap});
  const Tensor<double> keys({1, 1, 2, 1}, {1, 0});
  const Tensor<double> values({1, 1, 2, 2}, {kA[0], kA[1], kB[0], kB[1]});
  AttentionInputs<double> inputs;
  inputs.query = query.view();
  inputs.key = keys.view();
  inputs.value = values.view();
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<double> outputs,
                              reference::AttentionForward(inputs, {}));
  return Point{outputs.output[0], outputs.output[1]};
}

// The last of `heads + 1` positions, when head n looks n + 1 positions back.
struct LastQuery {
  std::set<int64_t> places;  // keys given more than 0.99 in some head
  int64_t distributions;     // over the keys: one per head
};

absl::StatusOr<LastQuery> PlacesReached(int64_t heads, double match_score) {
  const StreamLayout stream = {.vocabulary = heads + 1, .positions = heads + 1};
  HandBuiltModel model(stream, /*layers=*/1, heads);
  for (int64_t n = 0; n < heads; ++n) {
    HandBuiltHead head = PreviousTokenHead(stream, match_score);
    head.looks_for = [n](int64_t t) { return std::max<int64_t>(t - n - 1, 0); };
    model.SetHead(0, n, head);
  }
  std::vector<int64_t> tokens(heads + 1);
  std::iota(tokens.begin(), tokens.end(), 0);
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HandBuiltRun run, model.Run(tokens));
  const Tensor<double>& pattern = run.patterns[0];
  LastQuery last = {.places = {}, .distributions = pattern.dim(0)};
  for (int64_t n = 0; n < pattern.dim(0); ++n) {
    for (int64_t s = 0; s <= heads; ++s) {
      if (pattern(n, heads, s) > 0.99) last.places.insert(s);
    }
  }
  return last;
}

}  // namespace

absl::StatusOr<Json> MeasureTwoPlaces(double largest_gap, int64_t steps) {
  Json gaps = Json::array();
  Json weights = Json::array();
  Json to_a = Json::array();
  Json to_b = Json::array();
  double nearest_to_both = HUGE_VAL;
  double off_the_segment = 0;
  for (int64_t step = 0; step <= steps; ++step) {
    // From -largest_gap to largest_gap; 0 is met exactly for even steps.
    const double gap = largest_gap * static_cast<double>(2 * step - steps) /
                       static_cast<double>(steps);
    SOFTLOOKUP_ASSIGN_OR_RETURN(const Point output, OneHead(gap));
    const double a = Relative(output, kA);
    const double b = Relative(output, kB);
    nearest_to_both = std::min(nearest_to_both, std::max(a, b));
    off_the_segment = LargerOrNaN(off_the_segment, std::abs(a + b - 1));
    gaps.push_back(gap);
    weights.push_back(output[0]);
    to_a.push_back(a);
    to_b.push_back(b);
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Point even, OneHead(0));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Point first, OneHead(largest_gap));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Point second, OneHead(-largest_gap));
  Json places;
  places["one_head"] = {
      {"even_output", even},
      {"even_distance_to_nearer_value",
       std::min(Relative(even, kA), Relative(even, kB))},
      {"smallest_distance_to_the_farther_value", nearest_to_both},
      {"largest_deviation_from_the_segment", off_the_segment}};
  places["two_heads"] = {{"outputs", {first, second}},
                         {"distance_to_the_farther_value",
                          std::max(Relative(first, kA), Relative(second, kB))}};
  places["score_gaps"] = std::move(gaps);
  places["weight_of_a"] = std::move(weights);
  places["distance_to_a"] = std::move(to_a);
  places["distance_to_b"] = std::move(to_b);
  return places;
}

absl::StatusOr<Json> MeasureManyPlaces(int64_t heads, double match_score) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const LastQuery all,
                              PlacesReached(heads, match_score));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const LastQuery one,
                              PlacesReached(1, match_score));
  return Json{{"heads", heads},
              {"places_reached", all.places.size()},
              {"places_reached_by_one_head", one.places.size()},
              {"distributions_per_query", all.distributions},
              {"distributions_per_query_of_one_head", one.distributions}};
}

}  // namespace softlookup
