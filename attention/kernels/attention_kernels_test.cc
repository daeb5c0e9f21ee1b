#include "attention/kernels/attention_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/attention.h"
#include "attention/kernels/kernel_options.h"
#include "attention/kernels/kernel_run.h"
#include "attention/kernels/kernel_test_util.h"
#include "attention/reference/attention_reference.h"
#include "attention/testing/random_attention.h"
#include "base/hash.h"
#include "base/random/random.h"
#include "base/tensor/tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using kernels::BitDifference;

// A drawn problem rounded to float32, and the same numbers in float64.
struct Pair {
  AttentionCase<float> narrow;
  AttentionCase<double> wide;
};

Pair Round(AttentionCase<double> drawn) {
  drawn.options.weights = false;
  Pair pair;
  pair.narrow = kernels::RoundToFloat(drawn);
  pair.wide = std::move(drawn);
  return pair;
}

struct Everything {
  AttentionOutputs<float> outputs;
  AttentionGradients<float> gradients;
};

Everything Compute(const AttentionCase<float>& problem,
                   const kernels::KernelOptions& execution) {
  Everything result;
  auto outputs =
      kernels::AttentionForward(problem.inputs(), problem.options, execution);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return result;
  result.outputs = *std::move(outputs);
  auto gradients = kernels::AttentionBackward(
      problem.inputs(), problem.options, result.outputs,
      problem.output_gradient.view(), execution);
  EXPECT_TRUE(gradients.ok()) << gradients.status();
  if (gradients.ok()) result.gradients = *std::move(gradients);
  return result;
}

double Largest(const Tensor<double>& tensor) {
  double largest = 0;
  for (const double x : tensor.elements()) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  return largest;
}

void ExpectNear(const std::string& name, const Tensor<float>& ours,
                const Tensor<double>& expected, double tolerance) {
  ASSERT_EQ(ours.shape(), expected.shape()) << name;
  for (int64_t i = 0; i < ours.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(ours[i])) << name << "[" << i << "] " << ours[i];
    } else if (std::isinf(expected[i])) {
      ASSERT_EQ(ours[i], expected[i]) << name << "[" << i << "]";
    } else {
      ASSERT_NEAR(ours[i], expected[i], tolerance) << name << "[" << i << "]";
    }
  }
}

void ExpectSameBits(const Everything& a, const Everything& b) {
  EXPECT_EQ(BitDifference(a.outputs.output, b.outputs.output), "");
  EXPECT_EQ(BitDifference(a.outputs.log_sum_exp, b.outputs.log_sum_exp), "");
  EXPECT_EQ(BitDifference(a.gradients.query, b.gradients.query), "");
  EXPECT_EQ(BitDifference(a.gradients.key, b.gradients.key), "");
  EXPECT_EQ(BitDifference(a.gradients.value, b.gradients.value), "");
  ASSERT_EQ(a.gradients.bias.has_value(), b.gradients.bias.has_value());
  if (a.gradients.bias.has_value()) {
    EXPECT_EQ(BitDifference(*a.gradients.bias, *b.gradients.bias), "");
  }
}

// Finite at the same elements. delta = O . dO here and the sum of P dP in the
// reference, so that inf in the one may be inf - inf, NaN, in the other.
void ExpectSameFinite(const std::string& name, const Tensor<float>& ours,
                      const Tensor<double>& expected) {
  ASSERT_EQ(ours.shape(), expected.shape()) << name;
  for (int64_t i = 0; i < ours.size(); ++i) {
    ASSERT_EQ(std::isfinite(ours[i]), std::isfinite(expected[i]))
        << name << "[" << i << "] is " << ours[i] << ", expected "
        << expected[i];
  }
}

// NaN, +inf, -inf or finite, element by element.
void ExpectSameKinds(const std::string& name, const Tensor<float>& ours,
                     const Tensor<double>& expected) {
  const auto kind = [](double x) {
    return std::isnan(x)      ? "NaN"
           : std::isfinite(x) ? "finite"
           : x > 0            ? "inf"
                              : "-inf";
  };
  ASSERT_EQ(ours.shape(), expected.shape()) << name;
  for (int64_t i = 0; i < ours.size(); ++i) {
    ASSERT_STREQ(kind(ours[i]), kind(expected[i])) << name << "[" << i << "]";
  }
}

