// What masks do: the same restriction said in other ways, nothing leaking
// from where nothing may be read, rows with every key masked, head groups,
// layouts, and non-finite numbers where they may be read.
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "attention/attention.h"
#include "attention/mask.h"
#include "attention/reference/attention_reference.h"
#include "attention/testing/random_attention.h"
#include "base/random/random.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup::reference {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int kCases = 1000;

AttentionOutputs<double> Forward(const AttentionCase<double>& drawn) {
  AttentionOptions options = drawn.options;
  options.weights = true;
  return AttentionForward(drawn.inputs(), options).value();
}

AttentionGradients<double> Backward(const AttentionCase<double>& drawn) {
  return AttentionBackward(drawn.inputs(), drawn.options,
                           drawn.output_gradient.view())
      .value();
}

// Equal numbers (0 == -0), so that a NaN fails.
void ExpectSameOutputs(const AttentionCase<double>& a,
                       const AttentionCase<double>& b) {
  const AttentionOutputs<double> outputs_a = Forward(a);
  const AttentionOutputs<double> outputs_b = Forward(b);
  EXPECT_EQ(outputs_a.output.elements(), outputs_b.output.elements());
  EXPECT_EQ(outputs_a.log_sum_exp.elements(), outputs_b.log_sum_exp.elements());
  EXPECT_EQ(outputs_a.weights->elements(), outputs_b.weights->elements());
}

void ExpectSameGradients(const AttentionCase<double>& a,
                         const AttentionCase<double>& b) {
  const AttentionGradients<double> gradients_a = Backward(a);
  const AttentionGradients<double> gradients_b = Backward(b);
  EXPECT_EQ(gradients_a.query.elements(), gradients_b.query.elements());
  EXPECT_EQ(gradients_a.key.elements(), gradients_b.key.elements());
  EXPECT_EQ(gradients_a.value.elements(), gradients_b.value.elements());
}

// The positions of rows in a [B, H, T] grid.
template <typename Check>
void ForRows(int64_t batch, int64_t heads, int64_t positions,
             const Check& check) {
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t i = 0; i < positions; ++i) check(b, h, i);
    }
  }
}

template <typename Check>
void ForQueries(const AttentionSizes& sizes, const Check& check) {
  ForRows(sizes.batch, sizes.query_heads, sizes.queries, check);
}

bool SeesNothing(const AttentionCase<double>& drawn, int64_t b, int64_t h,
                 int64_t i) {
  for (int64_t j = 0; j < drawn.sizes.keys; ++j) {
    if (drawn.Visible(b, h, i, j)) return false;
  }
  return true;
}

void FillRow(Tensor<double>& tensor, int64_t b, int64_t h, int64_t i,
             double element) {
  for (int64_t c = 0; c < tensor.dim(3); ++c) tensor(b, h, i, c) = element;
}

class ReferenceMask : public testing::Test {
 protected:
  static constexpr uint64_t kSeed = 20240603;

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

  double DrawPoison() {
    const double poisons[] = {kNaN, kInf, -kInf};
    return poisons[stream_.UniformInt(3)];
  }

  RandomStream stream_{kSeed, "attention_reference_mask_test"};
};

TEST_F(ReferenceMask, EveryRestrictionEqualsOneFullMaskAndOneFullBias) {
  ForDrawnCases([](const AttentionCase<double>& drawn) {
    const AttentionSizes& sizes = drawn.sizes;
    // The biases' finite parts stay, in full shape.
    Tensor<double> bias(sizes.ScoreShape());
    if (drawn.bias.has_value()) {
      bias = Copy(drawn.bias->view().BroadcastTo(sizes.ScoreShape()).value());
    }
    AttentionCase<double> boolean = drawn;
    boolean.causal = CausalAlignment::kNone;
    boolean.key_lengths.clear();
    boolean.key_starts.clear();
    boolean.allowed.reset();
    AttentionCase<double> additive = boolean;
    boolean.allowed = Tensor<uint8_t>(sizes.ScoreShape());
    boolean.bias = bias;
    additive.bias = bias;
    ForQueries(sizes, [&](int64_t b, int64_t h, int64_t i) {
      for (int64_t j = 0; j < sizes.keys; ++j) {
        const bool visible = drawn.Visible(b, h, i, j);
        (*boolean.allowed)(b, h, i, j) = visible ? 1 : 0;
        if (!visible) {
          (*boolean.bias)(b, h, i, j) = 7.0;
          (*additive.bias)(b, h, i, j) = -kInf;
        }
      }
    });
    ExpectSameOutputs(drawn, boolean);
    ExpectSameOutputs(drawn, additive);
    ExpectSameGradients(drawn, boolean);
    ExpectSameGradients(drawn, additive);
  });
}

