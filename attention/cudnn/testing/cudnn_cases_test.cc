#include "attention/cudnn/testing/cudnn_cases.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <string>

#include "attention/cudnn/check/parity_bounds.h"
#include "attention/cudnn/cudnn_problem.h"
#include "attention/cudnn/half_tensor.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

constexpr int kCases = 24;  // gpu_check's default

void ExpectExact(const Tensor<float>& tensor, Dtype element,
                 const std::string& what) {
  for (const float value : tensor.elements()) {
    ASSERT_EQ(HalfToFloat(FloatToHalf(value, element), element), value) << what;
  }
}

// What cuDNN must be able to do, both passes.
void ExpectAccepted(const CudnnCase& drawn) {
  for (const bool backward : {false, true}) {
    const auto problem = DescribeCudnnProblem(
        drawn.inputs(), {},
        {drawn.problem.element, backward, drawn.problem.deterministic});
    ASSERT_TRUE(problem.ok()) << drawn.name << ": " << problem.status();
    // The problem that it says it is, whose plans gpu_check builds ahead.
    CudnnProblem expected = drawn.problem;
    expected.backward = backward;
    expected.deterministic = backward && drawn.problem.deterministic;
    EXPECT_EQ(CudnnProblemKey(*problem), CudnnProblemKey(expected));
  }
  EXPECT_EQ(drawn.gradient.shape(), drawn.query.shape());
}

TEST(DrawParityCaseTest, IsExactAndAccepted) {
  for (const Dtype element : {Dtype::kBF16, Dtype::kF16}) {
    for (int number = 0; number < kCases; ++number) {
      const CudnnCase drawn = DrawParityCase(element, number);
      EXPECT_EQ(drawn.problem.element, element);
      ExpectAccepted(drawn);
      for (const Tensor<float>* tensor :
           {&drawn.query, &drawn.key, &drawn.value, &drawn.gradient}) {
        ExpectExact(*tensor, element, drawn.name);
      }
      if (drawn.bias.has_value()) {
        ExpectExact(*drawn.bias, element, drawn.name);
      }
    }
  }
}

TEST(DrawParityCaseTest, MasksTakeTurns) {
  for (int first = 0; first + kParityMasks <= kCases; ++first) {
    std::set<std::string> masks;
    for (int number = first; number < first + kParityMasks; ++number) {
      const CudnnCase drawn = DrawParityCase(Dtype::kBF16, number);
      masks.insert(CausalAlignmentName(drawn.problem.causal) +
                   std::string(drawn.lengths.empty() ? "" : " lengths") +
                   (drawn.bias.has_value() ? " bias" : ""));
    }
    EXPECT_EQ(masks, (std::set<std::string>{"none", "top_left", "bottom_right",
                                            "none lengths", "top_left lengths",
                                            "none bias", "top_left bias"}));
  }
}

TEST(DrawParityCaseTest, SeesEveryWidthAndLength) {
  std::set<int64_t> widths;
  std::set<int64_t> keys;
  int without_keys = 0;  // entries
  for (const Dtype element : {Dtype::kBF16, Dtype::kF16}) {
    for (int number = 0; number < kCases; ++number) {
      const CudnnCase drawn = DrawParityCase(element, number);
      widths.insert(drawn.key.shape()[3]);
      keys.insert(drawn.key.shape()[2]);
      for (const int64_t length : drawn.lengths) {
        EXPECT_LE(length, drawn.key.shape()[2]);
        without_keys += length == 0;
      }
    }
  }
  EXPECT_GE(without_keys, 2);
  EXPECT_EQ(widths, (std::set<int64_t>{8, 16, 64, 72, 128, 256}));
  EXPECT_EQ(keys, (std::set<int64_t>{2, 17, 63, 64, 65, 128, 150, 192}));
}

TEST(DrawParityCaseTest, IsAFunctionOfTypeAndNumber) {
  const CudnnCase first = DrawParityCase(Dtype::kF16, 5);
  const CudnnCase second = DrawParityCase(Dtype::kF16, 5);
  EXPECT_EQ(first.name, second.name);
  EXPECT_EQ(first.query.elements(), second.query.elements());
  EXPECT_EQ(first.bias->elements(), second.bias->elements());
  EXPECT_NE(first.name, DrawParityCase(Dtype::kF16, 12).name);
}

TEST(DrawFaultCaseTest, HasTheConditionsOfTheFaults) {
  for (const Dtype element : {Dtype::kBF16, Dtype::kF16}) {
    int low = 0;
    int single = 0;
    int both = 0;
    for (int number = 0; number < kFaultCases; ++number) {
      const CudnnCase drawn = DrawFaultCase(element, number);
      ExpectAccepted(drawn);
      ExpectExact(drawn.key, element, drawn.name);
      const auto exact = ComputeExactAttention(
          drawn.inputs(), AttentionScale({}, drawn.query.shape()[3]),
          drawn.gradient.view(), element);
      ASSERT_TRUE(exact.ok()) << exact.status();
      int rows = 0;
      for (const double value : exact->at("log_sum_exp").exact.elements()) {
        EXPECT_TRUE(std::isfinite(value));
        rows += value < kFaultLogSumExp;
      }
      const bool is_single = drawn.query.shape()[2] == 1;
      const bool is_low = rows == exact->at("log_sum_exp").exact.size();
      // All rows or none, as the name says.
      EXPECT_EQ(rows, is_low ? rows : 0) << drawn.name;
      EXPECT_EQ(is_low, drawn.name.find("-100") != std::string::npos);
      if (is_low) {
        EXPECT_EQ(drawn.key.shape()[2] % 128, 64) << drawn.name;
      }
      low += is_low && !is_single;
      single += is_single && !is_low;
      both += is_low && is_single;
    }
    EXPECT_GE(low, 1);
    EXPECT_GE(single, 1);
    EXPECT_GE(both, 1);
  }
}

TEST(DrawRepeatCaseTest, IsAccepted) { ExpectAccepted(DrawRepeatCase()); }

}  // namespace
}  // namespace softlookup::cudnn
