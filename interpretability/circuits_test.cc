#include "interpretability/circuits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/random/random.h"
#include "base/tensor/shape.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double
using Elements = std::vector<double>;

MultiHeadWeights<double> ByHand() {
  // d = 2; two query heads of width 1 share one key and value head.
  MultiHeadWeights<double> weights;
  weights.heads = 2;
  weights.key_heads = 1;
  weights.query = Tensor<double>({2, 2}, {1, 2, 3, 4});
  weights.key = Tensor<double>({2, 1}, {5, 6});
  weights.value = Tensor<double>({2, 1}, {7, 8});
  weights.output = Tensor<double>({2, 2}, {1, 0, -1, 2});
  return weights;
}

TEST(Circuits, ByHand) {
  const MultiHeadWeights<double> weights = ByHand();
  // Outer products of the heads' columns and rows.
  EXPECT_EQ(QkCircuit(weights, 0).elements(), (Elements{5, 6, 15, 18}));
  EXPECT_EQ(QkCircuit(weights, 1).elements(), (Elements{10, 12, 20, 24}));
  EXPECT_EQ(OvCircuit(weights, 0).elements(), (Elements{7, 0, 8, 0}));
  EXPECT_EQ(OvCircuit(weights, 1).elements(), (Elements{-7, 14, -8, 16}));
}

TEST(CircuitsDeathTest, HeadMustExist) {
  const MultiHeadWeights<double> weights = ByHand();
  EXPECT_DEATH(QkCircuit(weights, 2), "one of the heads");
  EXPECT_DEATH(OvCircuit(weights, -1), "one of the heads");
}

TEST(AnalyzeCircuit, OfRankOne) {
  // (1, 3)^T (5, 6): singular value sqrt(10 * 61), eigenvalue 5 + 18.
  const CircuitSpectrum spectrum =
      AnalyzeCircuit(QkCircuit(ByHand(), 0)).value();
  ASSERT_EQ(spectrum.singular_values.size(), 2u);
  ASSERT_EQ(spectrum.eigenvalues.size(), 2u);
  const double sigma = std::sqrt(610.0);
  EXPECT_NEAR(spectrum.singular_values[0], sigma, 16 * sigma * kUnit);
  EXPECT_NEAR(spectrum.singular_values[1], 0, 16 * sigma * kUnit);
  EXPECT_NEAR(std::abs(spectrum.eigenvalues[0] - 23.0), 0, 16 * sigma * kUnit);
  EXPECT_NEAR(std::abs(spectrum.eigenvalues[1]), 0, 16 * sigma * kUnit);
  EXPECT_EQ(spectrum.rank, 1);
  EXPECT_EQ(spectrum.tolerance, 2 * 0x1p-52 * spectrum.singular_values[0]);
}

TEST(AnalyzeCircuit, ToleranceIsSelectable) {
  const Tensor<double> diagonal({3, 3}, {4, 0, 0, 0, 2, 0, 0, 0, 1});
  EXPECT_EQ(AnalyzeCircuit(diagonal)->rank, 3);
  const CircuitSpectrum spectrum = AnalyzeCircuit(diagonal, 1.5).value();
  EXPECT_EQ(spectrum.tolerance, 1.5);
  EXPECT_EQ(spectrum.rank, 2);
  EXPECT_EQ(AnalyzeCircuit(diagonal, 0.0)->rank, 3);
}

void ExpectError(const absl::Status& status, const std::string& message) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), message);
}

TEST(AnalyzeCircuit, NamesWhatIsWrong) {
  const Tensor<double> one({1, 1}, {1});
  const std::string allowed = "; allowed: a finite number of at least 0";
  ExpectError(AnalyzeCircuit(one, -0.5).status(),
              "tolerance is -0.5" + allowed);
  ExpectError(AnalyzeCircuit(one, INFINITY).status(),
              "tolerance is inf" + allowed);
  ExpectError(
      AnalyzeCircuit(one, std::numeric_limits<double>::quiet_NaN()).status(),
      "tolerance is nan" + allowed);
  ExpectError(AnalyzeCircuit(Tensor<double>({2, 3})).status(),
              "matrix has shape [2, 3]; allowed: a square matrix");
  ExpectError(AnalyzeCircuit(Tensor<double>({1, 1}, {NAN})).status(),
              "matrix[0, 0] is nan; allowed: finite numbers");
}

