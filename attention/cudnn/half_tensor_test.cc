#include "attention/cudnn/half_tensor.h"

#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Values of the formats' definitions: sign, exponent, fraction.
TEST(HalfTest, BothFormats) {
  EXPECT_EQ(FloatToHalf(1.0f, Dtype::kBF16), 0x3f80);
  EXPECT_EQ(FloatToHalf(1.0f, Dtype::kF16), 0x3c00);
  EXPECT_EQ(HalfToFloat(0xc000, Dtype::kBF16), -2.0f);
  EXPECT_EQ(HalfToFloat(0xc000, Dtype::kF16), -2.0f);
  EXPECT_EQ(HalfToFloat(0x4040, Dtype::kBF16), 3.0f);
  EXPECT_EQ(HalfToFloat(0x4200, Dtype::kF16), 3.0f);
}

TEST(ToHalfTest, KeepsStrides) {
  // Two rows of two, one element between the rows.
  const std::vector<float> memory = {1, 2, 99, 3, 4};
  const StridedView<const float> view(memory.data(),
                                      StridedLayout{{2, 2}, {3, 1}});
  const auto bits = ToHalf("query", view, Dtype::kF16, false);
  ASSERT_TRUE(bits.ok()) << bits.status();
  EXPECT_EQ(*bits, (std::vector<uint16_t>{0x3c00, 0x4000, 0, 0x4200, 0x4400}));
}

TEST(ToHalfTest, NamesTheFirstThatDoesNotFit) {
  Tensor<float> tensor({2, 3});
  tensor(1, 0) = 70000;
  tensor(1, 2) = kInfinity;
  const Tensor<float>& filled = tensor;
  EXPECT_EQ(ToHalf("key", filled.view(), Dtype::kF16, false).status(),
            absl::InvalidArgumentError(
                "key[1, 0] is 70000; allowed with backend cudnn: numbers "
                "finite in float16"));
  EXPECT_EQ(ToHalf("key", filled.view(), Dtype::kBF16, true).status(),
            absl::InvalidArgumentError(
                "key[1, 2] is inf; allowed with backend cudnn: numbers finite "
                "in bfloat16, and -inf"));
}

TEST(ToHalfTest, MinusInfinityWhereAllowed) {
  Tensor<float> tensor({1});
  tensor[0] = -kInfinity;
  const Tensor<float>& filled = tensor;
  const auto bits = ToHalf("bias", filled.view(), Dtype::kBF16, true);
  ASSERT_TRUE(bits.ok());
  EXPECT_EQ(HalfToFloat((*bits)[0], Dtype::kBF16), -kInfinity);
  EXPECT_FALSE(ToHalf("bias", filled.view(), Dtype::kBF16, false).ok());
  // Not -inf, but rounded to it.
  tensor[0] = -70000;
  EXPECT_FALSE(ToHalf("bias", filled.view(), Dtype::kF16, true).ok());
}

TEST(FromHalfTest, Widens) {
  const Tensor<float> tensor = FromHalf({0x3f80, 0xc040}, Dtype::kBF16, {1, 2});
  EXPECT_EQ(tensor.shape(), Shape({1, 2}));
  EXPECT_EQ(tensor.elements(), (std::vector<float>{1, -3}));
}

}  // namespace
}  // namespace softlookup::cudnn
