// The backward pass of multi-head attention against complex-step derivatives.
#include <cmath>
#include <complex>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/mask.h"
#include "attention/reference/multi_head.h"
#include "attention/testing/gradient_check.h"
#include "base/random/random.h"
#include "base/tensor/shape.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double
using Complex = std::complex<double>;

// x and the four weights, in this order; also a direction in their space.
using Inputs = std::vector<Tensor<double>>;

struct Problem {
  int64_t heads = 1;
  int64_t key_heads = 1;
  Inputs inputs;
  Tensor<double> output_gradient;
  MultiHeadOptions options;

  template <typename T>
  MultiHeadWeights<T> Weights(const std::vector<Tensor<T>>& from) const {
    return {heads, key_heads, from[1], from[2], from[3], from[4]};
  }
};

Tensor<double> Gaussians(RandomStream& stream, Shape shape) {
  Tensor<double> tensor(std::move(shape));
  stream.FillGaussian(absl::MakeSpan(tensor.elements()));
  return tensor;
}

struct Sizes {
  int64_t batch, positions, d, heads, key_heads, width, value_width;
};

Problem MakeProblem(RandomStream& stream, const Sizes& sizes) {
  const auto [b, t, d, h, hkv, width, value_width] = sizes;
  Problem problem;
  problem.heads = h;
  problem.key_heads = hkv;
  problem.inputs = {Gaussians(stream, {b, t, d}),
                    Gaussians(stream, {d, h * width}),
                    Gaussians(stream, {d, hkv * width}),
                    Gaussians(stream, {d, hkv * value_width}),
                    Gaussians(stream, {h * value_width, d})};
  problem.output_gradient = Gaussians(stream, {b, t, d});
  problem.options.mask.causal =
      static_cast<CausalAlignment>(stream.UniformInt(3));
  return problem;
}

double ForwardDerivative(const Problem& problem, const Inputs& direction) {
  std::vector<Tensor<Complex>> moved;
  for (size_t n = 0; n < direction.size(); ++n) {
    moved.push_back(ComplexStep(problem.inputs[n], direction[n]));
  }
  const Tensor<Complex>& x = moved[0];
  const auto outputs =
      MultiHeadForward(x.view(), problem.Weights(moved), problem.options)
          .value();
  Complex loss = 0;
  for (int64_t n = 0; n < outputs.output.size(); ++n) {
    loss += problem.output_gradient[n] * outputs.output[n];
  }
  return Derivative(loss);
}

std::vector<Tensor<double>> Backward(const Problem& problem) {
  const Tensor<double>& x = problem.inputs[0];
  MultiHeadGradients<double> gradients =
      MultiHeadBackward(x.view(), problem.Weights(problem.inputs),
                        problem.options, problem.output_gradient.view())
          .value();
  return {gradients.x, gradients.query, gradients.key, gradients.value,
          gradients.output};
}

double Norm(const Tensor<double>& tensor) {
  double sum = 0;
  for (const double element : tensor.elements()) sum += element * element;
  return std::sqrt(sum);
}

// Both sides sum the same terms, with a rounding for every step of the
// longest sum of each stage. Sums of absolute terms of a matrix product are
// at most the product of the Frobenius norms, and the softmax Jacobian's norm
// is below 1, so the derivative's terms are bounded stage by stage as below.
double Tolerance(const Problem& problem, const Inputs& direction) {
  const Tensor<double>& x = problem.inputs[0];
  const double rows = std::sqrt(static_cast<double>(
      problem.heads * x.dim(0) * x.dim(1)));  // the norm of P is at most this
  const double groups =
      std::sqrt(static_cast<double>(problem.heads / problem.key_heads));
  double norm[5], d_norm[5];
  for (int n = 0; n < 5; ++n) {
    norm[n] = Norm(problem.inputs[n]);
    d_norm[n] = Norm(direction[n]);
  }
  double projected[4], d_projected[4];
  for (int n = 1; n < 4; ++n) {
    const double repeats = n == 1 ? 1 : groups;
    projected[n] = repeats * norm[0] * norm[n];
    d_projected[n] = repeats * (d_norm[0] * norm[n] + norm[0] * d_norm[n]);
  }
  const double d_scores =
      d_projected[1] * projected[2] + projected[1] * d_projected[2];
  const double heads = rows * projected[3];
  const double d_heads = rows * d_projected[3] + 2 * d_scores * projected[3];
  const double size =
      Norm(problem.output_gradient) * (d_heads * norm[4] + heads * d_norm[4]);
  const int64_t roundings = x.dim(2) + problem.inputs[1].dim(1) +
                            2 * problem.inputs[4].dim(0) + 3 * x.dim(1) + 30 +
                            x.size();
  return static_cast<double>(roundings) * kUnit * size;
}

