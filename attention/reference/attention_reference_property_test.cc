// Properties of the forward pass over drawn problems, and agreement with a
// second method in extended precision.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.h"
#include "attention/mask.h"
#include "attention/reference/attention_reference.h"
#include "attention/testing/random_attention.h"
#include "base/random/random.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup::reference {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int kCases = 1000;

AttentionOutputs<double> Forward(const AttentionCase<double>& drawn) {
  AttentionOptions options = drawn.options;
  options.weights = true;
  return AttentionForward(drawn.inputs(), options).value();
}

// One row, by another route: extended precision, straight loops, and no
// maximum subtracted, since 80-bit exponentials reach e^11356.
struct Row {
  std::vector<int64_t> visible;
  std::vector<long double> weights;  // per visible key
  std::vector<long double> output;   // [Dv]
  long double log_sum_exp = -std::numeric_limits<long double>::infinity();
  // How far the double computation may lie from it: a relative bound for each
  // weight, and an absolute one for each score.
  double weight_error = 0;
  double score_error = 0;
};

Row ExactRow(const AttentionCase<double>& drawn, int64_t b, int64_t h,
             int64_t i) {
  const AttentionSizes& sizes = drawn.sizes;
  const int64_t key_head = h * sizes.key_heads / sizes.query_heads;
  const long double scale =
      drawn.options.scale.has_value()
          ? static_cast<long double>(*drawn.options.scale)
          : 1 / std::sqrt(static_cast<long double>(sizes.width));
  Row row;
  row.output.assign(sizes.value_width, 0);
  std::vector<long double> scores;
  for (int64_t j = 0; j < sizes.keys; ++j) {
    if (!drawn.Visible(b, h, i, j)) continue;
    long double product = 0;
    long double size = 0;
    for (int64_t d = 0; d < sizes.width; ++d) {
      const long double term =
          static_cast<long double>(drawn.query(b, h, i, d)) *
          drawn.key(b, key_head, j, d);
      product += term;
      size += std::abs(term);
    }
    long double score = product * scale;
    double bias = 0;
    if (drawn.bias.has_value()) {
      bias = (*drawn.bias)(b % drawn.bias->dim(0), h % drawn.bias->dim(1),
                           i % drawn.bias->dim(2), j % drawn.bias->dim(3));
      score += bias;
    }
    row.visible.push_back(j);
    scores.push_back(score);
    // D products and D sums, the scale's square root and quotient, its
    // product and the bias's sum, each rounding by at most u.
    const double error = (static_cast<double>(sizes.width) + 4) * kUnit *
                             static_cast<double>(size * std::abs(scale)) +
                         kUnit * static_cast<double>(std::abs(score));
    row.score_error = std::max(row.score_error, error);
  }
  if (scores.empty()) return row;
  long double sum = 0;
  for (const long double score : scores) sum += std::exp(score);
  row.log_sum_exp = std::log(sum);
  const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
  // As in softmax_test.cc, and twice the scores' own error: once in the
  // numerator, once in the divisor.
  row.weight_error =
      1.01 * (2 * row.score_error + (2 * static_cast<double>(*high - *low) +
                                     static_cast<double>(scores.size()) + 6) *
                                        kUnit);
  for (size_t n = 0; n < scores.size(); ++n) {
    const long double weight = std::exp(scores[n]) / sum;
    row.weights.push_back(weight);
    for (int64_t c = 0; c < sizes.value_width; ++c) {
      row.output[c] += weight * drawn.value(b, key_head, row.visible[n], c);
    }
  }
  return row;
}

class ReferenceProperty : public testing::Test {
 protected:
  static constexpr uint64_t kSeed = 20240602;

  // Calls check(drawn) on many drawn problems, until one fails.
  template <typename Check>
  void ForDrawnCases(const Check& check) {
    for (int n = 0; n < kCases && !HasFailure(); ++n) {
      const AttentionCase<double> drawn = DrawAttentionCase(stream_);
      SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", case " << n
                                      << ": " << Describe(drawn));
      check(drawn);
    }
  }

  // Calls check(b, h, i) for every row.
  template <typename Check>
  static void ForRows(const AttentionSizes& sizes, const Check& check) {
    for (int64_t b = 0; b < sizes.batch; ++b) {
      for (int64_t h = 0; h < sizes.query_heads; ++h) {
        for (int64_t i = 0; i < sizes.queries; ++i) check(b, h, i);
      }
    }
  }

  RandomStream stream_{kSeed, "attention_reference_property_test"};
};

