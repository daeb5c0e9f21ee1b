// A table looked up hard, by equality, and softly, by attention.
//
//   HardLookup(ChapterTable(), "tank")           // {3, 3}
//   HardLookup(ChapterTable(), "gauge")          // nothing
//   SOFTLOOKUP_ASSIGN_OR_RETURN(SoftAnswer answer,
//                               SoftLookup(ChapterTable(), {1, 1}, 1));
//   answer.weights                               // {0.248, 0.248, 0.503}
//
// Source: the chapter, section 1.
#ifndef SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_TABLE_H_
#define SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
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

using LookupTable = std::vector<LookupEntry>;

// pump, valve, tank, as in the chapter's listing.
const LookupTable& ChapterTable();

// The entries' keys or values as rows, [n, 2].
Tensor<double> StackedKeys(const LookupTable& entries);
Tensor<double> StackedValues(const LookupTable& entries);

// The value under an equal name, or nothing.
std::optional<Vector2> HardLookup(const LookupTable& entries,
                                  const std::string& name);

// The value under an equal key vector, or nothing.
std::optional<Vector2> HardLookup(const LookupTable& entries,
                                  const Vector2& query);

// q . k_j for every entry.
std::vector<double> LookupScores(const LookupTable& entries,
                                 const Vector2& query);

// The index of the key with the largest score, which alone counts in the limit
// of large scores; the first of equals.
size_t BestKey(const LookupTable& entries, const Vector2& query);

struct SoftAnswer {
  std::vector<double> weights;  // [n]
  Vector2 output;
  // d(output_c) / d(query), d(keys), d(values), each at [c].
  std::array<Tensor<double>, 2> query_gradients;  // [1, 2]
  std::array<Tensor<double>, 2> key_gradients;    // [n, 2]
  std::array<Tensor<double>, 2> value_gradients;  // [n, 2]
};

// softmax(factor q K^T / sqrt(2)) V on the table, with its gradients.
absl::StatusOr<SoftAnswer> SoftLookup(const LookupTable& entries,
                                      const Vector2& query, double factor);

// The same on given keys and values, [n, 2].
absl::StatusOr<SoftAnswer> SoftLookup(const Tensor<double>& keys,
                                      const Tensor<double>& values,
                                      const Vector2& query, double factor);

// The angle of one of `steps` queries from -45 to 135 degrees, in radians, and
// the query of length sqrt(2) at an angle.
double AngleOfStep(int64_t step, int64_t steps);
Vector2 QueryAt(double angle);

// The largest |a_c - b_c|, or NaN.
double LargestGap(const Vector2& a, const Vector2& b);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_TABLE_H_