TEST_F(ReferenceMask, NothingLeaksFromKeysThatNoQuerySees) {
  int poisoned_rows = 0;
  ForDrawnCases([&](const AttentionCase<double>& drawn) {
    const AttentionSizes& sizes = drawn.sizes;
    AttentionCase<double> poisoned = drawn;
    std::set<std::vector<int64_t>> seen;
    ForQueries(sizes, [&](int64_t b, int64_t h, int64_t i) {
      for (int64_t j = 0; j < sizes.keys; ++j) {
        if (drawn.Visible(b, h, i, j)) seen.insert({b, sizes.KeyHead(h), j});
      }
    });
    ForRows(sizes.batch, sizes.key_heads, sizes.keys,
            [&](int64_t b, int64_t h, int64_t j) {
              if (seen.count({b, h, j}) != 0) return;
              FillRow(poisoned.key, b, h, j, DrawPoison());
              FillRow(poisoned.value, b, h, j, DrawPoison());
              ++poisoned_rows;
            });
    ExpectSameOutputs(drawn, poisoned);
    ExpectSameGradients(drawn, poisoned);
    const AttentionGradients<double> gradients = Backward(poisoned);
    ForRows(sizes.batch, sizes.key_heads, sizes.keys,
            [&](int64_t b, int64_t h, int64_t j) {
              if (seen.count({b, h, j}) != 0) return;
              for (int64_t d = 0; d < sizes.width; ++d) {
                EXPECT_EQ(gradients.key(b, h, j, d), 0.0);
              }
              for (int64_t c = 0; c < sizes.value_width; ++c) {
                EXPECT_EQ(gradients.value(b, h, j, c), 0.0);
              }
            });
  });
  EXPECT_GE(poisoned_rows, kCases);
}

TEST_F(ReferenceMask, NothingLeaksFromOneKeyIntoRowsThatDoNotSeeIt) {
  int blind_rows = 0;
  int seeing_rows = 0;
  ForDrawnCases([&](const AttentionCase<double>& drawn) {
    const AttentionSizes& sizes = drawn.sizes;
    AttentionCase<double> poisoned = drawn;
    const auto draw = [this](int64_t bound) -> int64_t {
      return stream_.UniformInt(static_cast<uint32_t>(bound));
    };
    const int64_t b = draw(sizes.batch);
    const int64_t key_head = draw(sizes.key_heads);
    const int64_t j = draw(sizes.keys);
    FillRow(poisoned.key, b, key_head, j, kNaN);
    FillRow(poisoned.value, b, key_head, j, DrawPoison());
    const AttentionOutputs<double> clean = Forward(drawn);
    const AttentionOutputs<double> outputs = Forward(poisoned);
    const AttentionGradients<double> clean_gradients = Backward(drawn);
    const AttentionGradients<double> gradients = Backward(poisoned);
    ForQueries(sizes, [&](int64_t row_b, int64_t h, int64_t i) {
      const bool sees = row_b == b && sizes.KeyHead(h) == key_head &&
                        drawn.Visible(b, h, i, j);
      ++(sees ? seeing_rows : blind_rows);
      for (int64_t c = 0; c < sizes.value_width; ++c) {
        const double output = outputs.output(row_b, h, i, c);
        if (sees) {
          EXPECT_TRUE(std::isnan(output));
        } else {
          EXPECT_EQ(output, clean.output(row_b, h, i, c));
        }
      }
      for (int64_t d = 0; d < sizes.width; ++d) {
        const double gradient = gradients.query(row_b, h, i, d);
        if (sees) {
          EXPECT_TRUE(std::isnan(gradient));
        } else {
          EXPECT_EQ(gradient, clean_gradients.query(row_b, h, i, d));
        }
      }
      const double log_sum_exp = outputs.log_sum_exp(row_b, h, i);
      if (sees) {
        EXPECT_TRUE(std::isnan(log_sum_exp));
      } else {
        EXPECT_EQ(log_sum_exp, clean.log_sum_exp(row_b, h, i));
      }
    });
  });
  EXPECT_GE(blind_rows, kCases);
  EXPECT_GE(seeing_rows, kCases);
}