TEST_F(ReferenceProperty, MatchesExtendedPrecision) {
  ForDrawnCases([](const AttentionCase<double>& drawn) {
    const AttentionOutputs<double> outputs = Forward(drawn);
    ForRows(drawn.sizes, [&](int64_t b, int64_t h, int64_t i) {
      const Row row = ExactRow(drawn, b, h, i);
      const int64_t key_head = drawn.sizes.KeyHead(h);
      const double keys = static_cast<double>(row.visible.size());
      if (row.visible.empty()) {
        EXPECT_EQ(outputs.log_sum_exp(b, h, i), -kInf);
      } else {
        const double exact = static_cast<double>(row.log_sum_exp);
        EXPECT_NEAR(outputs.log_sum_exp(b, h, i), exact,
                    row.score_error + row.weight_error +
                        (std::abs(exact) + 2 * std::log(keys)) * kUnit);
      }
      for (int64_t c = 0; c < drawn.sizes.value_width; ++c) {
        double size = 0;
        for (size_t n = 0; n < row.visible.size(); ++n) {
          size += static_cast<double>(row.weights[n]) *
                  std::abs(drawn.value(b, key_head, row.visible[n], c));
        }
        EXPECT_NEAR(outputs.output(b, h, i, c),
                    static_cast<double>(row.output[c]),
                    (row.weight_error + (keys + 1) * kUnit) * size)
            << "row " << b << " " << h << " " << i << " column " << c;
      }
      size_t n = 0;
      for (int64_t j = 0; j < drawn.sizes.keys; ++j) {
        const double weight = (*outputs.weights)(b, h, i, j);
        if (n < row.visible.size() && row.visible[n] == j) {
          const double exact = static_cast<double>(row.weights[n++]);
          EXPECT_NEAR(weight, exact, row.weight_error * exact);
        } else {
          EXPECT_EQ(weight, 0.0);
        }
      }
    });
  });
}

TEST_F(ReferenceProperty, RowsSumToOneAndOutputsStayInTheConvexHull) {
  ForDrawnCases([](const AttentionCase<double>& drawn) {
    const AttentionOutputs<double> outputs = Forward(drawn);
    ForRows(drawn.sizes, [&](int64_t b, int64_t h, int64_t i) {
      const Row row = ExactRow(drawn, b, h, i);
      const double keys = static_cast<double>(row.visible.size());
      long double sum = 0;
      for (int64_t j = 0; j < drawn.sizes.keys; ++j) {
        const double weight = (*outputs.weights)(b, h, i, j);
        EXPECT_GE(weight, 0.0);
        sum += weight;
      }
      // Exactly 0 for a fully masked row, else 1 with one rounding for each
      // term of the divisor and one for the division.
      EXPECT_NEAR(static_cast<double>(sum), row.visible.empty() ? 0.0 : 1.0,
                  1.001 * keys * kUnit);
      if (row.visible.empty()) return;
      // Inside the hull means inside its shadow on every axis, and on one
      // drawn direction, here the sum of the columns.
      const int64_t width = drawn.sizes.value_width;
      for (int64_t c = 0; c <= width; ++c) {
        double low = kInf;
        double high = -kInf;
        double size = 0;
        const auto shadow = [&](const auto& at) {
          double total = 0;
          for (int64_t k = 0; k < width; ++k) {
            if (c == k || c == width) total += at(k);
          }
          return total;
        };
        for (const int64_t j : row.visible) {
          const auto value = [&](int64_t k) {
            return drawn.value(b, drawn.sizes.KeyHead(h), j, k);
          };
          low = std::min(low, shadow(value));
          high = std::max(high, shadow(value));
          size = std::max(
              size, shadow([&](int64_t k) { return std::abs(value(k)); }));
        }
        const double output =
            shadow([&](int64_t k) { return outputs.output(b, h, i, k); });
        // The weights' sum is off by keys u, the sums over keys and over
        // columns round (keys + 1) and width times.
        const double bound =
            (2 * keys + 2 + static_cast<double>(width)) * kUnit * size;
        EXPECT_GE(output, low - bound);
        EXPECT_LE(output, high + bound);
      }
    });
  });
}

