#include "model/row_reductions.h"

#include <cstdint>
#include <vector>

#include "base/random/random.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

// Whole numbers, whose sums are exact in any order.
std::vector<float> WholeNumbers(int64_t n) {
  RandomStream stream(1, "row_reductions_test");
  std::vector<float> x(n);
  for (float& value : x) {
    value = static_cast<float>(stream.UniformInt(2001)) - 1000;
  }
  return x;
}

TEST(RowReductionsTest, SumsAndMaximaOfEveryLength) {
  for (int64_t n = 1; n <= 100; ++n) {
    const std::vector<float> x = WholeNumbers(n);
    float sum = 0;
    float maximum = x[0];
    for (const float value : x) {
      sum += value;
      maximum = value > maximum ? value : maximum;
    }
    EXPECT_EQ(RowSum<float>(n, [&x](int64_t k) { return x[k]; }), sum) << n;
    EXPECT_EQ(RowMaximum(x.data(), n), maximum) << n;
  }
  EXPECT_EQ(RowSum<float>(0, [](int64_t) { return 1.0f; }), 0);
}

// 2^24 absorbs a 1 that is added to it alone, and not two: the order of the
// additions can be read off.
TEST(RowReductionsTest, LanesAreSixteenFoldedByHalves) {
  std::vector<float> x(32, 0.0f);
  const auto sum = [&x] {
    return RowSum<float>(32, [&x](int64_t k) { return x[k]; });
  };
  x[0] = 0x1p24f;
  x[16] = 1;  // lane 0, lost
  x[8] = 1;   // folded into lane 0 next, lost
  EXPECT_EQ(sum(), 0x1p24f);
  x[16] = 0;
  x[24] = 1;  // lane 8: the two meet first
  EXPECT_EQ(sum(), 0x1p24f + 2);
}

TEST(RowReductionsTest, ColumnSumsOfEveryRange) {
  constexpr int64_t kRows = 7;
  constexpr int64_t kColumns = 50;
  const std::vector<float> x = WholeNumbers(kRows * kColumns);
  const auto element = [&x](int64_t row, int64_t k) {
    return x[row * kColumns + k];
  };
  for (const int64_t begin : {0, 3, 16}) {
    for (const int64_t end : {3, 19, 32, 50}) {
      std::vector<float> total(kColumns, 5.0f);
      AddColumnSums(kRows, begin, end, element, total.data());
      for (int64_t k = 0; k < kColumns; ++k) {
        float expected = 5;
        for (int64_t row = 0; k >= begin && k < end && row < kRows; ++row) {
          expected += element(row, k);
        }
        EXPECT_EQ(total[k], expected) << begin << " " << end << " " << k;
      }
    }
  }
}

}  // namespace
}  // namespace softlookup
