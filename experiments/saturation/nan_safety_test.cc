// A NaN in any input of the experiment reaches every deviation that depends on
// that input, so that no identity claim holds over a broken computation.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/tensor/tensor.h"
#include "experiments/saturation/jacobian.h"
#include "experiments/saturation/rows.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The first element, one in the middle and the last.
std::vector<int64_t> Places(const Tensor<double>& tensor) {
  return {0, tensor.size() / 2, tensor.size() - 1};
}

TEST(NaNSafety, ScoresReachEveryDeviationOfTheJacobian) {
  const Tensor<double> scores = DrawScores({.rows = 9, .keys = 5});
  using Deviations = JacobianDeviations;
  struct Row {
    std::string name;
    double Deviations::*deviation;
  };
  const std::vector<Row> table = {
      {"row_sum", &Deviations::row_sum},
      {"asymmetry", &Deviations::asymmetry},
      {"shift", &Deviations::shift},
      {"complex_step", &Deviations::complex_step},
      {"trace_formula", &Deviations::trace_formula},
      {"entry_over_rest", &Deviations::entry_over_rest},
      {"trace_over_uniform", &Deviations::trace_over_uniform},
      {"largest_entry_over_uniform", &Deviations::largest_entry_over_uniform}};
  const Deviations sound = MeasureDeviations(scores);
  for (const Row& row : table) {
    EXPECT_TRUE(std::isfinite(sound.*row.deviation)) << row.name;
  }
  for (const int64_t place : Places(scores)) {
    Tensor<double> poisoned = scores;
    poisoned[place] = kNaN;
    const Deviations found = MeasureDeviations(poisoned);
    for (const Row& row : table) {
      EXPECT_FALSE(std::isfinite(found.*row.deviation))
          << row.name << ", scores[" << place << "]";
    }
  }
}

TEST(NaNSafety, RowsReachTheDeviationOfTheGradient) {
  const RandomRows rows({.rows = 7, .keys = 4, .width = 8});
  EXPECT_TRUE(std::isfinite(MeasureRows(rows, 1).value().product_deviation));
  struct Input {
    std::string name;
    Tensor<double> RandomRows::*tensor;
  };
  for (const Input& input :
       std::vector<Input>{{"query", &RandomRows::query},
                          {"key", &RandomRows::key},
                          {"weight_gradient", &RandomRows::weight_gradient}}) {
    for (const int64_t place : Places(rows.*input.tensor)) {
      RandomRows poisoned = rows;
      (poisoned.*input.tensor)[place] = kNaN;
      EXPECT_FALSE(
          std::isfinite(MeasureRows(poisoned, 1).value().product_deviation))
          << input.name << "[" << place << "]";
    }
  }
}

}  // namespace
}  // namespace softlookup
