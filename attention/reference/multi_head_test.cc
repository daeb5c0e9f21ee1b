#include "attention/reference/multi_head.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "attention/reference/attention_reference.h"
#include "base/random/random.h"
#include "base/tensor/matrix_product.h"
#include "base/tensor/shape.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double
constexpr int kCases = 1000;

Tensor<double> Gaussians(RandomStream& stream, Shape shape) {
  Tensor<double> tensor(std::move(shape));
  stream.FillGaussian(absl::MakeSpan(tensor.elements()));
  return tensor;
}

// A drawn layer and its input.
struct Drawn {
  explicit Drawn(RandomStream& stream) {
    const auto draw = [&stream](uint32_t limit) -> int64_t {
      return 1 + stream.UniformInt(limit);
    };
    const int64_t d = draw(5), width = draw(3), value_width = draw(3);
    weights.key_heads = draw(2);
    weights.heads = weights.key_heads * draw(2);
    weights.query = Gaussians(stream, {d, weights.heads * width});
    weights.key = Gaussians(stream, {d, weights.key_heads * width});
    weights.value = Gaussians(stream, {d, weights.key_heads * value_width});
    weights.output = Gaussians(stream, {weights.heads * value_width, d});
    x = Gaussians(stream, {draw(2), draw(4), d});
    options.mask.causal = static_cast<CausalAlignment>(stream.UniformInt(3));
    options.attention.weights = true;
  }

  MultiHeadOutputs<double> Forward() const {
    return MultiHeadForward(x.view(), weights, options).value();
  }

  Tensor<double> x;
  MultiHeadWeights<double> weights;
  MultiHeadOptions options;
};

TEST(MultiHead, ShapesOfTheChaptersListing) {
  // B = 2, T = 16, d = 256, eight heads of width 32.
  RandomStream stream(41, "multi_head_test");
  MultiHeadWeights<double> weights;
  weights.heads = weights.key_heads = 8;
  for (Tensor<double>* weight :
       {&weights.query, &weights.key, &weights.value, &weights.output}) {
    *weight = Gaussians(stream, {256, 256});
  }
  const Tensor<double> x = Gaussians(stream, {2, 16, 256});
  MultiHeadOptions options;
  options.mask.causal = CausalAlignment::kTopLeft;
  options.attention.weights = true;
  const auto outputs = MultiHeadForward(x.view(), weights, options).value();
  EXPECT_EQ(outputs.output.shape(), (Shape{2, 16, 256}));
  EXPECT_EQ(outputs.heads.shape(), (Shape{2, 8, 16, 32}));
  EXPECT_EQ(outputs.weights->shape(), (Shape{2, 8, 16, 16}));
  EXPECT_EQ((*outputs.weights)(1, 7, 3, 4), 0.0);
  options.attention.weights = false;
  EXPECT_FALSE(
      MultiHeadForward(x.view(), weights, options)->weights.has_value());
}

TEST(MultiHead, TwoHeadsReachTwoPlacesThatOneHeadAverages) {
  // Positions hold (tag, content); queries ask for tags by hand. Token 2
  // attends to token 0 through head 0 and to token 1 through head 1, both
  // nearly one-hot, and W_O keeps the two contents apart.
  const Tensor<double> x({1, 3, 3}, {1, 0, 5,  //
                                     0, 1, 7,  //
                                     1, 1, 0});
  const double sharp = 60;
  MultiHeadWeights<double> weights;
  weights.heads = weights.key_heads = 2;
  weights.query = Tensor<double>({3, 2}, {sharp, 0, 0, sharp, 0, 0});
  weights.key = Tensor<double>({3, 2}, {1, -1, -1, 1, 0, 0});
  weights.value = Tensor<double>({3, 2}, {0, 0, 0, 0, 1, 1});
  weights.output = Tensor<double>({2, 3}, {1, 0, 0, 0, 1, 0});
  const auto outputs = MultiHeadForward(x.view(), weights, {}).value();
  // Scores of token 2 are 60 times the keys: (60, -60, 0) and (-60, 60, 0).
  // What is not on the best key is e^-60, far below one rounding of 7.
  EXPECT_NEAR(outputs.output(0, 2, 0), 5.0, 8 * kUnit);
  EXPECT_NEAR(outputs.output(0, 2, 1), 7.0, 8 * kUnit);
  EXPECT_EQ(outputs.output(0, 2, 2), 0.0);
}

