#include "model/adamw.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/random/random.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

ModelConfig Small() {
  ModelConfig config;
  config.n_layers = 1;
  config.n_heads = config.n_key_value_heads = 1;
  config.d_model = config.d_head = 4;
  config.d_vocab = config.n_ctx = 3;
  config.biases = true;
  return config;
}

std::vector<float> Draw(RandomStream& stream, int64_t n, double scale) {
  std::vector<float> numbers(n);
  for (float& x : numbers) x = static_cast<float>(stream.Gaussian() * scale);
  return numbers;
}

// The published formulas in double.
TEST(AdamW, FollowsTheFormulas) {
  RandomStream stream(1, "adamw_test");
  const ParameterLayout layout(Small());
  const AdamWOptions options = {.decay = 0.3, .clip = 2};
  AdamW optimizer(layout, options);
  std::vector<float> weights = Draw(stream, layout.size(), 1);
  std::vector<double> w(weights.begin(), weights.end());
  std::vector<double> m(w.size());
  std::vector<double> v(w.size());
  std::vector<double> decay(w.size());
  for (const ParameterTensor& tensor : layout.tensors()) {
    // Vectors do not decay.
    const bool matrix = tensor.name.find("W_") != std::string::npos;
    ForEachElement([&](double& d) { d = matrix ? 0.3 : 0; },
                   layout.View(tensor, decay.data()));
  }
  for (int t = 1; t <= 5; ++t) {
    // Below and above the clipping.
    const std::vector<float> gradient =
        Draw(stream, layout.size(), t % 2 == 0 ? 0.01 : 3);
    double norm = 0;
    for (const float g : gradient) norm += static_cast<double>(g) * g;
    norm = std::sqrt(norm);
    EXPECT_NEAR(optimizer.Step(0.1, gradient, absl::MakeSpan(weights), {}),
                norm, 1e-5 * norm);
    for (size_t i = 0; i < w.size(); ++i) {
      const double g = gradient[i] * (norm > 2 ? 2 / norm : 1);
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.98 * v[i] + 0.02 * g * g;
      w[i] -= 0.1 * (m[i] / (1 - std::pow(0.9, t)) /
                         (std::sqrt(v[i] / (1 - std::pow(0.98, t))) + 1e-8) +
                     decay[i] * w[i]);
      ASSERT_NEAR(weights[i], w[i], 3e-6) << "step " << t << ", " << i;
    }
  }
  EXPECT_EQ(optimizer.steps(), 5);
}

TEST(AdamW, AGradientThatIsNotFiniteChangesNothing) {
  const ParameterLayout layout(Small());
  AdamW optimizer(layout, {});
  std::vector<float> weights(layout.size(), 1);
  std::vector<float> gradient(layout.size(), 1);
  gradient[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(
      std::isnan(optimizer.Step(0.1, gradient, absl::MakeSpan(weights), {})));
  EXPECT_EQ(weights, std::vector<float>(layout.size(), 1));
  EXPECT_EQ(optimizer.steps(), 0);
}

TEST(AdamW, GoesOnFromARestoredState) {
  RandomStream stream(2, "adamw_test");
  const ParameterLayout layout(Small());
  std::vector<float> straight = Draw(stream, layout.size(), 1);
  std::vector<float> resumed = straight;
  AdamW first(layout, {});
  AdamW second(layout, {});
  for (int t = 0; t < 6; ++t) {
    const std::vector<float> gradient = Draw(stream, layout.size(), 1);
    first.Step(0.01, gradient, absl::MakeSpan(straight), {});
    if (t == 3) {
      AdamW fresh(layout, {});
      ASSERT_TRUE(fresh
                      .Restore(second.steps(),
                               {second.mean().begin(), second.mean().end()},
                               {second.square().begin(), second.square().end()})
                      .ok());
      second = fresh;
    }
    second.Step(0.01, gradient, absl::MakeSpan(resumed), {});
  }
  EXPECT_EQ(straight, resumed);
  EXPECT_EQ(
      first.Restore(1, {}, {}).message(),
      "there are 0 and 0 moments; allowed: " + std::to_string(layout.size()));
}

TEST(CheckAdamWOptions, NamesTheOption) {
  const auto error = [](const AdamWOptions& options) {
    return std::string(CheckAdamWOptions(options).message());
  };
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(error({.beta1 = 1}), "beta1 is 1; allowed: 0 up to below 1");
  EXPECT_EQ(error({.beta2 = -0.5}), "beta2 is -0.5; allowed: 0 up to below 1");
  EXPECT_EQ(error({.epsilon = 0}), "epsilon is 0; allowed: a positive number");
  EXPECT_EQ(error({.decay = -1}),
            "decay is -1; allowed: 0 or a positive number");
  EXPECT_EQ(error({.clip = std::nan("")}),
            "clip is nan; allowed: 0 or a positive number");
}

}  // namespace
}  // namespace softlookup
