// The backward pass against complex-step derivatives of the forward pass: one
// random direction per drawn problem, and every element on ten small shapes.
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.h"
#include "attention/mask.h"
#include "attention/reference/attention_reference.h"
#include "attention/testing/gradient_check.h"
#include "attention/testing/random_attention.h"
#include "base/random/random.h"
#include "base/tensor/shape.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup::reference {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double
constexpr double kInf = std::numeric_limits<double>::infinity();
using Complex = std::complex<double>;

// A direction in the space of all inputs.
struct Direction {
  Tensor<double> query, key, value;
  std::optional<Tensor<double>> bias;
};

Direction NoDirection(const AttentionCase<double>& drawn) {
  Direction direction{Tensor<double>(drawn.query.shape()),
                      Tensor<double>(drawn.key.shape()),
                      Tensor<double>(drawn.value.shape()), std::nullopt};
  if (drawn.bias.has_value()) {
    direction.bias = Tensor<double>(drawn.bias->shape());
  }
  return direction;
}

// d/dh sum(output_gradient * O(inputs + h direction)).
double ForwardDerivative(const AttentionCase<double>& drawn,
                         const Direction& direction) {
  AttentionCase<Complex> moved;
  moved.query = ComplexStep(drawn.query, direction.query);
  moved.key = ComplexStep(drawn.key, direction.key);
  moved.value = ComplexStep(drawn.value, direction.value);
  if (drawn.bias.has_value()) {
    moved.bias = ComplexStep(*drawn.bias, *direction.bias);
  }
  moved.allowed = drawn.allowed;
  moved.key_lengths = drawn.key_lengths;
  moved.key_starts = drawn.key_starts;
  moved.causal = drawn.causal;
  const AttentionOutputs<Complex> outputs =
      AttentionForward(moved.inputs(), drawn.options).value();
  Complex loss = 0;
  for (int64_t n = 0; n < outputs.output.size(); ++n) {
    loss += drawn.output_gradient[n] * outputs.output[n];
  }
  return Derivative(loss);
}

// sum(gradient * direction), in extended precision.
double Along(const AttentionGradients<double>& gradients,
             const Direction& direction) {
  long double sum = 0;
  const auto add = [&sum](const Tensor<double>& a, const Tensor<double>& b) {
    for (int64_t n = 0; n < a.size(); ++n) {
      sum += static_cast<long double>(a[n]) * b[n];
    }
  };
  add(gradients.query, direction.query);
  add(gradients.key, direction.key);
  add(gradients.value, direction.value);
  if (gradients.bias.has_value()) add(*gradients.bias, *direction.bias);
  return static_cast<double>(sum);
}

// How far the two may differ. Both sum the same terms, so the bound is the
// sum of the terms' sizes times the number of roundings on the longest way
// from an input to the sum: D for a score, Tk for the divisor and twice more
// for the means, Dv for g, and about 20 single operations (a complex division
// counts for several); the loss itself sums one term per output. The scores'
// own rounding errors do not count, as both sides use scores of equal bits.
double Tolerance(const AttentionCase<double>& drawn,
                 const Direction& direction) {
  const AttentionSizes& sizes = drawn.sizes;
  AttentionOptions options = drawn.options;
  options.weights = true;
  const Tensor<double> weights =
      *AttentionForward(drawn.inputs(), options)->weights;
  const double scale = std::abs(AttentionScale(drawn.options, sizes.width));
  double size = 0;
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.query_heads; ++h) {
      const int64_t kv = sizes.KeyHead(h);
      for (int64_t i = 0; i < sizes.queries; ++i) {
        const auto products = [&](const Tensor<double>& value, int64_t j) {
          double sum = 0;
          for (int64_t c = 0; c < sizes.value_width; ++c) {
            sum += std::abs(drawn.output_gradient(b, h, i, c) *
                            value(b, kv, j, c));
          }
          return sum;
        };
        double mean = 0;
        for (int64_t j = 0; j < sizes.keys; ++j) {
          mean += weights(b, h, i, j) * products(drawn.value, j);
        }
        for (int64_t j = 0; j < sizes.keys; ++j) {
          double d_score = 0;
          for (int64_t d = 0; d < sizes.width; ++d) {
            d_score += scale * (std::abs(direction.query(b, h, i, d) *
                                         drawn.key(b, kv, j, d)) +
                                std::abs(drawn.query(b, h, i, d) *
                                         direction.key(b, kv, j, d)));
          }
          if (direction.bias.has_value()) {
            const Tensor<double>& bias = *direction.bias;
            d_score += std::abs(bias(b % bias.dim(0), h % bias.dim(1),
                                     i % bias.dim(2), j % bias.dim(3)));
          }
          size += weights(b, h, i, j) *
                  ((products(drawn.value, j) + mean) * d_score +
                   products(direction.value, j));
        }
      }
    }
  }
  const int64_t roundings = sizes.width + 2 * sizes.value_width +
                            3 * sizes.keys + 20 + drawn.output_gradient.size();
  return static_cast<double>(roundings) * kUnit * size;
}

void ExpectDerivative(const AttentionCase<double>& drawn,
                      const AttentionGradients<double>& gradients,
                      const Direction& direction) {
  EXPECT_NEAR(Along(gradients, direction), ForwardDerivative(drawn, direction),
              Tolerance(drawn, direction));
}

AttentionGradients<double> Backward(const AttentionCase<double>& drawn) {
  return AttentionBackward(drawn.inputs(), drawn.options,
                           drawn.output_gradient.view())
      .value();
}

