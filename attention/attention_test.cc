#include "attention/attention.h"

#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attention/mask.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

// Shapes that agree, of sizes that all differ; each test spoils one of them.
struct Shapes {
  Shape query = {9, 6, 3, 5};
  Shape key = {9, 2, 4, 5};
  Shape value = {9, 2, 4, 7};
  Shape bias = {1, 6, 1, 4};
  Shape output_gradient = {9, 6, 3, 7};
};

template <typename T = double>
absl::StatusOr<AttentionSizes> Check(const Shapes& shapes,
                                     const AttentionOptions& options = {}) {
  // Checking reads shapes only, so there are no elements behind the views.
  AttentionInputs<T> inputs;
  inputs.query = StridedView<const T>(nullptr, shapes.query);
  inputs.key = StridedView<const T>(nullptr, shapes.key);
  inputs.value = StridedView<const T>(nullptr, shapes.value);
  inputs.bias = StridedView<const T>(nullptr, shapes.bias);
  return CheckAttentionBackward(
      inputs, options, StridedView<const T>(nullptr, shapes.output_gradient));
}

void ExpectError(const Shapes& shapes, const std::string& message,
                 const AttentionOptions& options = {}) {
  const absl::Status status = Check(shapes, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), message);
}

template <typename T>
class CheckAttentionTest : public testing::Test {};
using Scalars = testing::Types<float, double, std::complex<double>>;
TYPED_TEST_SUITE(CheckAttentionTest, Scalars);

TYPED_TEST(CheckAttentionTest, ReturnsTheSizes) {
  const absl::StatusOr<AttentionSizes> sizes = Check<TypeParam>({});
  ASSERT_TRUE(sizes.ok()) << sizes.status();
  EXPECT_EQ(sizes->batch, 9);
  EXPECT_EQ(sizes->query_heads, 6);
  EXPECT_EQ(sizes->key_heads, 2);
  EXPECT_EQ(sizes->queries, 3);
  EXPECT_EQ(sizes->keys, 4);
  EXPECT_EQ(sizes->width, 5);
  EXPECT_EQ(sizes->value_width, 7);
}

TEST(CheckAttention, AllOnesIsTheSmallestProblem) {
  const Shape ones = {1, 1, 1, 1};
  EXPECT_TRUE(Check({ones, ones, ones, ones, ones}).ok());
}

TEST(CheckAttention, NamesWrongRanksAndEmptyDimensions) {
  Shapes shapes;
  shapes.query = {6, 3, 5};
  ExpectError(shapes,
              "query has shape [6, 3, 5]; allowed: rank 4, [B, H, Tq, D], "
              "each dimension at least 1");
  shapes = {};
  shapes.key = {9, 2, 4, 5, 1};
  ExpectError(shapes,
              "key has shape [9, 2, 4, 5, 1]; allowed: rank 4, "
              "[B, Hkv, Tk, D], each dimension at least 1");
  shapes = {};
  shapes.value = {2, 4, 7};
  ExpectError(shapes,
              "value has shape [2, 4, 7]; allowed: rank 4, "
              "[B, Hkv, Tk, Dv], each dimension at least 1");
  for (int axis = 0; axis < 4; ++axis) {
    shapes = {};
    shapes.key[axis] = 0;
    ExpectError(shapes, "key has shape " + ShapeString(shapes.key) +
                            "; allowed: rank 4, [B, Hkv, Tk, D], each "
                            "dimension at least 1");
  }
}

TEST(CheckAttention, NamesShapesThatDisagree) {
  Shapes shapes;
  shapes.key = {3, 2, 4, 5};
  ExpectError(shapes,
              "key has shape [3, 2, 4, 5] and query [9, 6, 3, 5]; allowed: "
              "the same batch B");
  shapes.key = {9, 4, 4, 5};
  ExpectError(shapes,
              "key has shape [9, 4, 4, 5] and query [9, 6, 3, 5]; allowed: "
              "H a multiple of Hkv (dimension 1)");
  shapes.key = {9, 2, 4, 6};
  ExpectError(shapes,
              "key has shape [9, 2, 4, 6] and query [9, 6, 3, 5]; allowed: "
              "the same width D (dimension 3)");
  shapes = {};
  shapes.value = {1, 2, 4, 7};
  ExpectError(shapes,
              "value has shape [1, 2, 4, 7] and key [9, 2, 4, 5]; allowed: "
              "the same batch B");
  shapes.value = {9, 6, 4, 7};
  ExpectError(shapes,
              "value has shape [9, 6, 4, 7] and key [9, 2, 4, 5]; allowed: "
              "the same heads Hkv (dimension 1)");
  shapes.value = {9, 2, 5, 7};
  ExpectError(shapes,
              "value has shape [9, 2, 5, 7] and key [9, 2, 4, 5]; allowed: "
              "the same key positions Tk (dimension 2)");
}

