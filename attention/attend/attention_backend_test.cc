#include "attention/attend/attention_backend.h"

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attention/attention.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

template <typename T>
class AttentionBackendTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(AttentionBackendTest, Types);

// One key: its weight is 1, the output is its value, and the gradient of the
// value is that of the output.
TYPED_TEST(AttentionBackendTest, ReferenceRunsForwardAndBackward) {
  const absl::StatusOr<const AttentionBackend<TypeParam>*> backend =
      FindAttentionBackend<TypeParam>("reference");
  ASSERT_TRUE(backend.ok()) << backend.status();
  EXPECT_EQ((*backend)->name, "reference");
  const Tensor<TypeParam> query({1, 1, 1, 1}, {2});
  const Tensor<TypeParam> key({1, 1, 1, 1}, {3});
  const Tensor<TypeParam> value({1, 1, 1, 2}, {5, -7});
  const Tensor<TypeParam> output_gradient({1, 1, 1, 2}, {11, 13});
  AttentionInputs<TypeParam> inputs;
  inputs.query = query.view();
  inputs.key = key.view();
  inputs.value = value.view();
  const auto outputs = (*backend)->forward(inputs, {}, {});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->output.elements(), value.elements());
  EXPECT_EQ(outputs->log_sum_exp[0], 6);
  const auto gradients =
      (*backend)->backward(inputs, {}, *outputs, output_gradient.view(), {});
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  EXPECT_EQ(gradients->value.elements(), output_gradient.elements());
  EXPECT_EQ(gradients->query[0], 0);
}

// Weights and two matrices of a head's scores, and 16 bytes for a visible key.
TYPED_TEST(AttentionBackendTest, ReferenceScratch) {
  AttentionSizes sizes;
  sizes.queries = 5;
  sizes.keys = 7;
  const auto* backend = *FindAttentionBackend<TypeParam>("reference");
  EXPECT_EQ(backend->scratch_bytes(sizes, true, 3),
            (sizeof(TypeParam) == 8 ? 40 : 28) * 5 * 7);
  sizes.queries = sizes.keys = int64_t{1} << 40;
  EXPECT_EQ(backend->scratch_bytes(sizes, false, 1),
            std::numeric_limits<int64_t>::max());
}

TEST(FindAttentionBackendTest, UnknownNamesAreRefusedWithTheKnownOnes) {
  const absl::Status status = FindAttentionBackend<double>("fast").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "backend is \"fast\"; allowed with precision float64: reference");
  EXPECT_EQ(FindAttentionBackend<float>("Reference").status().message(),
            "backend is \"Reference\"; allowed with precision float32: "
            "reference, simd");
}

}  // namespace
}  // namespace softlookup