TEST(ReferenceGradient, OneRandomDirectionPerDrawnCase) {
  constexpr uint64_t kSeed = 20240604;
  RandomStream stream(kSeed, "attention_reference_gradient_test");
  int nonzero = 0;
  for (int n = 0; n < 1000 && !HasFailure(); ++n) {
    const AttentionCase<double> drawn = DrawAttentionCase(stream);
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", case " << n
                                    << ": " << Describe(drawn));
    Direction direction = NoDirection(drawn);
    for (Tensor<double>* tensor :
         {&direction.query, &direction.key, &direction.value}) {
      stream.FillGaussian(absl::MakeSpan(tensor->elements()));
    }
    if (direction.bias.has_value()) {
      stream.FillGaussian(absl::MakeSpan(direction.bias->elements()));
    }
    const AttentionGradients<double> gradients = Backward(drawn);
    ExpectDerivative(drawn, gradients, direction);
    nonzero += Along(gradients, direction) != 0;
  }
  EXPECT_GE(nonzero, 800);
}

// Ten small problems that between them have every feature.
std::vector<AttentionCase<double>> SmallCases(RandomStream& stream) {
  struct Small {
    AttentionSizes sizes;
    Shape bias;  // empty: none
    CausalAlignment causal = CausalAlignment::kNone;
    std::vector<int64_t> key_lengths, key_starts;
    std::optional<double> scale;
  };
  const auto top_left = CausalAlignment::kTopLeft;
  const auto bottom_right = CausalAlignment::kBottomRight;
  const auto none = CausalAlignment::kNone;
  // Sizes are B, H, Hkv, Tq, Tk, D, Dv.
  const Small small[] = {
      {{1, 1, 1, 1, 1, 1, 1}, {}, none, {}, {}, {}},
      {{1, 1, 1, 3, 3, 2, 2}, {}, top_left, {}, {}, {}},
      {{1, 2, 1, 2, 3, 2, 3}, {}, bottom_right, {}, {}, {}},
      {{2, 4, 2, 3, 2, 3, 1}, {}, bottom_right, {}, {}, {}},
      {{2, 1, 1, 2, 4, 1, 2}, {}, none, {3, 0}, {}, {}},
      {{2, 1, 1, 2, 4, 2, 2}, {}, none, {4, 3}, {1, 2}, {}},
      {{1, 2, 2, 2, 3, 2, 2}, {1, 2, 2, 3}, none, {}, {}, {}},
      {{2, 2, 1, 2, 3, 2, 1}, {2, 1, 1, 3}, top_left, {}, {}, {}},
      {{2, 2, 2, 3, 2, 1, 2}, {1, 2, 3, 1}, none, {}, {}, -1.5},
      {{2, 2, 1, 2, 2, 2, 2}, {1, 1, 1, 1}, top_left, {2, 1}, {}, 0.7},
  };
  std::vector<AttentionCase<double>> cases;
  const auto gaussians = [&stream](const Shape& shape) {
    Tensor<double> tensor(shape);
    stream.FillGaussian(absl::MakeSpan(tensor.elements()));
    return tensor;
  };
  for (const Small& from : small) {
    const AttentionSizes& sizes = from.sizes;
    AttentionCase<double> to;
    to.sizes = sizes;
    to.query =
        gaussians({sizes.batch, sizes.query_heads, sizes.queries, sizes.width});
    to.key = gaussians({sizes.batch, sizes.key_heads, sizes.keys, sizes.width});
    to.value = gaussians(
        {sizes.batch, sizes.key_heads, sizes.keys, sizes.value_width});
    to.output_gradient = gaussians(
        {sizes.batch, sizes.query_heads, sizes.queries, sizes.value_width});
    if (!from.bias.empty()) {
      to.bias = gaussians(from.bias);
      // The last key's bias masks, where there are biases for each key.
      if (from.bias[3] != 1) to.bias->elements().back() = -kInf;
    }
    to.causal = from.causal;
    to.key_lengths = from.key_lengths;
    to.key_starts = from.key_starts;
    to.options.scale = from.scale;
    cases.push_back(to);
  }
  return cases;
}

TEST(ReferenceGradient, EveryElementOnTenSmallShapes) {
  constexpr uint64_t kSeed = 20240605;
  RandomStream stream(kSeed, "attention_reference_gradient_test");
  const std::vector<AttentionCase<double>> cases = SmallCases(stream);
  EXPECT_EQ(cases.size(), 10u);
  for (const AttentionCase<double>& small : cases) {
    const AttentionGradients<double> gradients = Backward(small);
    EXPECT_EQ(gradients.query.shape(), small.query.shape());
    EXPECT_EQ(gradients.key.shape(), small.key.shape());
    EXPECT_EQ(gradients.value.shape(), small.value.shape());
    ASSERT_EQ(gradients.bias.has_value(), small.bias.has_value());
    Direction direction = NoDirection(small);
    const auto check = [&](Tensor<double>& tensor, const char* name) {
      for (int64_t n = 0; n < tensor.size(); ++n) {
        SCOPED_TRACE(testing::Message()
                     << Describe(small) << ": " << name << " element " << n);
        tensor[n] = 1.0;
        ExpectDerivative(small, gradients, direction);
        tensor[n] = 0.0;
      }
    };
    check(direction.query, "query");
    check(direction.key, "key");
    check(direction.value, "value");
    if (small.bias.has_value()) {
      EXPECT_EQ(gradients.bias->shape(), small.bias->shape());
      check(*direction.bias, "bias");
    }
  }
}

}  // namespace
}  // namespace softlookup::reference