TEST_F(ReferenceProperty, ShiftingARowOfScoresMovesOnlyItsLogSumExp) {
  ForDrawnCases([this](AttentionCase<double> drawn) {
    const AttentionSizes& sizes = drawn.sizes;
    if (!drawn.bias.has_value()) drawn.bias = Tensor<double>({1, 1, 1, 1});
    const AttentionOutputs<double> outputs = Forward(drawn);
    // The same bias in full shape, plus a number for each row.
    Tensor<double> shifts({sizes.batch, sizes.query_heads, sizes.queries});
    stream_.FillGaussian(absl::MakeSpan(shifts.elements()));
    Tensor<double> bias = Copy(std::as_const(*drawn.bias)
                                   .view()
                                   .BroadcastTo(sizes.ScoreShape())
                                   .value());
    ForRows(sizes, [&](int64_t b, int64_t h, int64_t i) {
      for (int64_t j = 0; j < sizes.keys; ++j) {
        bias(b, h, i, j) += shifts(b, h, i);
      }
    });
    drawn.bias = bias;
    const AttentionOutputs<double> shifted = Forward(drawn);
    ForRows(sizes, [&](int64_t b, int64_t h, int64_t i) {
      const Row row = ExactRow(drawn, b, h, i);
      // Both sides carry the scores' rounding errors; the shifted scores are
      // larger by |shift| and the bias was rounded once more.
      const double shift = std::abs(shifts(b, h, i));
      const double error = 2 * (row.weight_error + 4 * shift * kUnit +
                                2 * row.score_error + 8 * kUnit);
      for (int64_t j = 0; j < sizes.keys; ++j) {
        const double weight = (*outputs.weights)(b, h, i, j);
        EXPECT_NEAR((*shifted.weights)(b, h, i, j), weight, error * weight);
      }
      if (row.visible.empty()) return;
      const double before = outputs.log_sum_exp(b, h, i);
      EXPECT_NEAR(shifted.log_sum_exp(b, h, i), before + shifts(b, h, i),
                  error + 4 * (std::abs(before) + shift) * kUnit);
    });
  });
}

TEST_F(ReferenceProperty, PermutingQueriesPermutesRows) {
  ForDrawnCases([this](AttentionCase<double> drawn) {
    const AttentionSizes& sizes = drawn.sizes;
    // Restrictions that tell queries apart would have to move along.
    drawn.causal = CausalAlignment::kNone;
    drawn.allowed.reset();
    drawn.bias.reset();
    std::vector<int64_t> order(sizes.queries);
    for (int64_t i = 0; i < sizes.queries; ++i) order[i] = i;
    stream_.Shuffle(absl::MakeSpan(order));
    const AttentionOutputs<double> outputs = Forward(drawn);
    const Tensor<double> query = drawn.query;
    ForRows(sizes, [&](int64_t b, int64_t h, int64_t i) {
      for (int64_t d = 0; d < sizes.width; ++d) {
        drawn.query(b, h, i, d) = query(b, h, order[i], d);
      }
    });
    const AttentionOutputs<double> permuted = Forward(drawn);
    ForRows(sizes, [&](int64_t b, int64_t h, int64_t i) {
      for (int64_t c = 0; c < sizes.value_width; ++c) {
        EXPECT_EQ(permuted.output(b, h, i, c),
                  outputs.output(b, h, order[i], c));
      }
      EXPECT_EQ(permuted.log_sum_exp(b, h, i),
                outputs.log_sum_exp(b, h, order[i]));
    });
  });
}

