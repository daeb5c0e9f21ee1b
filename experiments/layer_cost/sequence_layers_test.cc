#include "experiments/layer_cost/sequence_layers.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.h"
#include "attention/cost.h"
#include "attention/reference/attention_reference.h"
#include "attention/testing/gradient_check.h"
#include "base/random/random.h"
#include "experiments/layer_cost/traced.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using Complex = std::complex<double>;

Tensor<double> Gaussians(const Shape& shape, RandomStream& stream) {
  Tensor<double> tensor(shape);
  stream.FillGaussian(absl::MakeSpan(tensor.elements()));
  return tensor;
}

// W = ((1, 2), (0, 1)), x = (1, 0), (0, 1): h_1 = (1, 0) from h_0 = 0, then
// h_2 = (1, 2) + (0, 1).
TEST(RecurrentStates, LinearByHand) {
  const Tensor<double> w({2, 2}, {1, 2, 0, 1});
  const Tensor<double> x({2, 2}, {1, 0, 0, 1});
  const Tensor<double> h =
      RecurrentStates<double>(w, x, {0, 0}, Nonlinearity::kIdentity);
  EXPECT_EQ(h.elements(), (std::vector<double>{1, 0, 1, 3}));
  const Tensor<double> from_h0 =
      RecurrentStates<double>(w, x, {1, 1}, Nonlinearity::kIdentity);
  EXPECT_EQ(from_h0.elements(), (std::vector<double>{2, 3, 2, 8}));
}

TEST(RecurrentStates, TanhOfTheSame) {
  const Tensor<double> w({1, 1}, {0.5});
  const Tensor<double> x({2, 1}, {1, -2});
  const Tensor<double> h =
      RecurrentStates<double>(w, x, {0.25}, Nonlinearity::kTanh);
  EXPECT_NEAR(h[0], std::tanh(1.125), 1e-15);
  EXPECT_NEAR(h[1], std::tanh(0.5 * std::tanh(1.125) - 2), 1e-15);
}

// Against the complex step along a drawn direction of all inputs. Relative to
// the magnitudes, a step rounds d + 3 times on the way back and d + 10 times
// on the way forth (tanh and its quotient included), and the product with the
// direction has T d terms.
TEST(RecurrentGradient, ComplexStepOnDrawnShapes) {
  RandomStream stream(/*seed=*/21, "recurrent gradient test");
  for (int c = 0; c < 1000; ++c) {
    SCOPED_TRACE(testing::Message() << "seed 21, case " << c);
    const int64_t d = 1 + stream.UniformInt(5);
    const int64_t positions = 1 + stream.UniformInt(6);
    const Nonlinearity f =
        c % 3 == 0 ? Nonlinearity::kIdentity : Nonlinearity::kTanh;
    const Tensor<double> w = Gaussians({d, d}, stream);
    const Tensor<double> x = Gaussians({positions, d}, stream);
    const std::vector<double> h0 = Gaussians({d}, stream).elements();
    const std::vector<double> last = Gaussians({d}, stream).elements();
    const Tensor<double> direction = Gaussians({positions, d}, stream);

    const Tensor<double> states = RecurrentStates(w, x, h0, f);
    const Tensor<double> gradient = RecurrentGradient(w, states, last, f);
    const Tensor<double> magnitude =
        RecurrentGradientMagnitude(w, states, last, f);
    const Tensor<Complex> ahead = RecurrentStates<Complex>(
        ToComplex(w), ComplexStep(x, direction), {h0.begin(), h0.end()}, f);
    double expected = 0;
    for (int64_t i = 0; i < d; ++i) {
      expected += last[i] * Derivative(ahead(positions - 1, i));
    }
    double found = 0;
    double size = 0;
    for (int64_t i = 0; i < x.size(); ++i) {
      found += gradient[i] * direction[i];
      size += magnitude[i] * std::abs(direction[i]);
      EXPECT_LE(std::abs(gradient[i]), magnitude[i] * (1 + 1e-14));
    }
    const double units = static_cast<double>(positions * (3 * d + 14));
    EXPECT_NEAR(found, expected, units * 0x1p-53 * size);
  }
}

