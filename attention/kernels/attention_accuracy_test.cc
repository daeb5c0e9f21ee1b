// How far the float32 kernels may be from the exact result, on inputs of every
// kind: the bound that attention_kernels.h states, against the reference in
// float64 on the same (float32) numbers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/attention.h"
#include "attention/kernels/attention_kernels.h"
#include "attention/mask.h"
#include "attention/reference/attention_reference.h"
#include "base/random.h"
#include "base/shape.h"
#include "base/tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kEps = 0x1p-24;
// What attention_kernels.h states.
constexpr double kMultiple = 8;

// The same numbers in both precisions.
struct Both {
  Tensor<float> narrow;
  Tensor<double> wide;
};

Both Make(const Shape& shape, const std::function<double()>& draw) {
  Both both = {Tensor<float>(shape), Tensor<double>(shape)};
  for (int64_t i = 0; i < both.narrow.size(); ++i) {
    both.narrow[i] = static_cast<float>(draw());
    both.wide[i] = both.narrow[i];
  }
  return both;
}

double Largest(const Tensor<double>& tensor) {
  double largest = 0;
  for (const double x : tensor.elements()) {
    largest = std::max(largest, std::abs(x));
  }
  return largest;
}

double LargestError(const Tensor<float>& ours, const Tensor<double>& exact) {
  double largest = 0;
  for (int64_t i = 0; i < ours.size(); ++i) {
    const double error = std::abs(ours[i] - exact[i]);
    // A NaN is an error of any size.
    if (!(error <= largest)) largest = error;
  }
  return largest;
}

struct Kind {
  std::string name;
  // Factors of standard normal numbers; drawn anew for every element.
  std::function<double(RandomStream&)> query, key, value, gradient;
};

std::vector<Kind> Kinds() {
  const auto fixed = [](double factor) {
    return [factor](RandomStream&) { return factor; };
  };
  const auto powers = [](int range) {
    return [range](RandomStream& stream) {
      return std::pow(
          2.0, static_cast<int>(stream.UniformInt(2 * range + 1)) - range);
    };
  };
  return {
      {"random", fixed(1), fixed(1), fixed(1), fixed(1)},
      // Scores of standard deviation 36: up to about 150.
      {"large logits", fixed(6), fixed(6), fixed(1), fixed(1)},
      {"tiny", fixed(1e-6), fixed(1e-6), fixed(1e-6), fixed(1e-6)},
      {"mixed magnitudes", powers(3), powers(3), powers(20), powers(20)},
      {"denormal values", fixed(1), fixed(1), fixed(1e-41), fixed(1)},
      {"denormal queries", fixed(1e-40), fixed(1), fixed(1), fixed(1)},
  };
}

// How much rounding can do to a case.
struct Condition {
  double score;   // max over pairs of the sum of |q_k k_k scale|
  double d_prob;  // max of the sum of |dO_k V_k|
};

TEST(AttentionAccuracy, ErrorIsWithinTheStatedBound) {
  RandomStream stream(1, "attention_accuracy_test");
  double worst = 0;  // share of the bound
  for (const Kind& kind : Kinds()) {
    for (const int64_t positions : {5, 70, 200}) {
      for (const bool causal : {false, true}) {
        SCOPED_TRACE(absl::StrCat(kind.name, ", T = ", positions,
                                  causal ? ", causal" : ""));
        constexpr int64_t kWidth = 40;
        const Shape shape = {1, 2, positions, kWidth};
        const auto make = [&](const auto& factor) {
          return Make(shape,
                      [&] { return stream.Gaussian() * factor(stream); });
        };
        const Both query = make(kind.query);
        const Both key = make(kind.key);
        const Both value = make(kind.value);
        const Both gradient = make(kind.gradient);
        AttentionInputs<float> narrow;
        narrow.query = query.narrow.view();
        narrow.key = key.narrow.view();
        narrow.value = value.narrow.view();
        AttentionInputs<double> wide;
        wide.query = query.wide.view();
        wide.key = key.wide.view();
        wide.value = value.wide.view();
        if (causal) {
          narrow.mask.causal = wide.mask.causal = CausalAlignment::kTopLeft;
        }
        const auto ours = kernels::AttentionForward(narrow, {}, {}).value();
        const auto exact = reference::AttentionForward(wide, {}).value();
        const auto our_gradients =
            kernels::AttentionBackward(narrow, {}, ours, gradient.narrow.view(),
                                       {})
                .value();
        const auto exact_gradients =
            reference::AttentionBackward(wide, {}, gradient.wide.view())
                .value();

        const double scale = 1 / std::sqrt(static_cast<double>(kWidth));
        Condition condition = {0, 0};
        for (int64_t h = 0; h < 2; ++h) {
          for (int64_t i = 0; i < positions; ++i) {
            for (int64_t j = 0; j < positions; ++j) {
              double score = 0;
              double d_prob = 0;
              for (int64_t k = 0; k < kWidth; ++k) {
                score +=
                    std::abs(query.wide(0, h, i, k) * key.wide(0, h, j, k)) *
                    scale;
                d_prob += std::abs(gradient.wide(0, h, i, k) *
                                   value.wide(0, h, j, k));
              }
              condition.score = std::max(condition.score, score);
              condition.d_prob = std::max(condition.d_prob, d_prob);
            }
          }
        }
        const double eps = kMultiple * kEps * (1 + condition.score);
        const double rows = static_cast<double>(positions);
        const auto expect = [&](const char* name, const Tensor<float>& x,
                                const Tensor<double>& y, double bound) {
          const double error = LargestError(x, y);
          EXPECT_LE(error, bound + rows * 0x1p-149) << name;
          // Where results are so small that they are multiples of the
          // smallest float, the bound is mostly that.
          if (kind.name != "denormal values") {
            worst = std::max(worst, error / bound);
          }
        };
        expect("output", ours.output, exact.output, eps * Largest(value.wide));
        expect("log_sum_exp", ours.log_sum_exp, exact.log_sum_exp, eps);
        expect("value", our_gradients.value, exact_gradients.value,
               eps * rows * Largest(gradient.wide));
        expect("query", our_gradients.query, exact_gradients.query,
               eps * scale * condition.d_prob * Largest(key.wide));
        expect("key", our_gradients.key, exact_gradients.key,
               eps * scale * rows * condition.d_prob * Largest(query.wide));
      }
    }
  }
  // A bound that no error comes near says little.
  EXPECT_GT(worst, 0.25);
}

}  // namespace
}  // namespace softlookup
