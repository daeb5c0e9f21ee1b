// The chapter's table of three entries, looked up hard and softly.
//
//   HardLookup("tank")                           // {3, 3}
//   HardLookup("gauge")                          // nothing
//   SOFTLOOKUP_ASSIGN_OR_RETURN(SoftAnswer answer, SoftLookup({1, 1}, 1));
//   answer.weights                               // {0.248, 0.248, 0.503}
//
// Source: the chapter, section 1.
#ifndef SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_TABLE_H_
#define SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_TABLE_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/tensor/tensor.h"

namespace softlookup {

using Vector2 = std::array<double, 2>;

struct LookupEntry {
  std::string name;
  Vector2 key;
  Vector2 value;
};

// pump, valve, tank, as in the chapter's listing.
const std::vector<LookupEntry>& LookupEntries();

// The entries' keys or values as rows, [3, 2].
Tensor<double> StackedKeys();
Tensor<double> StackedValues();

// The value under an equal name, or nothing.
std::optional<Vector2> HardLookup(const std::string& name);

// The value under an equal key vector, or nothing.
std::optional<Vector2> HardLookup(const Vector2& query);

// q . k_j for every entry.
std::vector<double> LookupScores(const Vector2& query);

// The index of the key with the largest score, which alone counts in the limit
// of large scores; the first of equals.
size_t BestKey(const Vector2& query);

struct SoftAnswer {
  std::vector<double> weights;
  Vector2 output;
  // d(output_c) / d(query), d(keys), d(values), each at [c].
  std::array<Tensor<double>, 2> query_gradients;  // [1, 2]
  std::array<Tensor<double>, 2> key_gradients;    // [3, 2]
  std::array<Tensor<double>, 2> value_gradients;  // [3, 2]
};

// softmax(factor q K^T / sqrt(2)) V on the table, with its gradients.
absl::StatusOr<SoftAnswer> SoftLookup(const Vector2& query, double factor);

// The same on given keys and values, [3, 2].
absl::StatusOr<SoftAnswer> SoftLookup(const Vector2& query,
                                      const Tensor<double>& keys,
                                      const Tensor<double>& values,
                                      double factor);

// The largest |a_c - b_c|.
double LargestGap(const Vector2& a, const Vector2& b);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_TABLE_H_