TEST(SelfAttention, AgreesWithTheReference) {
  RandomStream stream(/*seed=*/22, "self-attention test");
  for (int c = 0; c < 1000; ++c) {
    SCOPED_TRACE(testing::Message() << "seed 22, case " << c);
    const int64_t positions = 1 + stream.UniformInt(6);
    const int64_t d = 1 + stream.UniformInt(4);
    const int64_t dv = 1 + stream.UniformInt(4);
    const Tensor<double> q = Gaussians({1, 1, positions, d}, stream);
    const Tensor<double> k = Gaussians({1, 1, positions, d}, stream);
    const Tensor<double> v = Gaussians({1, 1, positions, dv}, stream);
    AttentionInputs<double> inputs;
    inputs.query = q.view();
    inputs.key = k.view();
    inputs.value = v.view();
    const Tensor<double> expected =
        reference::AttentionForward(inputs, {}).value().output;
    const Tensor<double> found =
        SelfAttention<double>(Tensor<double>({positions, d}, q.elements()),
                              Tensor<double>({positions, d}, k.elements()),
                              Tensor<double>({positions, dv}, v.elements()));
    // Values below 5, weights that sum to 1: a few units in the last place.
    for (int64_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], 1e-14);
    }
  }
}

TEST(Convolution, ByHand) {
  // Taps 10 (now), 1 (one before), on inputs 1, 2, 3.
  const Tensor<double> kernel({2, 1, 1}, {10, 1});
  const Tensor<double> y =
      Convolution(Tensor<double>({3, 1}, {1, 2, 3}), kernel);
  EXPECT_EQ(y.elements(), (std::vector<double>{10, 21, 32}));
  // A tap is a matrix: x W.
  const Tensor<double> turn({1, 2, 2}, {0, 1, 2, 0});
  EXPECT_EQ(Convolution(Tensor<double>({1, 2}, {3, 5}), turn).elements(),
            (std::vector<double>{10, 3}));
}

// The code above, run on numbers that count, against the formulas of
// attention/cost.h on drawn shapes.
TEST(Layers, CountsAreThoseOfTheCostTable) {
  RandomStream stream(/*seed=*/23, "layer count test");
  for (int c = 0; c < 1000; ++c) {
    const int64_t positions = 1 + stream.UniformInt(7);
    const int64_t d = 1 + stream.UniformInt(5);
    const int64_t k = 1 + stream.UniformInt(4);
    SCOPED_TRACE(testing::Message() << "seed 23, case " << c
                                    << ": T = " << positions << ", d = " << d);
    const LayerShape shape = {.positions = positions, .width = d, .kernel = k};
    const Tensor<double> square = Gaussians({d, d}, stream);
    const Tensor<double> x = Gaussians({positions, d}, stream);

    Trace recurrent;
    const Tensor<Traced> states = RecurrentStates<Traced>(
        TracedTensor(square, &recurrent), TracedTensor(x, &recurrent, 0),
        std::vector<Traced>(d), Nonlinearity::kTanh);
    const LayerCost recurrent_cost =
        CountLayer(LayerKind::kRecurrent, shape).value();
    EXPECT_EQ(recurrent.multiplications, recurrent_cost.table_operations);
    EXPECT_EQ(recurrent.elementary, positions * d);
    EXPECT_EQ(states(positions - 1, d - 1).updates(),
              recurrent_cost.sequential_steps);

    // Scores and the weighted sum take T^2 d each, the scale and the division
    // T^2 each.
    Trace attention;
    const Tensor<Traced> traced = TracedTensor(x, &attention, 0);
    const Tensor<Traced> outputs = SelfAttention(traced, traced, traced);
    const LayerCost attention_cost =
        CountLayer(LayerKind::kSelfAttention, shape).value();
    EXPECT_EQ(attention.multiplications,
              2 * attention_cost.table_operations + 2 * positions * positions);
    EXPECT_EQ(attention.elementary, positions * positions);
    EXPECT_EQ(outputs(positions - 1, 0).updates(),
              attention_cost.sequential_steps);

    Trace convolution;
    const Tensor<Traced> convolved =
        Convolution(TracedTensor(x, &convolution, 0),
                    TracedTensor(Gaussians({k, d, d}, stream), &convolution));
    const LayerCost convolution_cost =
        CountLayer(LayerKind::kConvolution, shape).value();
    EXPECT_EQ(convolution.multiplications, convolution_cost.table_operations);
    EXPECT_EQ(convolved(positions - 1, 0).updates(),
              convolution_cost.sequential_steps);

    Trace projection;
    const Tensor<Traced> projected = Project(TracedTensor(x, &projection, 0),
                                             TracedTensor(square, &projection));
    EXPECT_EQ(projection.multiplications, positions * d * d);
    EXPECT_EQ(projected(0, 0).updates(), 0);
  }
}

}  // namespace
}  // namespace softlookup