TEST_F(ReferenceProperty, PermutingKeysWithTheirValuesChangesNoOutput) {
  ForDrawnCases([this](AttentionCase<double> drawn) {
    const AttentionSizes& sizes = drawn.sizes;
    drawn.causal = CausalAlignment::kNone;
    drawn.key_lengths.clear();
    drawn.key_starts.clear();
    drawn.allowed.reset();
    drawn.bias.reset();
    std::vector<int64_t> order(sizes.keys);
    for (int64_t j = 0; j < sizes.keys; ++j) order[j] = j;
    stream_.Shuffle(absl::MakeSpan(order));
    const AttentionCase<double> original = drawn;
    for (int64_t b = 0; b < sizes.batch; ++b) {
      for (int64_t h = 0; h < sizes.key_heads; ++h) {
        for (int64_t j = 0; j < sizes.keys; ++j) {
          for (int64_t d = 0; d < sizes.width; ++d) {
            drawn.key(b, h, j, d) = original.key(b, h, order[j], d);
          }
          for (int64_t c = 0; c < sizes.value_width; ++c) {
            drawn.value(b, h, j, c) = original.value(b, h, order[j], c);
          }
        }
      }
    }
    const AttentionOutputs<double> outputs = Forward(original);
    const AttentionOutputs<double> permuted = Forward(drawn);
    ForRows(sizes, [&](int64_t b, int64_t h, int64_t i) {
      // The same exponentials, summed in another order: keys roundings in the
      // divisor, then keys + 2 in each side's mixture.
      const double keys = static_cast<double>(sizes.keys);
      for (int64_t j = 0; j < sizes.keys; ++j) {
        const double weight = (*outputs.weights)(b, h, i, order[j]);
        EXPECT_NEAR((*permuted.weights)(b, h, i, j), weight,
                    2 * keys * kUnit * weight);
      }
      for (int64_t c = 0; c < sizes.value_width; ++c) {
        double size = 0;
        for (int64_t j = 0; j < sizes.keys; ++j) {
          size += (*outputs.weights)(b, h, i, j) *
                  std::abs(original.value(b, sizes.KeyHead(h), j, c));
        }
        EXPECT_NEAR(permuted.output(b, h, i, c), outputs.output(b, h, i, c),
                    (4 * keys + 4) * kUnit * size);
      }
    });
  });
}

TEST_F(ReferenceProperty, FloatAgreesWithinFloatRounding) {
  constexpr double kFloatUnit = 0x1p-24;
  ForDrawnCases([&](const AttentionCase<double>& drawn) {
    AttentionCase<float> narrow;
    const auto to_float = [](const Tensor<double>& tensor) {
      return Tensor<float>(tensor.shape(),
                           std::vector<float>(tensor.elements().begin(),
                                              tensor.elements().end()));
    };
    narrow.query = to_float(drawn.query);
    narrow.key = to_float(drawn.key);
    narrow.value = to_float(drawn.value);
    if (drawn.bias.has_value()) narrow.bias = to_float(*drawn.bias);
    narrow.allowed = drawn.allowed;
    narrow.key_lengths = drawn.key_lengths;
    narrow.key_starts = drawn.key_starts;
    narrow.causal = drawn.causal;
    const AttentionOutputs<float> outputs =
        AttentionForward(narrow.inputs(), drawn.options).value();
    ForRows(drawn.sizes, [&](int64_t b, int64_t h, int64_t i) {
      const Row row = ExactRow(drawn, b, h, i);
      // The bounds for double, in float's unit. Rounding the inputs to float
      // adds 2 u for each product of the scores and u for each value; the
      // scores' bound already counts D + 4 >= 5 roundings, so doubling covers
      // it.
      const double factor = 2 * kFloatUnit / kUnit;
      const double keys = static_cast<double>(row.visible.size());
      for (int64_t c = 0; c < drawn.sizes.value_width; ++c) {
        double size = 0;
        for (size_t n = 0; n < row.visible.size(); ++n) {
          size += static_cast<double>(row.weights[n]) *
                  std::abs(drawn.value(b, drawn.sizes.KeyHead(h),
                                       row.visible[n], c));
        }
        EXPECT_NEAR(outputs.output(b, h, i, c),
                    static_cast<double>(row.output[c]),
                    factor * (row.weight_error + (keys + 1) * kUnit) * size);
      }
    });
  });
}

}  // namespace
}  // namespace softlookup::reference
