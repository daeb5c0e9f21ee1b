#include "experiments/soft_lookup/lookup_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "attention/attention.h"
#include "attention/textbook/single_head.h"
#include "base/elementary.h"
#include "base/status.h"
#include "base/tensor/deviation.h"

namespace softlookup {
namespace {

constexpr double kPi = 3.141592653589793;

Tensor<double> Stack(const LookupTable& entries, Vector2 LookupEntry::*member) {
  std::vector<double> rows;
  for (const LookupEntry& entry : entries) {
    for (const double x : entry.*member) rows.push_back(x);
  }
  return Tensor<double>({static_cast<int64_t>(entries.size()), 2},
                        std::move(rows));
}

}  // namespace

const LookupTable& ChapterTable() {
  static const auto& entries = *new LookupTable{
      {"pump", {1, 0}, {1, 0}},
      {"valve", {0, 1}, {0, 2}},
      {"tank", {1, 1}, {3, 3}},
  };
  return entries;
}

Tensor<double> StackedKeys(const LookupTable& entries) {
  return Stack(entries, &LookupEntry::key);
}
Tensor<double> StackedValues(const LookupTable& entries) {
  return Stack(entries, &LookupEntry::value);
}

std::optional<Vector2> HardLookup(const LookupTable& entries,
                                  const std::string& name) {
  std::map<std::string, Vector2> table;
  for (const LookupEntry& entry : entries) {
    table[entry.name] = entry.value;
  }
  const auto found = table.find(name);
  if (found == table.end()) return std::nullopt;
  return found->second;
}

std::optional<Vector2> HardLookup(const LookupTable& entries,
                                  const Vector2& query) {
  for (const LookupEntry& entry : entries) {
    if (entry.key == query) return entry.value;
  }
  return std::nullopt;
}

std::vector<double> LookupScores(const LookupTable& entries,
                                 const Vector2& query) {
  std::vector<double> scores;
  for (const LookupEntry& entry : entries) {
    scores.push_back(query[0] * entry.key[0] + query[1] * entry.key[1]);
  }
  return scores;
}

size_t BestKey(const LookupTable& entries, const Vector2& query) {
  const std::vector<double> scores = LookupScores(entries, query);
  return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) -
                             scores.begin());
}

absl::StatusOr<SoftAnswer> SoftLookup(const LookupTable& entries,
                                      const Vector2& query, double factor) {
  return SoftLookup(StackedKeys(entries), StackedValues(entries), query,
                    factor);
}

absl::StatusOr<SoftAnswer> SoftLookup(const Tensor<double>& keys,
                                      const Tensor<double>& values,
                                      const Vector2& query, double factor) {
  const Tensor<double> q({1, 2}, {query[0], query[1]});
  const HeadOptions options = {.scale = factor * AttentionScale({}, 2)};
  SOFTLOOKUP_ASSIGN_OR_RETURN(HeadOutputs<double> head,
                              HeadForward(q, keys, values, options));
  SoftAnswer answer;
  answer.weights = std::move(head.weights.elements());
  answer.output = {head.output(0, 0), head.output(0, 1)};
  for (int c = 0; c < 2; ++c) {
    Tensor<double> selector({1, 2});
    selector[c] = 1;
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        HeadGradients gradients,
        HeadBackward(q, keys, values, options, selector));
    answer.query_gradients[c] = std::move(gradients.query);
    answer.key_gradients[c] = std::move(gradients.key);
    answer.value_gradients[c] = std::move(gradients.value);
  }
  return answer;
}

double AngleOfStep(int64_t step, int64_t steps) {
  return kPi *
         (static_cast<double>(step) / static_cast<double>(steps - 1) - 0.25);
}

Vector2 QueryAt(double angle) {
  return {std::sqrt(2.0) * Cos(angle), std::sqrt(2.0) * Sin(angle)};
}

double LargestGap(const Vector2& a, const Vector2& b) {
  return LargerOrNaN(std::abs(a[0] - b[0]), std::abs(a[1] - b[1]));
}

}  // namespace softlookup
