// The bounds hold for attention that rounds where cuDNN does, and not for one
// that is wrong or that does not round.
#include "attention/cudnn/check/parity_bounds.h"

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention/cudnn/half_tensor.h"
#include "base/random/random.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

struct Case {
  Tensor<float> query;
  Tensor<float> key;
  Tensor<float> value;
  Tensor<float> gradient;
  AttentionMask mask;
  AttentionInputs<float> inputs() const {
    return {query.view(), key.view(), value.view(), std::nullopt, mask};
  }
};

Tensor<float> Draw(RandomStream& stream, const Shape& shape, Dtype element) {
  Tensor<float> tensor(shape);
  for (float& value : tensor.elements()) {
    value = HalfToFloat(
        FloatToHalf(static_cast<float>(stream.Gaussian()), element), element);
  }
  return tensor;
}

Case DrawCase(Dtype element) {
  RandomStream stream(1, "parity_test");
  Case drawn;
  drawn.query = Draw(stream, {2, 4, 33, 16}, element);
  drawn.key = Draw(stream, {2, 2, 40, 16}, element);
  drawn.value = Draw(stream, {2, 2, 40, 8}, element);
  drawn.gradient = Draw(stream, {2, 4, 33, 8}, element);
  drawn.mask.causal = CausalAlignment::kTopLeft;
  return drawn;
}

struct Results {
  Tensor<float> output{Shape{2, 4, 33, 8}};
  Tensor<float> log_sum_exp{Shape{2, 4, 33}};
  Tensor<float> query{Shape{2, 4, 33, 16}};
  Tensor<float> key{Shape{2, 2, 40, 16}};
  Tensor<float> value{Shape{2, 2, 40, 8}};
};

// Attention row by row in double, but with `round` wherever cuDNN rounds.
Results Emulate(const Case& drawn, double scale,
                const std::function<double(double)>& round) {
  Results results;
  Tensor<double> key_gradient({2, 2, 40, 16});
  Tensor<double> value_gradient({2, 2, 40, 8});
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t h = 0; h < 4; ++h) {
      const int64_t hk = h / 2;
      Tensor<double> head_key({40, 16});
      Tensor<double> head_value({40, 8});
      for (int64_t i = 0; i < 33; ++i) {
        std::vector<double> p(40);
        double total = 0;
        for (int64_t j = 0; j <= i; ++j) {
          double score = 0;
          for (int64_t k = 0; k < 16; ++k) {
            score += drawn.query(b, h, i, k) * drawn.key(b, hk, j, k);
          }
          p[j] = std::exp(score * scale);
          total += p[j];
        }
        results.log_sum_exp(b, h, i) = static_cast<float>(std::log(total));
        double delta = 0;
        for (int64_t k = 0; k < 8; ++k) {
          double sum = 0;
          for (int64_t j = 0; j <= i; ++j) {
            sum += round(p[j] / total) * drawn.value(b, hk, j, k);
          }
          results.output(b, h, i, k) = static_cast<float>(round(sum));
          delta += drawn.gradient(b, h, i, k) * results.output(b, h, i, k);
        }
        std::vector<double> query(16);
        for (int64_t j = 0; j <= i; ++j) {
          double dp = 0;
          for (int64_t k = 0; k < 8; ++k) {
            dp += drawn.gradient(b, h, i, k) * drawn.value(b, hk, j, k);
            head_value(j, k) +=
                round(p[j] / total) * drawn.gradient(b, h, i, k);
          }
          const double ds = round(p[j] / total * (dp - delta));
          for (int64_t k = 0; k < 16; ++k) {
            query[k] += scale * ds * drawn.key(b, hk, j, k);
            head_key(j, k) += scale * ds * drawn.query(b, h, i, k);
          }
        }
        for (int64_t k = 0; k < 16; ++k) {
          results.query(b, h, i, k) = static_cast<float>(round(query[k]));
        }
      }
      for (int64_t j = 0; j < 40; ++j) {
        for (int64_t k = 0; k < 16; ++k) {
          key_gradient(b, hk, j, k) += round(head_key(j, k));
        }
        for (int64_t k = 0; k < 8; ++k) {
          value_gradient(b, hk, j, k) += round(head_value(j, k));
        }
      }
    }
  }
  for (int64_t n = 0; n < key_gradient.size(); ++n) {
    results.key[n] = static_cast<float>(round(key_gradient[n]));
  }
  for (int64_t n = 0; n < value_gradient.size(); ++n) {
    results.value[n] = static_cast<float>(round(value_gradient[n]));
  }
  return results;
}

