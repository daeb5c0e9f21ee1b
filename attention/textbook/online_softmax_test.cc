#include "attention/textbook/online_softmax.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A query's row and its two-component values (j, 10 j) of the key with index j
// over all runs.
struct Row {
  void Take(const std::vector<double>& scores) {
    TakeInKeys<double>(
        scores,
        [this](size_t j, size_t c) {
          return static_cast<double>(taken + j) * (c == 0 ? 1 : 10);
        },
        maximum, sum, absl::MakeSpan(weighted));
    taken += scores.size();
  }

  double maximum = -kInfinity;
  double sum = 0;
  std::vector<double> weighted = {0, 0};
  size_t taken = 0;
};

TEST(TakeInKeys, RunsGiveTheSoftmaxOfAll) {
  // Exponentials 1, 4, 2, 8: the maximum grows in the second and third run.
  const double unit = std::log(2.0);
  Row row;
  row.Take({0 * unit});
  row.Take({2 * unit, 1 * unit});
  row.Take({});
  row.Take({3 * unit});
  EXPECT_EQ(row.maximum, 3 * unit);
  EXPECT_NEAR(row.sum, 15.0 / 8, 1e-14);
  EXPECT_NEAR(row.weighted[0] / row.sum, (4 + 4 + 24) / 15.0, 1e-14);
  EXPECT_NEAR(row.weighted[1] / row.sum, 10 * (4 + 4 + 24) / 15.0, 1e-13);
}

TEST(TakeInKeys, NoKeyLeavesTheRowAlone) {
  Row row;
  row.Take({});
  EXPECT_EQ(row.maximum, -kInfinity);
  EXPECT_EQ(row.sum, 0);
}

TEST(TakeInKeys, LosesNoNaN) {
  for (const size_t place : {0, 1, 2}) {
    std::vector<double> scores = {1, 2, 3};
    scores[place] = std::nan("");
    Row row;
    for (const double score : scores) row.Take({score});
    EXPECT_TRUE(std::isnan(row.sum)) << place;
    EXPECT_TRUE(std::isnan(row.weighted[0])) << place;
  }
}

}  // namespace
}  // namespace softlookup