TEST(SplitHeads, MovesNoElement) {
  const Tensor<double> x({1, 2, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const StridedView<const double> heads = SplitHeads(x.view(), 3);
  EXPECT_EQ(heads.shape(), (Shape{1, 3, 2, 2}));
  EXPECT_EQ(heads.data(), x.data());
  EXPECT_EQ(Copy(heads).elements(),
            (std::vector<double>{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11}));
}

TEST(SplitHeadsDeathTest, WidthMustDivide) {
  const Tensor<double> x({1, 2, 6});
  EXPECT_DEATH(SplitHeads(x.view(), 4), "D a whole number");
  EXPECT_DEATH(SplitHeads(x.view().MergeAxes(0, 2).value(), 3),
               "D a whole number");
}

TEST(MergeHeads, CopiesOnlyWhenElementsMustMove) {
  const Tensor<double> x({1, 2, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  // Split by strides: the way back is free.
  MergedHeads<double> merged = MergeHeads(SplitHeads(x.view(), 3));
  EXPECT_FALSE(merged.copy.has_value());
  EXPECT_EQ(merged.view.data(), x.data());
  EXPECT_EQ(merged.view.shape(), x.shape());
  // Head after head in memory: a copy, in the same order.
  const Tensor<double> heads = Copy(SplitHeads(x.view(), 3));
  merged = MergeHeads(heads.view());
  EXPECT_TRUE(merged.copy.has_value());
  EXPECT_EQ(Copy(merged.view).elements(), x.elements());
  const MergedHeads<double> moved = std::move(merged);
  EXPECT_EQ(Copy(moved.view).elements(), x.elements());
  EXPECT_EQ(moved.copy->shape(), x.shape());
  // One head, one position or width 1: one stride walks the result.
  for (const Shape& shape : {Shape{2, 1, 3, 2}, {2, 4, 1, 2}, {2, 4, 3, 1}}) {
    const Tensor<double> easy(shape);
    EXPECT_FALSE(MergeHeads(easy.view()).copy.has_value());
  }
}

TEST(MultiHeadWeights, BlocksOfGroupedHeads) {
  MultiHeadWeights<double> weights;
  weights.heads = 4;
  weights.key_heads = 2;
  weights.query = Tensor<double>({1, 4}, {0, 1, 2, 3});
  weights.key = Tensor<double>({1, 2}, {10, 11});
  weights.value = Tensor<double>({1, 4}, {20, 21, 22, 23});
  weights.output = Tensor<double>({8, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
  using Elements = std::vector<double>;
  EXPECT_EQ(Copy(weights.QueryBlock(2)).elements(), (Elements{2}));
  EXPECT_EQ(Copy(weights.KeyBlock(1)).elements(), (Elements{10}));
  EXPECT_EQ(Copy(weights.KeyBlock(2)).elements(), (Elements{11}));
  EXPECT_EQ(Copy(weights.ValueBlock(3)).elements(), (Elements{22, 23}));
  EXPECT_EQ(Copy(weights.ValueBlock(0)).elements(), (Elements{20, 21}));
  EXPECT_EQ(Copy(weights.OutputBlock(3)).elements(), (Elements{6, 7}));
  EXPECT_EQ(weights.OutputBlock(3).shape(), (Shape{2, 1}));
}

class MultiHeadProperty : public testing::Test {
 protected:
  static constexpr uint64_t kSeed = 42;

  template <typename Check>
  void ForDrawnCases(const Check& check) {
    for (int n = 0; n < kCases && !HasFailure(); ++n) {
      const Drawn drawn(stream_);
      SCOPED_TRACE(testing::Message()
                   << "seed " << kSeed << ", case " << n << ": x "
                   << ShapeString(drawn.x.shape()) << " heads "
                   << drawn.weights.heads << "/" << drawn.weights.key_heads);
      check(drawn);
    }
  }

  RandomStream stream_{kSeed, "multi_head_test"};
};

TEST_F(MultiHeadProperty, OneMatrixForAllHeadsEqualsAHeadAtATime) {
  // Each head by itself: its own three products, attention of a batch of
  // one-head sequences, the results side by side, times W_O. Sums run in the
  // same order, so the bits are equal.
  ForDrawnCases([](const Drawn& drawn) {
    const auto& weights = drawn.weights;
    const auto outputs = drawn.Forward();
    const int64_t batch = drawn.x.dim(0), positions = drawn.x.dim(1);
    for (int64_t b = 0; b < batch; ++b) {
      const StridedView<const double> tokens =
          drawn.x.view().Slice(0, b, b + 1).MergeAxes(0, 2).value();
      const int64_t merged_width = weights.output.dim(0);
      Tensor<double> merged({positions, merged_width});
      for (int64_t h = 0; h < weights.heads; ++h) {
        const auto project = [&](const Tensor<double>& weight, int64_t block,
                                 int64_t blocks) {
          const int64_t width = weight.dim(1) / blocks;
          return MatrixProduct<double>(
              tokens,
              weight.view().Slice(1, block * width, (block + 1) * width));
        };
        const int64_t group = weights.heads / weights.key_heads;
        const Tensor<double> q = project(weights.query, h, weights.heads);
        const Tensor<double> k =
            project(weights.key, h / group, weights.key_heads);
        const Tensor<double> v =
            project(weights.value, h / group, weights.key_heads);
        AttentionInputs<double> inputs;
        inputs.query = q.view().SplitAxis(0, {1, 1, positions});
        inputs.key = k.view().SplitAxis(0, {1, 1, positions});
        inputs.value = v.view().SplitAxis(0, {1, 1, positions});
        inputs.mask = drawn.options.mask;
        const auto head =
            reference::AttentionForward(inputs, drawn.options.attention)
                .value();
        const int64_t width = v.dim(1);
        for (int64_t t = 0; t < positions; ++t) {
          for (int64_t c = 0; c < width; ++c) {
            EXPECT_EQ(outputs.heads(b, h, t, c), head.output(0, 0, t, c));
            merged(t, h * width + c) = head.output(0, 0, t, c);
          }
          for (int64_t s = 0; s < positions; ++s) {
            EXPECT_EQ((*outputs.weights)(b, h, t, s),
                      (*head.weights)(0, 0, t, s));
          }
        }
      }
      const Tensor<double> output =
          MatrixProduct<double>(merged.view(), weights.output.view());
      for (int64_t t = 0; t < positions; ++t) {
        for (int64_t c = 0; c < output.dim(1); ++c) {
          EXPECT_EQ(outputs.output(b, t, c), output(t, c));
        }
      }
    }
  });
}

TEST_F(MultiHeadProperty, OutputIsTheSumOfTheHeadsWrites) {
  ForDrawnCases([](const Drawn& drawn) {
    const auto outputs = drawn.Forward();
    const Tensor<double> writes =
        HeadWrites(outputs.heads.view(), drawn.weights);
    const Shape& shape = outputs.output.shape();
    const int64_t heads = drawn.weights.heads;
    const int64_t width = outputs.heads.dim(3);
    EXPECT_EQ(writes.shape(), (Shape{shape[0], heads, shape[1], shape[2]}));
    for (int64_t b = 0; b < shape[0]; ++b) {
      for (int64_t t = 0; t < shape[1]; ++t) {
        for (int64_t c = 0; c < shape[2]; ++c) {
          double sum = 0;
          double size = 0;
          for (int64_t h = 0; h < heads; ++h) {
            sum += writes(b, h, t, c);
            for (int64_t k = 0; k < width; ++k) {
              size += std::abs(outputs.heads(b, h, t, k) *
                               drawn.weights.output(h * width + k, c));
            }
          }
          // The same terms, bracketed by head on one side: a rounding for
          // each product and each sum.
          EXPECT_NEAR(
              outputs.output(b, t, c), sum,
              2 * static_cast<double>(heads * (width + 1)) * kUnit * size);
        }
      }
    }
  });
}

TEST_F(MultiHeadProperty, GroupedHeadsEqualRepeatedWeights) {
  ForDrawnCases([](const Drawn& drawn) {
    Drawn repeated = drawn;
    const int64_t heads = drawn.weights.heads;
    repeated.weights.key_heads = heads;
    const auto repeat = [&](const Tensor<double>& weight, auto block) {
      const int64_t width = weight.dim(1) / drawn.weights.key_heads;
      Tensor<double> wide({weight.dim(0), heads * width});
      for (int64_t h = 0; h < heads; ++h) {
        ForEachElement([](double& to, const double& from) { to = from; },
                       wide.view().Slice(1, h * width, (h + 1) * width),
                       block(h));
      }
      return wide;
    };
    repeated.weights.key = repeat(drawn.weights.key, [&](int64_t h) {
      return drawn.weights.KeyBlock(h);
    });
    repeated.weights.value = repeat(drawn.weights.value, [&](int64_t h) {
      return drawn.weights.ValueBlock(h);
    });
    EXPECT_EQ(repeated.Forward().output.elements(),
              drawn.Forward().output.elements());
  });
}

TEST_F(MultiHeadProperty, PermutingTokensPermutesOutputsUnlessCausal) {
  int broken = 0;
  ForDrawnCases([&](const Drawn& drawn) {
    Drawn swapped = drawn;
    const int64_t last = drawn.x.dim(1) - 1;
    for (int64_t b = 0; b < drawn.x.dim(0); ++b) {
      for (int64_t c = 0; c < drawn.x.dim(2); ++c) {
        std::swap(swapped.x(b, 0, c), swapped.x(b, last, c));
      }
    }
    const auto outputs = drawn.Forward();
    const auto moved = swapped.Forward();
    const bool causal = drawn.options.mask.causal != CausalAlignment::kNone;
    for (int64_t b = 0; b < drawn.x.dim(0); ++b) {
      for (int64_t c = 0; c < drawn.x.dim(2); ++c) {
        const double difference =
            std::abs(moved.output(b, 0, c) - outputs.output(b, last, c));
        if (causal) {
          broken += difference > 1e-3;
        } else {
          // Sums over keys in another order, times W_O; 200 roundings of
          // numbers below 100 (drawn widths are at most 6).
          EXPECT_LE(difference, 200 * 100 * kUnit);
        }
      }
    }
  });
  EXPECT_GE(broken, 100);
}

void ExpectError(const absl::Status& status, const std::string& message) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), message);
}

// A valid layer, d = 6, four heads in two groups, D = 2 and Dv = 3; each test
// spoils something.
struct Valid {
  Tensor<double> x{{2, 3, 6}};
  MultiHeadWeights<double> weights{4,
                                   2,
                                   Tensor<double>({6, 8}),
                                   Tensor<double>({6, 4}),
                                   Tensor<double>({6, 6}),
                                   Tensor<double>({12, 6})};
  absl::Status Forward() const {
    return MultiHeadForward(x.view(), weights, {}).status();
  }
  absl::Status Backward(const Tensor<double>& output_gradient) const {
    return MultiHeadBackward(x.view(), weights, {}, output_gradient.view())
        .status();
  }
};

TEST(MultiHeadErrors, AValidLayerHasNone) {
  EXPECT_TRUE(Valid().Forward().ok()) << Valid().Forward();
  EXPECT_TRUE(Valid().Backward(Tensor<double>({2, 3, 6})).ok());
  Valid smallest;
  smallest.x = Tensor<double>({1, 1, 1});
  const Tensor<double> one({1, 1});
  smallest.weights = {1, 1, one, one, one, one};
  EXPECT_TRUE(smallest.Forward().ok());
}

TEST(MultiHeadErrors, NamesTheInput) {
  Valid layer;
  layer.x = Tensor<double>({3, 6});
  ExpectError(layer.Forward(),
              "x has shape [3, 6]; allowed: [B, T, d], each dimension at "
              "least 1");
  layer.x = Tensor<double>({2, 0, 6});
  ExpectError(layer.Forward(),
              "x has shape [2, 0, 6]; allowed: [B, T, d], each dimension at "
              "least 1");
  ExpectError(Valid().Backward(Tensor<double>({2, 3, 5})),
              "output_gradient has shape [2, 3, 5]; allowed: the output's, "
              "[B, T, d] = [2, 3, 6]");
}

TEST(MultiHeadErrors, NamesTheHeads) {
  const std::pair<int64_t, int64_t> wrong[] = {{0, 1}, {4, 0}, {4, 3}};
  for (const auto& [heads, key_heads] : wrong) {
    Valid layer;
    layer.weights.heads = heads;
    layer.weights.key_heads = key_heads;
    ExpectError(layer.Forward(),
                "heads is " + std::to_string(heads) + " and key_heads " +
                    std::to_string(key_heads) +
                    "; allowed: heads a multiple of key_heads, both at least "
                    "1");
    EXPECT_FALSE(layer.Backward(Tensor<double>({2, 3, 6})).ok());
  }
}

TEST(MultiHeadErrors, NamesTheWeight) {
  for (const Shape& shape : {Shape{6, 7}, {5, 8}, {6, 0}, {48}}) {
    Valid layer;
    layer.weights.query = Tensor<double>(shape);
    ExpectError(layer.Forward(),
                "W_Q has shape " + ShapeString(shape) +
                    "; allowed: [d, H D] with d = 6 rows and 4 heads of equal "
                    "width");
  }
  Valid layer;
  layer.weights.key = Tensor<double>({6, 8});
  ExpectError(layer.Forward(),
              "W_K has shape [6, 8]; allowed: [d, Hkv D] = [6, 4]");
  layer = Valid();
  layer.weights.value = Tensor<double>({6, 5});
  ExpectError(layer.Forward(),
              "W_V has shape [6, 5]; allowed: [d, Hkv Dv] with d = 6 rows "
              "and 2 heads of equal width");
  layer = Valid();
  layer.weights.output = Tensor<double>({6, 6});
  ExpectError(layer.Forward(),
              "W_O has shape [6, 6]; allowed: [H Dv, d] = [12, 6]");
}

TEST(MultiHeadErrors, PassesOnWhatAttentionRefuses) {
  const Valid layer;
  MultiHeadOptions options;
  options.attention.scale = INFINITY;
  const std::string message = "scale is inf; allowed: a finite number";
  ExpectError(MultiHeadForward(layer.x.view(), layer.weights, options).status(),
              message);
  ExpectError(
      MultiHeadBackward(layer.x.view(), layer.weights, options, layer.x.view())
          .status(),
      message);
}

TEST(HeadWritesDeathTest, NeedsEveryHead) {
  const Valid layer;
  EXPECT_DEATH(HeadWrites(Tensor<double>({2, 3, 3, 3}).view(), layer.weights),
               "B, H, T, Dv");
}

}  // namespace
}  // namespace softlookup