TEST_F(ReferenceMask, NothingLeaksFromBiasesAtMaskedPositions) {
  ForDrawnCases([this](AttentionCase<double> drawn) {
    const AttentionSizes& sizes = drawn.sizes;
    // Visible without the bias is what the mask alone says.
    drawn.bias.reset();
    Tensor<double> bias(sizes.ScoreShape());
    Tensor<double> poisoned_bias(sizes.ScoreShape());
    ForQueries(sizes, [&](int64_t b, int64_t h, int64_t i) {
      for (int64_t j = 0; j < sizes.keys; ++j) {
        const bool visible = drawn.Visible(b, h, i, j);
        bias(b, h, i, j) = visible ? stream_.Gaussian() : 0.0;
        poisoned_bias(b, h, i, j) = visible ? bias(b, h, i, j) : DrawPoison();
      }
    });
    AttentionCase<double> poisoned = drawn;
    drawn.bias = bias;
    poisoned.bias = poisoned_bias;
    ExpectSameOutputs(drawn, poisoned);
    ExpectSameGradients(drawn, poisoned);
    EXPECT_EQ(Backward(drawn).bias->elements(),
              Backward(poisoned).bias->elements());
  });
}

TEST_F(ReferenceMask, FullyMaskedRowsFollowTheRule) {
  int masked_rows = 0;
  ForDrawnCases([&](const AttentionCase<double>& drawn) {
    const AttentionSizes& sizes = drawn.sizes;
    AttentionCase<double> poisoned = drawn;
    AttentionCase<double> nan = drawn;
    nan.options.fully_masked = FullyMasked::kNaN;
    bool any = false;
    ForQueries(sizes, [&](int64_t b, int64_t h, int64_t i) {
      if (!SeesNothing(drawn, b, h, i)) return;
      any = true;
      ++masked_rows;
      FillRow(poisoned.query, b, h, i, DrawPoison());
      FillRow(poisoned.output_gradient, b, h, i, DrawPoison());
    });
    // Zero: whatever the row's query and gradient hold.
    ExpectSameOutputs(drawn, poisoned);
    ExpectSameGradients(drawn, poisoned);
    const AttentionOutputs<double> zeros = Forward(poisoned);
    const AttentionGradients<double> gradients = Backward(poisoned);
    const AttentionOutputs<double> nans = Forward(nan);
    ForQueries(sizes, [&](int64_t b, int64_t h, int64_t i) {
      const bool masked = SeesNothing(drawn, b, h, i);
      EXPECT_EQ(zeros.log_sum_exp(b, h, i) == -kInf, masked);
      EXPECT_EQ(nans.log_sum_exp(b, h, i), zeros.log_sum_exp(b, h, i));
      for (int64_t c = 0; c < sizes.value_width; ++c) {
        EXPECT_EQ(std::isnan(nans.output(b, h, i, c)), masked);
        if (masked) {
          EXPECT_EQ(zeros.output(b, h, i, c), 0.0);
        }
      }
      for (int64_t j = 0; j < sizes.keys; ++j) {
        EXPECT_EQ(std::isnan((*nans.weights)(b, h, i, j)), masked);
        if (masked) {
          EXPECT_EQ((*zeros.weights)(b, h, i, j), 0.0);
        }
      }
      for (int64_t d = 0; masked && d < sizes.width; ++d) {
        EXPECT_EQ(gradients.query(b, h, i, d), 0.0);
      }
    });
    // Error: exactly when there is such a row.
    AttentionOptions error = drawn.options;
    error.fully_masked = FullyMasked::kError;
    EXPECT_EQ(AttentionForward(drawn.inputs(), error).ok(), !any);
    EXPECT_EQ(
        AttentionBackward(drawn.inputs(), error, drawn.output_gradient.view())
            .ok(),
        !any);
  });
  EXPECT_GE(masked_rows, kCases);
}

