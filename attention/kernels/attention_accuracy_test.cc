// How far the float32 kernels may be from the exact result, on inputs of every
// kind: the bound that attention_kernels.h states, against the reference in
// float64 on the same (float32) numbers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/attention.h"
#include "attention/kernels/attention_kernels.h"
#include "attention/kernels/kernel_test_util.h"
#include "attention/mask.h"
#include "attention/reference/attention_reference.h"
#include "attention/testing/random_attention.h"
#include "base/random/random.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kEps = 0x1p-24;
// What attention_kernels.h states.
constexpr double kMultiple = 8;

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
    if (ours[i] == exact[i]) continue;  // also -inf
    const double error = std::abs(ours[i] - exact[i]);
    // A NaN is an error of any size.
    if (!(error <= largest)) largest = error;
  }
  return largest;
}

// The largest share of the stated bound that any error of this case is.
double ShareOfBound(AttentionCase<double> wide) {
  wide.options.weights = false;
  wide.options.fully_masked = FullyMasked::kZero;
  const AttentionCase<float> narrow = kernels::RoundToFloat(wide);
  const auto ours =
      kernels::AttentionForward(narrow.inputs(), narrow.options, {}).value();
  const auto our_gradients =
      kernels::AttentionBackward(narrow.inputs(), narrow.options, ours,
                                 narrow.output_gradient.view(), {})
          .value();
  const auto exact =
      reference::AttentionForward(wide.inputs(), wide.options).value();
  const auto exact_gradients =
      reference::AttentionBackward(wide.inputs(), wide.options,
                                   wide.output_gradient.view())
          .value();

  const AttentionSizes& sizes = wide.sizes;
  const double scale = std::abs(AttentionScale(wide.options, sizes.width));
  double largest_score = 0;   // S of the header
  double largest_d_prob = 0;  // G
  std::optional<StridedView<const double>> bias;
  if (wide.bias.has_value()) {
    bias = std::as_const(*wide.bias)
               .view()
               .BroadcastTo(sizes.ScoreShape())
               .value();
  }
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.query_heads; ++h) {
      for (int64_t i = 0; i < sizes.queries; ++i) {
        for (int64_t j = 0; j < sizes.keys; ++j) {
          if (!wide.Visible(b, h, i, j)) continue;
          double score = bias.has_value() ? std::abs((*bias)(b, h, i, j)) : 0;
          double d_prob = 0;
          for (int64_t k = 0; k < sizes.width; ++k) {
            score += std::abs(wide.query(b, h, i, k) *
                              wide.key(b, sizes.KeyHead(h), j, k)) *
                     scale;
          }
          for (int64_t k = 0; k < sizes.value_width; ++k) {
            d_prob += std::abs(wide.output_gradient(b, h, i, k) *
                               wide.value(b, sizes.KeyHead(h), j, k));
          }
          largest_score = std::max(largest_score, score);
          largest_d_prob = std::max(largest_d_prob, d_prob);
        }
      }
    }
  }
  const double e = kMultiple * kEps * (1 + largest_score);
  // The queries whose parts a key's gradient is the sum of.
  const double rows =
      static_cast<double>(sizes.queries * sizes.query_heads / sizes.key_heads);
  double share = 0;
  const auto expect = [&](const char* name, const Tensor<float>& x,
                          const Tensor<double>& y, double bound) {
    const double error = LargestError(x, y);
    EXPECT_LE(error, bound + rows * 0x1p-149) << name;
    if (bound > 1e-30) share = std::max(share, error / bound);
  };
  expect("output", ours.output, exact.output, e * Largest(wide.value));
  expect("log_sum_exp", ours.log_sum_exp, exact.log_sum_exp, e);
  expect("value", our_gradients.value, exact_gradients.value,
         e * rows * Largest(wide.output_gradient));
  expect("query", our_gradients.query, exact_gradients.query,
         e * scale * largest_d_prob * Largest(wide.key));
  expect("key", our_gradients.key, exact_gradients.key,
         e * scale * rows * largest_d_prob * Largest(wide.query));
  if (exact_gradients.bias.has_value()) {
    // Each element of the bias is shared by so many pairs.
    const double shared =
        static_cast<double>(sizes.batch * sizes.query_heads * sizes.queries *
                            sizes.keys / exact_gradients.bias->size());
    expect("bias", *our_gradients.bias, *exact_gradients.bias,
           e * shared * largest_d_prob);
  }
  return share;
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

TEST(AttentionAccuracy, InputsOfEveryKind) {
  RandomStream stream(1, "attention_accuracy_test");
  double worst = 0;
  for (const Kind& kind : Kinds()) {
    for (const int64_t positions : {5, 70, 200}) {
      for (const bool causal : {false, true}) {
        SCOPED_TRACE(absl::StrCat(kind.name, ", T = ", positions,
                                  causal ? ", causal" : ""));
        AttentionCase<double> drawn;
        drawn.sizes = {.batch = 1,
                       .query_heads = 2,
                       .key_heads = 2,
                       .queries = positions,
                       .keys = positions,
                       .width = 40,
                       .value_width = 40};
        const auto make = [&](const auto& factor) {
          Tensor<double> tensor({1, 2, positions, 40});
          for (int64_t i = 0; i < tensor.size(); ++i) {
            tensor[i] = stream.Gaussian() * factor(stream);
          }
          return tensor;
        };
        drawn.query = make(kind.query);
        drawn.key = make(kind.key);
        drawn.value = make(kind.value);
        drawn.output_gradient = make(kind.gradient);
        if (causal) drawn.causal = CausalAlignment::kTopLeft;
        worst = std::max(worst, ShareOfBound(std::move(drawn)));
      }
    }
  }
  // A bound that no error comes near says little.
  EXPECT_GT(worst, 0.25);
}

// Masks, biases and groups, over several tiles, key blocks and ranges: few
// heads and more than 512 keys make three ranges and more.
TEST(AttentionAccuracy, DrawnCasesOfManyTiles) {
  RandomStream stream(2, "attention_accuracy_test");
  int long_cases = 0;
  for (int n = 0; n < 40; ++n) {
    AttentionCase<double> drawn = DrawAttentionCase(stream, {.batch = 1,
                                                             .key_heads = 2,
                                                             .group = 2,
                                                             .positions = 900,
                                                             .width = 12});
    SCOPED_TRACE(absl::StrCat("case ", n, ": ", Describe(drawn)));
    if (drawn.sizes.keys > 512) ++long_cases;
    ShareOfBound(std::move(drawn));
    if (HasFailure()) return;
  }
  EXPECT_GT(long_cases, 10);
}

}  // namespace
}  // namespace softlookup