void ExpectAgrees(const Pair& pair, const Everything& ours) {
  auto outputs =
      reference::AttentionForward(pair.wide.inputs(), pair.wide.options);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  auto gradients = reference::AttentionBackward(
      pair.wide.inputs(), pair.wide.options,
      std::as_const(pair.wide.output_gradient).view());
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  double score = 0;
  for (const double x : outputs->log_sum_exp.elements()) {
    if (std::isfinite(x)) score = std::max(score, std::abs(x));
  }
  const double scale = 4e-6 * (1 + score);
  ExpectNear("output", ours.outputs.output, outputs->output,
             scale * Largest(pair.wide.value));
  ExpectNear("log_sum_exp", ours.outputs.log_sum_exp, outputs->log_sum_exp,
             scale);
  const double gradient_scale =
      scale * (1 + Largest(pair.wide.value)) *
      (1 + Largest(pair.wide.output_gradient)) *
      static_cast<double>(pair.wide.sizes.queries * 3);
  ExpectNear("query", ours.gradients.query, gradients->query,
             gradient_scale * (1 + Largest(pair.wide.key)));
  ExpectNear("key", ours.gradients.key, gradients->key,
             gradient_scale * (1 + Largest(pair.wide.query)));
  ExpectNear("value", ours.gradients.value, gradients->value, gradient_scale);
  if (gradients->bias.has_value()) {
    ExpectNear("bias", *ours.gradients.bias, *gradients->bias,
               gradient_scale * 4);
  }
}

TEST(AttentionKernelsTest, AgreesWithTheReferenceOnDrawnCases) {
  RandomStream stream(1, "attention_kernels_test small");
  for (int n = 0; n < 1000; ++n) {
    const AttentionCase<double> drawn = DrawAttentionCase(stream);
    SCOPED_TRACE(absl::StrCat("case ", n, ": ", Describe(drawn)));
    const Pair pair = Round(drawn);
    const Everything first = Compute(pair.narrow, {.pool = nullptr});
    ExpectAgrees(pair, first);
    for (const auto& [name, execution] : kernels::SomeRuns(n)) {
      SCOPED_TRACE(name);
      ExpectSameBits(first, Compute(pair.narrow, execution));
    }
    if (HasFailure()) return;
  }
}

TEST(AttentionKernelsTest, AgreesOnSizesAroundTheTiles) {
  RandomStream stream(1, "attention_kernels_test large");
  for (int n = 0; n < 40; ++n) {
    const AttentionCase<double> drawn =
        DrawAttentionCase(stream, {.batch = 1,
                                   .key_heads = 2,
                                   .group = 2,
                                   .positions = 300,
                                   .width = 70});
    SCOPED_TRACE(absl::StrCat("case ", n, ": ", Describe(drawn)));
    const Pair pair = Round(drawn);
    const Everything first =
        Compute(pair.narrow, {kernels::InstructionSet::kPortable, nullptr});
    ExpectAgrees(pair, first);
    for (const auto& [name, execution] : kernels::EveryRun()) {
      SCOPED_TRACE(name);
      ExpectSameBits(first, Compute(pair.narrow, execution));
    }
    if (HasFailure()) return;
  }
}

// Every gradient within float32 rounding of its own largest element: the bounds
// of ExpectAgrees grow with the sizes, and let a block of keys go missing.
void ExpectGradientsNear(const Pair& pair, const Everything& ours) {
  const auto expected = reference::AttentionBackward(
      pair.wide.inputs(), pair.wide.options,
      std::as_const(pair.wide.output_gradient).view());
  ASSERT_TRUE(expected.ok()) << expected.status();
  constexpr double kRelative = 1e-4;
  ExpectNear("query", ours.gradients.query, expected->query,
             kRelative * Largest(expected->query));
  ExpectNear("key", ours.gradients.key, expected->key,
             kRelative * Largest(expected->key));
  ExpectNear("value", ours.gradients.value, expected->value,
             kRelative * Largest(expected->value));
}

