#include "attention/textbook/single_head.h"

#include <cmath>
#include <complex>

#include "absl/status/status.h"
#include "attention/mask.h"
#include "base/tensor/shape.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double

const Tensor<double>& Queries() {
  static const auto& queries = *new Tensor<double>({2, 1}, {1, -2});
  return queries;
}
const Tensor<double>& Keys() {
  static const auto& keys = *new Tensor<double>({3, 1}, {0, 1, 2});
  return keys;
}
const Tensor<double>& Values() {
  static const auto& values =
      *new Tensor<double>({3, 2}, {1, 10, 2, 20, 4, 40});
  return values;
}

TEST(SingleHead, ForwardInClosedForm) {
  const auto head =
      HeadForward(Queries(), Keys(), Values(), {.scale = std::log(2.0)})
          .value();
  // Query 1: exponentials 1, 2, 4; query 2: 1, 1/4, 1/16.
  ASSERT_EQ(head.weights.shape(), (Shape{2, 3}));
  ASSERT_EQ(head.output.shape(), (Shape{2, 2}));
  const double weights[] = {1.0 / 7,   2.0 / 7,  4.0 / 7,
                            16.0 / 21, 4.0 / 21, 1.0 / 21};
  // log 2 rounded, times scores up to 4, then a dozen roundings below 1.
  for (int n = 0; n < 6; ++n) {
    EXPECT_NEAR(head.weights[n], weights[n], 16 * kUnit);
  }
  EXPECT_NEAR(head.output(0, 1), 210.0 / 7, 64 * 16 * kUnit);
  EXPECT_NEAR(head.output(1, 0), 28.0 / 21, 64 * 16 * kUnit);
  ASSERT_EQ(head.log_sum_exp.size(), 2u);
  EXPECT_NEAR(head.log_sum_exp[0], std::log(7.0), 16 * kUnit);
}

TEST(SingleHead, CausalMaskAndDefaultScale) {
  const auto head = HeadForward(Queries(), Keys(), Values(),
                                {.causal = CausalAlignment::kTopLeft})
                        .value();
  EXPECT_EQ(head.weights(0, 0), 1.0);
  EXPECT_EQ(head.weights(0, 1), 0.0);
  EXPECT_EQ(head.weights(1, 2), 0.0);
  // Width 1: the scale is 1, so the odds of row 2 are exp(-2 (1 - 0)).
  EXPECT_NEAR(head.weights(1, 1) / head.weights(1, 0), std::exp(-2.0),
              4 * kUnit);
}

TEST(SingleHead, BackwardInClosedForm) {
  // L is component 1 of the first output; p = (1, 2, 4) / 7, its g are the
  // values 1, 2, 4 with mean 3, so dS = p (g - 3) = (-2, -2, 4) / 7.
  const HeadOptions options = {.scale = std::log(2.0)};
  const Tensor<double> d_output({2, 2}, {1, 0, 0, 0});
  const HeadGradients gradients =
      HeadBackward(Queries(), Keys(), Values(), options, d_output).value();
  const double d_scores[] = {-2.0 / 7, -2.0 / 7, 4.0 / 7, 0, 0, 0};
  ASSERT_EQ(gradients.scores.shape(), (Shape{2, 3}));
  for (int n = 0; n < 6; ++n) {
    EXPECT_NEAR(gradients.scores[n], d_scores[n], 32 * kUnit);
  }
  // dq = sum_j dS_j k_j log 2, dk_j = dS_j q log 2, dv_j = p_j (1, 0).
  EXPECT_NEAR(gradients.query(0, 0), 6.0 / 7 * std::log(2.0), 32 * kUnit);
  EXPECT_EQ(gradients.query(1, 0), 0.0);
  ASSERT_EQ(gradients.key.shape(), (Shape{3, 1}));
  EXPECT_NEAR(gradients.key(2, 0), 4.0 / 7 * std::log(2.0), 32 * kUnit);
  ASSERT_EQ(gradients.value.shape(), (Shape{3, 2}));
  EXPECT_NEAR(gradients.value(1, 0), 2.0 / 7, 16 * kUnit);
  EXPECT_EQ(gradients.value(1, 1), 0.0);
  // The mask applies to the way back as well.
  const HeadGradients causal =
      HeadBackward(Queries(), Keys(), Values(),
                   {.causal = CausalAlignment::kTopLeft}, d_output)
          .value();
  EXPECT_EQ(causal.value(0, 0), 1.0);
  EXPECT_EQ(causal.value(1, 0), 0.0);
}

TEST(SingleHead, ComplexStepAgreesWithBackward) {
  using Complex = std::complex<double>;
  constexpr double kStep = 1e-50;
  const HeadOptions options = {.scale = std::log(2.0)};
  const Tensor<Complex> keys({3, 1}, {0.0, 1.0, Complex(2, kStep)});
  Tensor<Complex> queries({2, 1}, {1.0, -2.0});
  Tensor<Complex> values({3, 2}, {1.0, 10.0, 2.0, 20.0, 4.0, 40.0});
  const auto head = HeadForward(queries, keys, values, options).value();
  EXPECT_NEAR(head.output(0, 0).imag() / kStep, 4.0 / 7 * std::log(2.0),
              32 * kUnit);
}

TEST(SingleHead, BadShapesAreReported) {
  const auto outputs =
      HeadForward(Queries(), Tensor<double>({3, 2}), Values(), {});
  EXPECT_EQ(outputs.status().code(), absl::StatusCode::kInvalidArgument);
  const auto gradients =
      HeadBackward(Queries(), Keys(), Values(), {}, Tensor<double>({3, 2}));
  EXPECT_EQ(gradients.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace softlookup