// Scores and writes of a whole layer, read off the circuits: the score of
// (t, s) is x_t QK x_s^T scale, and the write at t is sum_s P_ts x_s OV.
TEST(Circuits, ReproduceTheLayerOnDrawnCases) {
  constexpr uint64_t kSeed = 61;
  RandomStream stream(kSeed, "circuits_test");
  const auto draw = [&stream](uint32_t limit) -> int64_t {
    return 1 + stream.UniformInt(limit);
  };
  const auto gaussians = [&stream](Shape shape) {
    Tensor<double> tensor(std::move(shape));
    stream.FillGaussian(absl::MakeSpan(tensor.elements()));
    return tensor;
  };
  const auto norm = [](const Tensor<double>& tensor) {
    double sum = 0;
    for (const double element : tensor.elements()) sum += element * element;
    return std::sqrt(sum);
  };
  for (int n = 0; n < 1000; ++n) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", case " << n);
    const int64_t d = draw(5), width = draw(3), positions = draw(4);
    MultiHeadWeights<double> weights;
    weights.key_heads = draw(2);
    weights.heads = weights.key_heads * draw(2);
    weights.query = gaussians({d, weights.heads * width});
    weights.key = gaussians({d, weights.key_heads * width});
    weights.value = gaussians({d, weights.key_heads * width});
    weights.output = gaussians({weights.heads * width, d});
    const Tensor<double> x = gaussians({1, positions, d});
    MultiHeadOptions options;
    options.attention.weights = true;
    options.attention.scale = 0.5;
    const auto outputs = MultiHeadForward(x.view(), weights, options).value();
    const Tensor<double> writes = HeadWrites(outputs.heads.view(), weights);
    const auto head = static_cast<int64_t>(
        stream.UniformInt(static_cast<uint32_t>(weights.heads)));
    const Tensor<double> qk = QkCircuit(weights, head);
    const Tensor<double> ov = OvCircuit(weights, head);
    // Sums of absolute terms are at most products of norms; the longest chain
    // of sums has 2 d + 2 width + positions terms, a few more for softmax.
    const double roundings =
        static_cast<double>(2 * (2 * d + 2 * width + positions) + 20);
    const double x_norm = norm(x);
    const double score_size =
        x_norm * x_norm * norm(weights.query) * norm(weights.key);
    const double score_error = roundings * kUnit * score_size;
    const double write_error = roundings * kUnit *
                               static_cast<double>(positions) * x_norm *
                               norm(weights.value) * norm(weights.output);
    for (int64_t t = 0; t < positions; ++t) {
      // Differences of log-weights are differences of scores.
      Elements scores(positions);
      Elements write(d);
      for (int64_t s = 0; s < positions; ++s) {
        const double weight = (*outputs.weights)(0, head, t, s);
        for (int64_t a = 0; a < d; ++a) {
          for (int64_t c = 0; c < d; ++c) {
            scores[s] += 0.5 * x(0, t, a) * qk(a, c) * x(0, s, c);
            write[c] += weight * x(0, s, a) * ov(a, c);
          }
        }
      }
      for (int64_t s = 0; s < positions; ++s) {
        // p_s / p_0 = exp(score_s - score_0), compared as a product so that
        // weights that underflow compare too.
        const double p_s = (*outputs.weights)(0, head, t, s);
        const double p_0 = (*outputs.weights)(0, head, t, 0);
        const double difference = scores[s] - scores[0];
        if (difference <= 0) {
          ASSERT_NEAR(p_s, p_0 * std::exp(difference),
                      4 * score_error + 8 * kUnit);
        } else {
          ASSERT_NEAR(p_0, p_s * std::exp(-difference),
                      4 * score_error + 8 * kUnit);
        }
      }
      for (int64_t c = 0; c < d; ++c) {
        ASSERT_NEAR(writes(0, head, t, c), write[c], write_error);
      }
    }
    // The rank is at most the width, for either circuit.
    ASSERT_LE(AnalyzeCircuit(qk)->rank, std::min(d, width));
    ASSERT_LE(AnalyzeCircuit(ov)->rank, std::min(d, width));
  }
}

}  // namespace
}  // namespace softlookup
