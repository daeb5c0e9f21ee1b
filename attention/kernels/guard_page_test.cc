// No kernel reads or writes a byte beyond its tensors: each tensor lies
// against a page that may not be touched, once with its end and once with its
// start. A kernel that did would end the test by a segmentation fault.
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attention.h"
#include "attention/kernels/array_functions.h"
#include "attention/kernels/attention_kernels.h"
#include "attention/kernels/gemm.h"
#include "attention/kernels/guarded_array.h"
#include "attention/kernels/kernel_options.h"
#include "attention/mask.h"
#include "base/random/random.h"
#include "base/tensor/shape.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using kernels::GuardedArray;
using kernels::KernelOptions;

// Tensors of one call, all against their guards at the same side.
class Tensors {
 public:
  Tensors(RandomStream& stream, GuardedArray::Side side)
      : stream_(stream), side_(side) {}

  StridedView<float> New(const Shape& shape) {
    const int64_t size = NumElements(shape).value();
    const GuardedArray& array = arrays_.emplace_back(size, side_);
    for (int64_t i = 0; i < size; ++i) {
      array.data()[i] = static_cast<float>(stream_.Gaussian());
    }
    return {array.data(), shape};
  }

 private:
  RandomStream& stream_;
  const GuardedArray::Side side_;
  std::deque<GuardedArray> arrays_;
};

class GuardPageTest : public ::testing::TestWithParam<GuardedArray::Side> {
 protected:
  RandomStream stream_{1, "guard_page_test"};
};

TEST_P(GuardPageTest, Attention) {
  for (int n = 0; n < 60; ++n) {
    const auto draw = [this](uint32_t bound) -> int64_t {
      return 1 + stream_.UniformInt(bound);
    };
    const int64_t batch = draw(2);
    const int64_t heads = draw(2);
    const int64_t queries = draw(120);
    const int64_t keys = draw(150);
    const int64_t width = draw(40);
    const int64_t value_width = draw(40);
    for (const auto set : kernels::SupportedInstructionSets()) {
      SCOPED_TRACE(absl::StrCat(kernels::InstructionSetName(set), ", B ", batch,
                                ", H ", heads, ", Tq ", queries, ", Tk ", keys,
                                ", D ", width, ", Dv ", value_width));
      Tensors tensors(stream_, GetParam());
      const Shape query_shape = {batch, heads, queries, width};
      const Shape key_shape = {batch, heads, keys, width};
      const Shape value_shape = {batch, heads, keys, value_width};
      const Shape output_shape = {batch, heads, queries, value_width};
      AttentionInputs<float> inputs;
      inputs.query = tensors.New(query_shape);
      inputs.key = tensors.New(key_shape);
      inputs.value = tensors.New(value_shape);
      if (n % 2 == 1) inputs.mask.causal = CausalAlignment::kBottomRight;
      const bool bias = n % 3 == 2;
      const Shape bias_shape = {1, heads, queries, keys};
      if (bias) inputs.bias = tensors.New(bias_shape);
      const StridedView<float> output = tensors.New(output_shape);
      const StridedView<float> sums = tensors.New({batch, heads, queries});
      const KernelOptions execution = {set, nullptr};
      absl::Status status =
          kernels::AttentionForwardInto(inputs, {}, execution, {output, sums});
      ASSERT_TRUE(status.ok()) << status;
      kernels::BackwardViews gradients = {tensors.New(query_shape),
                                          tensors.New(key_shape),
                                          tensors.New(value_shape),
                                          {}};
      if (bias) gradients.bias = tensors.New(bias_shape);
      const StridedView<float> output_gradient = tensors.New(output_shape);
      status = kernels::AttentionBackwardInto(
          inputs, {}, output, sums, output_gradient, execution, gradients);
      ASSERT_TRUE(status.ok()) << status;
    }
  }
}

TEST_P(GuardPageTest, Gemm) {
  for (int n = 0; n < 200; ++n) {
    const int64_t rows = 1 + stream_.UniformInt(70);
    const int64_t columns = 1 + stream_.UniformInt(120);
    const int64_t depth = stream_.UniformInt(150);
    const bool transpose_a = n % 2 == 1;
    const bool transpose_b = n % 4 >= 2;
    for (const auto set : kernels::SupportedInstructionSets()) {
      SCOPED_TRACE(absl::StrCat(kernels::InstructionSetName(set), ", ", rows,
                                " x ", columns, " x ", depth, ", transposed ",
                                transpose_a, transpose_b));
      Tensors tensors(stream_, GetParam());
      const StridedView<float> a =
          transpose_a ? tensors.New({depth, rows}).Transpose(0, 1)
                      : tensors.New({rows, depth});
      const StridedView<float> b =
          transpose_b ? tensors.New({columns, depth}).Transpose(0, 1)
                      : tensors.New({depth, columns});
      const StridedView<float> bias = tensors.New({columns});
      const absl::Status status =
          kernels::Gemm(a, b, tensors.New({rows, columns}),
                        {.accumulate = n % 3 == 0,
                         .bias = absl::MakeConstSpan(bias.data(), columns),
                         .activation = kernels::ArrayFunction::kGelu},
                        {set, nullptr});
      ASSERT_TRUE(status.ok()) << status;
    }
  }
}

TEST_P(GuardPageTest, ArrayFunctions) {
  for (int64_t n = 0; n < 70; ++n) {
    for (const auto set : kernels::SupportedInstructionSets()) {
      SCOPED_TRACE(absl::StrCat(kernels::InstructionSetName(set), ", ", n));
      const KernelOptions execution = {set, nullptr};
      Tensors tensors(stream_, GetParam());
      const auto x = absl::MakeConstSpan(tensors.New({n}).data(), n);
      const auto y = absl::MakeSpan(tensors.New({n}).data(), n);
      ASSERT_TRUE(
          kernels::MapArray(kernels::ArrayFunction::kExp, x, y, execution)
              .ok());
      kernels::ArraySum(x, execution);
      kernels::ArrayMaximum(x, execution);
      kernels::ArrayNorm(x, execution);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sides, GuardPageTest,
                         ::testing::Values(GuardedArray::kStartAtGuard,
                                           GuardedArray::kEndAtGuard),
                         [](const auto& side) {
                           return side.param == GuardedArray::kEndAtGuard
                                      ? "EndAtGuard"
                                      : "StartAtGuard";
                         });

TEST(GuardedArrayDeathTest, CatchesOneElementTooMany) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const GuardedArray end(10, GuardedArray::kEndAtGuard);
  EXPECT_DEATH({ static_cast<volatile float*>(end.data())[10] = 1; }, "");
  const GuardedArray start(10, GuardedArray::kStartAtGuard);
  EXPECT_DEATH({ static_cast<volatile float*>(start.data())[-1] = 1; }, "");
}

}  // namespace
}  // namespace softlookup
