#include "experiments/soft_lookup/lookup_table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "attention/attention.h"
#include "attention/textbook/single_head.h"
#include "base/status.h"

namespace softlookup {
namespace {

Tensor<double> Stack(Vector2 LookupEntry::*member) {
  std::vector<double> rows;
  for (const LookupEntry& entry : LookupEntries()) {
    for (const double x : entry.*member) rows.push_back(x);
  }
  return Tensor<double>({static_cast<int64_t>(LookupEntries().size()), 2},
                        std::move(rows));
}

}  // namespace

const std::vector<LookupEntry>& LookupEntries() {
  static const auto& entries = *new std::vector<LookupEntry>{
      {"pump", {1, 0}, {1, 0}},
      {"valve", {0, 1}, {0, 2}},
      {"tank", {1, 1}, {3, 3}},
  };
  return entries;
}

Tensor<double> StackedKeys() { return Stack(&LookupEntry::key); }
Tensor<double> StackedValues() { return Stack(&LookupEntry::value); }

std::optional<Vector2> HardLookup(const std::string& name) {
  std::map<std::string, Vector2> table;
  for (const LookupEntry& entry : LookupEntries()) {
    table[entry.name] = entry.value;
  }
  const auto found = table.find(name);
  if (found == table.end()) return std::nullopt;
  return found->second;
}

std::optional<Vector2> HardLookup(const Vector2& query) {
  std::map<Vector2, Vector2> table;
  for (const LookupEntry& entry : LookupEntries()) {
    table[entry.key] = entry.value;
  }
  const auto found = table.find(query);
  if (found == table.end()) return std::nullopt;
  return found->second;
}

std::vector<double> LookupScores(const Vector2& query) {
  std::vector<double> scores;
  for (const LookupEntry& entry : LookupEntries()) {
    scores.push_back(query[0] * entry.key[0] + query[1] * entry.key[1]);
  }
  return scores;
}

size_t BestKey(const Vector2& query) {
  const std::vector<double> scores = LookupScores(query);
  return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) -
                             scores.begin());
}

absl::StatusOr<SoftAnswer> SoftLookup(const Vector2& query, double factor) {
  return SoftLookup(query, StackedKeys(), StackedValues(), factor);
}

absl::StatusOr<SoftAnswer> SoftLookup(const Vector2& query,
                                      const Tensor<double>& keys,
                                      const Tensor<double>& values,
                                      double factor) {
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

double LargestGap(const Vector2& a, const Vector2& b) {
  return std::max(std::abs(a[0] - b[0]), std::abs(a[1] - b[1]));
}

}  // namespace softlookup