// One head's keys are cut into ranges that each write a dQ, into memory that is
// used again; eight ranges of 192 keys leave the last without any. Of many
// heads each is one range, of several blocks of 256 keys that add to one dQ.
TEST(AttentionKernelsTest, AgreesOverRangesAndBlocksOfKeys) {
  RandomStream stream(1, "attention_kernels_test ranges");
  int with_empty_range = 0;
  int with_blocks = 0;
  for (int n = 0; n < 16; ++n) {
    AttentionCase<double> drawn = DrawAttentionCase(
        stream, n % 2 == 0 ? AttentionLimits{.batch = 1,
                                             .key_heads = 1,
                                             .group = 2,
                                             .positions = 1340,
                                             .width = 8}
                           : AttentionLimits{.batch = 10,
                                             .key_heads = 2,
                                             .group = 1,
                                             .positions = 600,
                                             .width = 6});
    // Weights that are spread out, so that every key counts.
    drawn.options.scale.reset();
    const int64_t heads = drawn.sizes.batch * drawn.sizes.key_heads;
    with_empty_range += heads == 1 && drawn.sizes.keys > 1024;
    with_blocks += heads >= 8 && drawn.sizes.keys > 256;
    SCOPED_TRACE(absl::StrCat("case ", n, ": ", Describe(drawn)));
    const Pair pair = Round(drawn);
    const auto compute = [&pair](const kernels::KernelOptions& execution) {
      constexpr int64_t kLeftOver = 1 << 20;
      std::fill_n(kernels::ThreadFloats(kLeftOver), kLeftOver,
                  std::numeric_limits<float>::quiet_NaN());
      return Compute(pair.narrow, execution);
    };
    const Everything first = compute({.pool = nullptr});
    ExpectAgrees(pair, first);
    ExpectGradientsNear(pair, first);
    for (const auto& [name, execution] : kernels::SomeRuns(n)) {
      SCOPED_TRACE(name);
      ExpectSameBits(first, compute(execution));
    }
    if (HasFailure()) return;
  }
  EXPECT_GE(with_empty_range, 1);
  EXPECT_GE(with_blocks, 3);
}

// NaN and infinities go where the textbook order of operations takes them, and
// from masked positions nowhere. Only where, and the other elements' bits on
// every run: float32 and float64 underflow at different places.
TEST(AttentionKernelsTest, SpecialValuesGoWhereTheReferenceSendsThem) {
  RandomStream stream(1, "attention_kernels_test special");
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> special = {inf, -inf, std::nan("")};
  for (int n = 0; n < 1000; ++n) {
    AttentionCase<double> drawn =
        DrawAttentionCase(stream, {.positions = 80, .width = 5});
    drawn.options.fully_masked = FullyMasked::kZero;
    for (Tensor<double>* tensor :
         {&drawn.query, &drawn.key, &drawn.value, &drawn.output_gradient}) {
      if (stream.UniformInt(3) != 0) continue;
      const auto at = stream.UniformInt(static_cast<uint32_t>(tensor->size()));
      (*tensor)[at] = special[stream.UniformInt(3)];
    }
    SCOPED_TRACE(absl::StrCat("case ", n, ": ", Describe(drawn)));
    const Pair pair = Round(drawn);
    const Everything ours = Compute(pair.narrow, {});
    const auto outputs =
        reference::AttentionForward(pair.wide.inputs(), pair.wide.options)
            .value();
    const auto gradients = reference::AttentionBackward(
                               pair.wide.inputs(), pair.wide.options,
                               std::as_const(pair.wide.output_gradient).view())
                               .value();
    ExpectSameKinds("output", ours.outputs.output, outputs.output);
    ExpectSameKinds("log_sum_exp", ours.outputs.log_sum_exp,
                    outputs.log_sum_exp);
    ExpectSameFinite("query", ours.gradients.query, gradients.query);
    ExpectSameFinite("key", ours.gradients.key, gradients.key);
    ExpectSameFinite("value", ours.gradients.value, gradients.value);
    for (const auto& [name, execution] : kernels::SomeRuns(n)) {
      SCOPED_TRACE(name);
      ExpectSameBits(ours, Compute(pair.narrow, execution));
    }
    if (HasFailure()) return;
  }
}