void ExpectDerivative(const Problem& problem, const Inputs& gradients,
                      const Inputs& direction) {
  long double sum = 0;
  for (size_t n = 0; n < gradients.size(); ++n) {
    ASSERT_EQ(gradients[n].shape(), problem.inputs[n].shape());
    for (int64_t k = 0; k < gradients[n].size(); ++k) {
      sum += static_cast<long double>(gradients[n][k]) * direction[n][k];
    }
  }
  EXPECT_NEAR(static_cast<double>(sum), ForwardDerivative(problem, direction),
              Tolerance(problem, direction));
}

Inputs NoDirection(const Problem& problem) {
  Inputs direction;
  for (const Tensor<double>& input : problem.inputs) {
    direction.emplace_back(input.shape());
  }
  return direction;
}

TEST(MultiHeadGradient, OneRandomDirectionPerDrawnCase) {
  constexpr uint64_t kSeed = 51;
  RandomStream stream(kSeed, "multi_head_gradient_test");
  const auto draw = [&stream](uint32_t limit) -> int64_t {
    return 1 + stream.UniformInt(limit);
  };
  for (int n = 0; n < 1000 && !HasFailure(); ++n) {
    const int64_t key_heads = draw(2);
    const Sizes sizes = {draw(2),   draw(4), draw(4), key_heads * draw(2),
                         key_heads, draw(3), draw(3)};
    const Problem problem = MakeProblem(stream, sizes);
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", case " << n);
    Inputs direction = NoDirection(problem);
    for (Tensor<double>& part : direction) {
      stream.FillGaussian(absl::MakeSpan(part.elements()));
    }
    ExpectDerivative(problem, Backward(problem), direction);
  }
}

TEST(MultiHeadGradient, EveryElementOnTenSmallShapes) {
  constexpr uint64_t kSeed = 52;
  RandomStream stream(kSeed, "multi_head_gradient_test");
  // B, T, d, H, Hkv, D, Dv.
  const Sizes shapes[] = {
      {1, 1, 1, 1, 1, 1, 1}, {1, 3, 2, 1, 1, 2, 2}, {2, 2, 2, 2, 2, 1, 1},
      {1, 2, 4, 2, 2, 2, 2}, {1, 3, 3, 2, 1, 1, 2}, {2, 2, 3, 4, 2, 1, 1},
      {2, 3, 1, 2, 2, 2, 1}, {1, 4, 2, 2, 1, 2, 1}, {1, 2, 3, 3, 1, 1, 1},
      {2, 1, 2, 1, 1, 3, 2},
  };
  for (const Sizes& sizes : shapes) {
    const Problem problem = MakeProblem(stream, sizes);
    const Inputs gradients = Backward(problem);
    Inputs direction = NoDirection(problem);
    for (size_t n = 0; n < direction.size(); ++n) {
      for (int64_t k = 0; k < direction[n].size(); ++k) {
        SCOPED_TRACE(testing::Message()
                     << "seed " << kSeed << ", x "
                     << ShapeString(problem.inputs[0].shape()) << ", heads "
                     << sizes.heads << "/" << sizes.key_heads << ", input " << n
                     << " element " << k);
        direction[n][k] = 1.0;
        ExpectDerivative(problem, gradients, direction);
        direction[n][k] = 0.0;
      }
    }
  }
}

}  // namespace
}  // namespace softlookup