TEST_F(ReferenceMask, GroupedHeadsEqualRepeatedHeads) {
  ForDrawnCases([](AttentionCase<double> drawn) {
    const AttentionSizes& sizes = drawn.sizes;
    // A full bias of zeros would not change scores; its gradient is dS, which
    // the bound below needs.
    if (!drawn.bias.has_value()) drawn.bias = Tensor<double>({1, 1, 1, 1});
    drawn.bias =
        Copy(drawn.bias->view().BroadcastTo(sizes.ScoreShape()).value());
    const int64_t group = sizes.query_heads / sizes.key_heads;
    const auto repeat = [&](const Tensor<double>& tensor) {
      Tensor<double> repeated(
          {sizes.batch, sizes.query_heads, sizes.keys, tensor.dim(3)});
      ForRows(sizes.batch, sizes.query_heads, sizes.keys,
              [&](int64_t b, int64_t h, int64_t j) {
                for (int64_t c = 0; c < tensor.dim(3); ++c) {
                  repeated(b, h, j, c) = tensor(b, h / group, j, c);
                }
              });
      return repeated;
    };
    AttentionCase<double> repeated = drawn;
    repeated.sizes.key_heads = sizes.query_heads;
    repeated.key = repeat(drawn.key);
    repeated.value = repeat(drawn.value);
    ExpectSameOutputs(drawn, repeated);
    const AttentionGradients<double> gradients = Backward(drawn);
    const AttentionGradients<double> separate = Backward(repeated);
    EXPECT_EQ(gradients.query.elements(), separate.query.elements());
    EXPECT_EQ(gradients.bias->elements(), separate.bias->elements());
    // A group's gradient is the sum of its members', with the same terms in
    // another order: as many roundings as terms, on each side.
    const AttentionOutputs<double> outputs = Forward(drawn);
    const double scale = std::abs(AttentionScale(drawn.options, sizes.width));
    const double roundings =
        2 * static_cast<double>(group * sizes.queries) * kUnit;
    ForRows(sizes.batch, sizes.key_heads, sizes.keys,
            [&](int64_t b, int64_t h, int64_t j) {
              for (int64_t d = 0; d < sizes.width; ++d) {
                double sum = 0;
                double size = 0;
                for (int64_t member = h * group; member < (h + 1) * group;
                     ++member) {
                  sum += separate.key(b, member, j, d);
                  for (int64_t i = 0; i < sizes.queries; ++i) {
                    size += std::abs((*gradients.bias)(b, member, i, j) *
                                     scale * drawn.query(b, member, i, d));
                  }
                }
                EXPECT_NEAR(gradients.key(b, h, j, d), sum, roundings * size);
              }
              for (int64_t c = 0; c < sizes.value_width; ++c) {
                double sum = 0;
                double size = 0;
                for (int64_t member = h * group; member < (h + 1) * group;
                     ++member) {
                  sum += separate.value(b, member, j, c);
                  for (int64_t i = 0; i < sizes.queries; ++i) {
                    size += std::abs((*outputs.weights)(b, member, i, j) *
                                     drawn.output_gradient(b, member, i, c));
                  }
                }
                EXPECT_NEAR(gradients.value(b, h, j, c), sum, roundings * size);
              }
            });
  });
}

TEST_F(ReferenceMask, LayoutDoesNotMatter) {
  ForDrawnCases([](const AttentionCase<double>& drawn) {
    // The same numbers stored as [B, T, H, D] and transposed by strides.
    const auto store = [](const Tensor<double>& tensor) {
      return Copy(tensor.view().Transpose(1, 2));
    };
    const Tensor<double> query = store(drawn.query);
    const Tensor<double> key = store(drawn.key);
    const Tensor<double> value = store(drawn.value);
    const Tensor<double> output_gradient = store(drawn.output_gradient);
    AttentionInputs<double> inputs = drawn.inputs();
    inputs.query = query.view().Transpose(1, 2);
    inputs.key = key.view().Transpose(1, 2);
    inputs.value = value.view().Transpose(1, 2);
    EXPECT_EQ(AttentionForward(inputs, drawn.options)->output.elements(),
              Forward(drawn).output.elements());
    const AttentionGradients<double> expected = Backward(drawn);
    const AttentionGradients<double> gradients =
        AttentionBackward(inputs, drawn.options,
                          output_gradient.view().Transpose(1, 2))
            .value();
    EXPECT_EQ(gradients.query.elements(), expected.query.elements());
    EXPECT_EQ(gradients.key.elements(), expected.key.elements());
    EXPECT_EQ(gradients.value.elements(), expected.value.elements());
  });
}

}  // namespace
}  // namespace softlookup::reference
