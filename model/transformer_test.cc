#include "model/transformer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/kernels/kernel_options.h"
#include "base/random/random.h"
#include "base/tensor/tensor.h"
#include "base/thread_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/loss.h"

namespace softlookup {
namespace {

using ::testing::HasSubstr;

// Small, with sizes that differ, so that no two can be exchanged.
ModelConfig Small() {
  ModelConfig config;
  config.n_layers = 2;
  config.n_heads = 4;
  config.n_key_value_heads = 2;
  config.d_model = 6;
  config.d_head = 2;
  config.d_vocab = 7;
  config.n_ctx = 9;
  return config;
}

struct NamedConfig {
  std::string name;
  ModelConfig config;
};

// Every field of the config turned, alone and all together.
std::vector<NamedConfig> Configs() {
  std::vector<NamedConfig> configs = {{"plain", Small()}};
  const auto add = [&configs](const std::string& name, auto change) {
    ModelConfig config = Small();
    change(config);
    configs.push_back({name, config});
  };
  add("one layer", [](ModelConfig& c) { c.n_layers = 1; });
  add("a key head each", [](ModelConfig& c) { c.n_key_value_heads = 4; });
  add("MLP, gelu", [](ModelConfig& c) { c.d_mlp = 5; });
  add("MLP, relu", [](ModelConfig& c) {
    c.d_mlp = 5;
    c.act_fn = ActivationFunction::kRelu;
  });
  add("rms norm",
      [](ModelConfig& c) { c.normalization_type = NormalizationType::kRms; });
  add("layer norm, final too", [](ModelConfig& c) {
    c.normalization_type = NormalizationType::kLn;
    c.final_norm = true;
    c.d_mlp = 5;
  });
  add("no positions", [](ModelConfig& c) {
    c.positional_embedding_type = PositionalEmbeddingType::kNone;
  });
  add("rotary", [](ModelConfig& c) {
    c.positional_embedding_type = PositionalEmbeddingType::kRotary;
    c.d_head = 4;
  });
  add("alibi", [](ModelConfig& c) {
    c.positional_embedding_type = PositionalEmbeddingType::kAlibi;
  });
  add("biases", [](ModelConfig& c) {
    c.biases = true;
    c.d_mlp = 3;
  });
  add("tied", [](ModelConfig& c) { c.tied = true; });
  add("smeared keys", [](ModelConfig& c) { c.smeared_keys = true; });
  add("everything", [](ModelConfig& c) {
    c.d_mlp = 5;
    c.normalization_type = NormalizationType::kLn;
    c.final_norm = true;
    c.positional_embedding_type = PositionalEmbeddingType::kRotary;
    c.biases = true;
    c.tied = true;
    c.smeared_keys = true;
  });
  return configs;
}

Tensor<int32_t> DrawTokens(RandomStream& stream, const ModelConfig& config,
                           int64_t batch, int64_t positions) {
  Tensor<int32_t> tokens({batch, positions});
  for (int64_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<int32_t>(
        stream.UniformInt(static_cast<uint32_t>(config.d_vocab)));
  }
  return tokens;
}

// Every parameter random, biases and norms too.
std::vector<double> DrawParameters(RandomStream& stream, int64_t count) {
  std::vector<double> parameters(count);
  for (double& x : parameters) x = stream.Gaussian() * 0.4;
  return parameters;
}

double Loss(const Transformer<double>& model,
            const std::vector<double>& parameters,
            const Tensor<int32_t>& tokens, const std::vector<int32_t>& targets,
            std::vector<double>* gradient = nullptr) {
  TransformerActivations<double> memory;
  EXPECT_TRUE(model.Forward(parameters, tokens, memory).ok());
  const auto loss = CrossEntropyLoss(
      model.engine(), std::as_const(memory.logits).view(), targets);
  EXPECT_TRUE(loss.ok()) << loss.status();
  if (gradient != nullptr) {
    gradient->resize(parameters.size());
    model.Backward(parameters, tokens, memory, loss->d_logits.view(),
                   absl::MakeSpan(*gradient));
  }
  return loss->mean;
}

// The derivative of f at 0 by differences of five points: error O(h^4). h is
// small enough to step over a kink of a ReLU hardly ever.
double Derivative(const std::function<double(double)>& f) {
  constexpr double h = 1e-5;
  return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
}

// Every parameter of every config, one by one.
TEST(Transformer, GradientsOfEveryParameter) {
  RandomStream stream(1, "transformer_test gradients");
  for (const NamedConfig& named : Configs()) {
    const ModelConfig& config = named.config;
    const Transformer<double> model(config);
    const std::vector<double> parameters =
        DrawParameters(stream, model.layout().size());
    const Tensor<int32_t> tokens = DrawTokens(stream, config, 2, 5);
    std::vector<int32_t> targets;
    for (int i = 0; i < 10; ++i) {
      targets.push_back(
          i % 4 == 3 ? kIgnored : static_cast<int32_t>(stream.UniformInt(7)));
    }
    std::vector<double> gradient;
    Loss(model, parameters, tokens, targets, &gradient);
    for (const ParameterTensor& tensor : model.layout().tensors()) {
      // Through the tensor's view, so that the message names it.
      std::vector<double> index(parameters.size());
      for (size_t i = 0; i < index.size(); ++i)
        index[i] = static_cast<double>(i);
      ForEachElement(
          [&](double position) {
            const auto i = static_cast<size_t>(position);
            const double expected = Derivative([&](double step) {
              std::vector<double> moved = parameters;
              moved[i] += step;
              return Loss(model, moved, tokens, targets);
            });
            EXPECT_NEAR(gradient[i], expected, 1e-8)
                << named.name << ": " << tensor.name << ", element " << i;
          },
          model.layout().View(tensor, index.data()));
    }
    if (HasFailure()) return;
  }
}

// float32 on the kernels is the same model as float64 on the reference.
TEST(Transformer, Float32AgreesWithFloat64) {
  RandomStream stream(1, "transformer_test float");
  ThreadPool pool(3);
  for (const auto& [name, config] : Configs()) {
    SCOPED_TRACE(name);
    const Transformer<double> wide(config);
    const Transformer<float> narrow(config, Engine<float>({.pool = &pool}));
    std::vector<double> parameters =
        DrawParameters(stream, wide.layout().size());
    std::vector<float> rounded(parameters.begin(), parameters.end());
    parameters.assign(rounded.begin(), rounded.end());
    const Tensor<int32_t> tokens = DrawTokens(stream, config, 3, 9);
    std::vector<int32_t> targets(27);
    for (int32_t& target : targets) {
      target = static_cast<int32_t>(stream.UniformInt(7));
    }
    std::vector<double> expected;
    const double loss = Loss(wide, parameters, tokens, targets, &expected);
    TransformerActivations<float> memory;
    ASSERT_TRUE(narrow.Forward(rounded, tokens, memory).ok());
    const auto ours = CrossEntropyLoss(
        narrow.engine(), std::as_const(memory.logits).view(), targets);
    ASSERT_TRUE(ours.ok());
    EXPECT_NEAR(ours->mean, loss, 1e-5);
    std::vector<float> gradient(rounded.size());
    narrow.Backward(rounded, tokens, memory, ours->d_logits.view(),
                    absl::MakeSpan(gradient));
    for (size_t i = 0; i < gradient.size(); ++i) {
      ASSERT_NEAR(gradient[i], expected[i], 2e-5) << "parameter " << i;
    }
  }
}

// The residual stream: what enters the unembedding is the embedding plus every
// write (the chapter, section on the residual stream).
TEST(Transformer, TheStreamIsTheSumOfItsWrites) {
  RandomStream stream(1, "transformer_test stream");
  ModelConfig config = Small();
  config.d_mlp = 5;
  config.normalization_type = NormalizationType::kRms;
  const Transformer<double> model(config);
  const std::vector<double> parameters =
      DrawParameters(stream, model.layout().size());
  const Tensor<int32_t> tokens = DrawTokens(stream, config, 2, 9);
  TransformerActivations<double> memory;
  ASSERT_TRUE(model.Forward(parameters, tokens, memory).ok());
  const auto view = [&](const std::string& name) {
    return model.layout().View(*model.layout().Find(name), parameters.data());
  };
  Tensor<double> sum = memory.layers[0].resid_pre;
  for (int64_t i = 0; i < config.n_layers; ++i) {
    const LayerActivations<double>& layer = memory.layers[i];
    const auto w_o = view(absl::StrCat("blocks.", i, ".attn.W_O"));
    const auto w_out = view(absl::StrCat("blocks.", i, ".mlp.W_out"));
    for (int64_t row = 0; row < sum.dim(0); ++row) {
      for (int64_t k = 0; k < config.d_model; ++k) {
        // Head by head, each through its own W_O.
        for (int64_t h = 0; h < config.n_heads; ++h) {
          for (int64_t e = 0; e < config.d_head; ++e) {
            sum(row, k) += layer.z(row, h * config.d_head + e) * w_o(h, e, k);
          }
        }
        for (int64_t e = 0; e < config.d_mlp; ++e) {
          sum(row, k) += layer.mlp_post(row, e) * w_out(e, k);
        }
      }
    }
  }
  for (int64_t i = 0; i < sum.size(); ++i) {
    EXPECT_NEAR(sum[i], memory.resid_final[i], 1e-13);
  }
}

// No position sees a later token.
TEST(Transformer, IsCausal) {
  RandomStream stream(1, "transformer_test causal");
  for (const auto& [name, config] : Configs()) {
    SCOPED_TRACE(name);
    const Transformer<double> model(config);
    const std::vector<double> parameters =
        DrawParameters(stream, model.layout().size());
    Tensor<int32_t> tokens = DrawTokens(stream, config, 1, 9);
    TransformerActivations<double> before;
    ASSERT_TRUE(model.Forward(parameters, tokens, before).ok());
    tokens[5] = (tokens[5] + 1) % 7;
    TransformerActivations<double> after;
    ASSERT_TRUE(model.Forward(parameters, tokens, after).ok());
    bool changed = false;
    for (int64_t t = 0; t < 9; ++t) {
      for (int64_t v = 0; v < 7; ++v) {
        if (t < 5) {
          ASSERT_EQ(before.logits(t, v), after.logits(t, v)) << "at " << t;
        } else {
          changed = changed || before.logits(t, v) != after.logits(t, v);
        }
      }
    }
    EXPECT_TRUE(changed);
  }
}

TEST(Transformer, BadInput) {
  const ModelConfig config = Small();
  const Transformer<float> model(config);
  std::vector<float> parameters(model.layout().size());
  TransformerActivations<float> memory;
  const auto error = [&](absl::Span<const float> weights,
                         const Tensor<int32_t>& tokens) {
    return std::string(model.Forward(weights, tokens, memory).message());
  };
  EXPECT_THAT(
      error(absl::MakeSpan(parameters).subspan(1), Tensor<int32_t>({1, 1})),
      HasSubstr("parameters; allowed: "));
  EXPECT_EQ(error(parameters, Tensor<int32_t>({1, 10})),
            "tokens have shape [1, 10]; allowed: [B, T], B at least 1, T from "
            "1 to the context of 9");
  EXPECT_THAT(error(parameters, Tensor<int32_t>({3})),
              HasSubstr("tokens have shape [3]"));
  EXPECT_EQ(error(parameters, Tensor<int32_t>({1, 2}, {0, 7})),
            "token 7 at element 1; allowed: 0 to 6");
  EXPECT_EQ(error(parameters, Tensor<int32_t>({1, 2}, {-1, 0})),
            "token -1 at element 0; allowed: 0 to 6");
}

}  // namespace
}  // namespace softlookup