std::vector<std::pair<std::string, ParityReport>> Reports(
    const Case& drawn, double scale, const Results& results, Dtype element) {
  const auto exact = ComputeExactAttention(drawn.inputs(), scale,
                                           drawn.gradient.view(), element);
  EXPECT_TRUE(exact.ok()) << exact.status();
  return {
      {"output", Compare(results.output, exact->at("output"), element)},
      {"query", Compare(results.query, exact->at("query_gradient"), element)},
      {"key", Compare(results.key, exact->at("key_gradient"), element)},
      {"value", Compare(results.value, exact->at("value_gradient"), element)},
      {"log_sum_exp",
       Compare(results.log_sum_exp, exact->at("log_sum_exp"), element)}};
}

TEST(ParityTest, HoldsForWhatRoundsAsCudnnDoes) {
  for (const Dtype element : {Dtype::kBF16, Dtype::kF16}) {
    const Case drawn = DrawCase(element);
    const Results results = Emulate(drawn, 0.25, [element](double value) {
      return HalfToFloat(FloatToHalf(static_cast<float>(value), element),
                         element);
    });
    for (const auto& [name, report] : Reports(drawn, 0.25, results, element)) {
      EXPECT_LE(report.worst, 1) << name << report.where;
      if (name == "log_sum_exp") continue;
      // Not so wide that half of it would do for any error.
      EXPECT_GE(report.worst, 0.02) << name;
      EXPECT_GE(report.relative, kLeastRelative) << name;
    }
  }
}

TEST(ParityTest, SeesAWrongScale) {
  const Case drawn = DrawCase(Dtype::kBF16);
  const Results results = Emulate(drawn, 0.27, [](double value) {
    return HalfToFloat(FloatToHalf(static_cast<float>(value), Dtype::kBF16),
                       Dtype::kBF16);
  });
  for (const auto& [name, report] :
       Reports(drawn, 0.25, results, Dtype::kBF16)) {
    EXPECT_GT(report.worst, 1) << name;
  }
}

TEST(ParityTest, SeesThatNothingWasRounded) {
  const Case drawn = DrawCase(Dtype::kBF16);
  const Results results =
      Emulate(drawn, 0.25, [](double value) { return value; });
  for (const auto& [name, report] :
       Reports(drawn, 0.25, results, Dtype::kBF16)) {
    EXPECT_LE(report.worst, 1) << name;
    EXPECT_LT(report.relative, kLeastRelative) << name;
  }
}

TEST(CompareTest, NonFiniteMustBeEqual) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();
  const Bounded exact = {Tensor<double>({2}, {-kInfinity, 1}),
                         Tensor<double>({2}, {0, 0.5})};
  EXPECT_LE(
      Compare(Tensor<float>({2}, {-kFloatInfinity, 1}), exact, Dtype::kBF16)
          .worst,
      0);
  EXPECT_EQ(Compare(Tensor<float>({2}, {0, 1}), exact, Dtype::kBF16).worst,
            kInfinity);
  const ParityReport nan = Compare(
      Tensor<float>({2}, {-kFloatInfinity, std::nanf("")}), exact, Dtype::kF16);
  EXPECT_EQ(nan.worst, kInfinity);
  EXPECT_EQ(nan.where.substr(0, 3), "[1]");
}

}  // namespace
}  // namespace softlookup::cudnn