TEST(CheckAttention, NamesABiasThatDoesNotBroadcast) {
  Shapes shapes;
  shapes.bias = {1, 2, 1, 4};
  ExpectError(shapes,
              "bias has shape [1, 2, 1, 4]; allowed: rank 4, each dimension "
              "1 or that of [B, H, Tq, Tk] = [9, 6, 3, 4]");
}

TEST(CheckAttention, ChecksTheMask) {
  const std::vector<int64_t> lengths = {9};
  AttentionInputs<double> inputs;
  inputs.query = StridedView<const double>(nullptr, {1, 1, 1, 1});
  inputs.key = inputs.query;
  inputs.value = inputs.query;
  inputs.mask.key_lengths = lengths;
  EXPECT_EQ(CheckAttention(inputs, {}).status().message(),
            "key_lengths[0] is 9; allowed: 0 to Tk = 1");
}

TEST(CheckAttention, NamesAScaleThatIsNotFinite) {
  AttentionOptions options;
  options.scale = std::numeric_limits<double>::infinity();
  ExpectError({}, "scale is inf; allowed: a finite number", options);
  options.scale = std::numeric_limits<double>::quiet_NaN();
  ExpectError({}, "scale is nan; allowed: a finite number", options);
  for (const double finite : {0.0, -1.0, 1e300}) {
    options.scale = finite;
    EXPECT_TRUE(Check({}, options).ok());
  }
}

TEST(CheckAttentionBackward, NamesAGradientOfTheWrongShape) {
  Shapes shapes;
  shapes.output_gradient = {9, 6, 3, 5};
  ExpectError(shapes,
              "output_gradient has shape [9, 6, 3, 5]; allowed: the "
              "output's, [B, H, Tq, Dv] = [9, 6, 3, 7]");
}

TEST(CheckAttentionBackward, RefusesRowsOfNaN) {
  AttentionOptions options;
  options.fully_masked = FullyMasked::kNaN;
  ExpectError({},
              "fully_masked is nan, which has no gradient; allowed with "
              "output_gradient: zero, error",
              options);
  options.fully_masked = FullyMasked::kError;
  EXPECT_TRUE(Check({}, options).ok());
}

TEST(FullyMasked, NamesAndBack) {
  EXPECT_EQ(FullyMaskedName(FullyMasked::kZero), "zero");
  EXPECT_EQ(FullyMaskedName(FullyMasked::kNaN), "nan");
  EXPECT_EQ(FullyMaskedName(FullyMasked::kError), "error");
  EXPECT_EQ(ParseFullyMasked("zero").value(), FullyMasked::kZero);
  EXPECT_EQ(ParseFullyMasked("nan").value(), FullyMasked::kNaN);
  EXPECT_EQ(ParseFullyMasked("error").value(), FullyMasked::kError);
}

TEST(FullyMasked, UnknownNameListsTheAllowedOnes) {
  const absl::Status status = ParseFullyMasked("NaN").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "fully_masked is \"NaN\"; allowed: zero, nan, error");
}

TEST(AttentionScale, DefaultsToTheInverseRootOfTheWidth) {
  EXPECT_EQ(AttentionScale({}, 64), 0.125);
  EXPECT_EQ(AttentionScale({}, 2), 1.0 / std::sqrt(2.0));
  AttentionOptions options;
  options.scale = 3.0;
  EXPECT_EQ(AttentionScale(options, 64), 3.0);
}

// Two batch entries of two queries and three keys: padding hides all keys of
// the second entry, the mask those of the first entry's query 1 but for key 2,
// and the bias hides that one.
TEST(SeesKeyTest, MaskPaddingAndBiasMustAllAllow) {
  AttentionSizes sizes;
  sizes.batch = 2;
  sizes.query_heads = sizes.key_heads = 1;
  sizes.queries = 2;
  sizes.keys = 3;
  const std::vector<uint8_t> allowed = {1, 1, 1, 0, 0, 1};
  const std::vector<int64_t> lengths = {3, 0};
  AttentionInputs<double> inputs;
  inputs.mask.allowed =
      StridedView<const uint8_t>(allowed.data(), Shape{1, 1, 2, 3});
  inputs.mask.key_lengths = lengths;
  EXPECT_EQ(CountFullyMaskedRows(inputs, sizes), 2);
  EXPECT_TRUE(SeesKey(inputs, sizes, 0, 0, 1, 2));
  EXPECT_FALSE(SeesKey(inputs, sizes, 0, 0, 1, 1));
  const std::vector<double> bias = {0, 0,
                                    -std::numeric_limits<double>::infinity()};
  inputs.bias = StridedView<const double>(bias.data(), Shape{1, 1, 1, 3});
  EXPECT_FALSE(SeesKey(inputs, sizes, 0, 0, 1, 2));
  EXPECT_TRUE(SeesKey(inputs, sizes, 0, 0, 0, 1));
  EXPECT_EQ(CountFullyMaskedRows(inputs, sizes), 3);
}

}  // namespace
}  // namespace softlookup