// What stands at a masked position changes not one bit of what does not see it,
// whatever else sees it.
TEST(AttentionKernelsTest, NothingLeaksFromMaskedPositions) {
  RandomStream stream(1, "attention_kernels_test masked");
  const float inf = std::numeric_limits<float>::infinity();
  int64_t blind_rows = 0;
  for (int n = 0; n < 1000; ++n) {
    const AttentionCase<double> drawn =
        DrawAttentionCase(stream, {.positions = 90, .width = 20});
    SCOPED_TRACE(absl::StrCat("case ", n, ": ", Describe(drawn)));
    AttentionCase<float> problem = Round(drawn).narrow;
    const Everything clean = Compute(problem, {});
    const AttentionSizes& sizes = problem.sizes;
    const auto draw = [&](int64_t bound) -> int64_t {
      return stream.UniformInt(static_cast<uint32_t>(bound));
    };
    const int64_t b = draw(sizes.batch);
    const int64_t key_head = draw(sizes.key_heads);
    const int64_t j = draw(sizes.keys);
    const float poison = n % 2 == 0 ? std::nanf("") : inf;
    for (int64_t k = 0; k < sizes.width; ++k) {
      problem.key(b, key_head, j, k) = poison;
    }
    for (int64_t k = 0; k < sizes.value_width; ++k) {
      problem.value(b, key_head, j, k) = poison;
    }
    const Everything poisoned = Compute(problem, {});
    for (int64_t h = 0; h < sizes.query_heads; ++h) {
      for (int64_t i = 0; i < sizes.queries; ++i) {
        if (sizes.KeyHead(h) == key_head && problem.Visible(b, h, i, j)) {
          continue;
        }
        ++blind_rows;
        for (int64_t k = 0; k < sizes.value_width; ++k) {
          ASSERT_EQ(clean.outputs.output(b, h, i, k),
                    poisoned.outputs.output(b, h, i, k))
              << "output of head " << h << ", query " << i;
        }
        for (int64_t k = 0; k < sizes.width; ++k) {
          ASSERT_EQ(clean.gradients.query(b, h, i, k),
                    poisoned.gradients.query(b, h, i, k))
              << "gradient of head " << h << ", query " << i;
        }
      }
    }
  }
  EXPECT_GT(blind_rows, 10000);
}

// A regression golden: the bits on any machine. The other tests say that they
// are right; this one that they are ours. After a deliberate change of the
// order of operations, take over what the failure prints.
TEST(AttentionKernelsTest, GoldenBits) {
  RandomStream stream(3, "attention_kernels_test golden");
  for (const auto& [name, execution] : kernels::EveryRun()) {
    stream.Seek(0);
    BitHash hash;
    for (int n = 0; n < 60; ++n) {
      // Every tenth long enough for several ranges of keys.
      const AttentionCase<double> drawn = DrawAttentionCase(
          stream, n % 10 == 0 ? AttentionLimits{.batch = 1,
                                                .key_heads = 1,
                                                .group = 2,
                                                .positions = 1500,
                                                .width = 8}
                              : AttentionLimits{.positions = 200, .width = 64});
      const Everything result = Compute(Round(drawn).narrow, execution);
      hash.Add<float>(result.outputs.output.elements());
      hash.Add<float>(result.outputs.log_sum_exp.elements());
      hash.Add<float>(result.gradients.query.elements());
      hash.Add<float>(result.gradients.key.elements());
      hash.Add<float>(result.gradients.value.elements());
      if (result.gradients.bias.has_value()) {
        hash.Add<float>(result.gradients.bias->elements());
      }
    }
    EXPECT_EQ(hash.value(), 9736310907061249005u) << name;
  }
}

}  // namespace
}  // namespace softlookup
