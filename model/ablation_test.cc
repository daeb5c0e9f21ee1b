#include "model/ablation.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/random/random.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"
#include "model/config.h"
#include "model/hooks.h"
#include "model/transformer.h"

namespace softlookup {
namespace {

constexpr int64_t kBatch = 3;
constexpr int64_t kPositions = 5;

// A model with random weights, three sequences, and what a pass with some
// edits computes.
struct Fixture {
  Fixture() : model(Config()) {
    RandomStream stream(1, "ablation_test");
    for (int64_t i = 0; i < model.layout().size(); ++i) {
      weights.push_back(stream.Gaussian());
    }
    tokens = Tensor<int32_t>({kBatch, kPositions});
    for (int32_t& token : tokens.elements()) {
      token = static_cast<int32_t>(stream.UniformInt(7));
    }
  }
  static ModelConfig Config() {
    ModelConfig config;
    config.n_heads = 3;
    config.n_key_value_heads = 3;
    config.d_model = 6;
    config.d_head = 2;
    config.d_vocab = 7;
    config.n_ctx = kPositions;
    return config;
  }
  // The activation at a point, and the logits, of a pass under `edits`.
  Tensor<double> Read(const std::string& name, Interventions<double>& edits) {
    ActivationCache<double> cache({name});
    JoinedHooks<double> both({&edits, &cache});
    Run(&both);
    return cache.at(name);
  }
  Tensor<double> Run(Hooks<double>* hooks = nullptr) {
    TransformerActivations<double> memory;
    const absl::Status status = model.Forward(weights, tokens, memory, hooks);
    EXPECT_TRUE(status.ok()) << status;
    return memory.logits;
  }
  Transformer<double> model;
  std::vector<double> weights;
  Tensor<int32_t> tokens;
};

constexpr char kZ[] = "blocks.1.attn.hook_z";
constexpr char kPattern[] = "blocks.1.attn.hook_pattern";

// What an ablation leaves at hook_z: `expected(b, t, k)` in head 1, all else as
// it was.
template <typename Function>
void ExpectHeadOne(const Tensor<double>& clean, const Tensor<double>& ablated,
                   const Function& expected) {
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t t = 0; t < kPositions; ++t) {
      for (int64_t h = 0; h < 3; ++h) {
        for (int64_t k = 0; k < 2; ++k) {
          EXPECT_EQ(ablated(b, t, h, k),
                    h == 1 ? expected(b, t, k) : clean(b, t, h, k))
              << b << " " << t << " " << h << " " << k;
        }
      }
    }
  }
}

TEST(Ablation, ReplacesOneHeadsOutput) {
  Fixture fixture;
  Interventions<double> none;
  const Tensor<double> clean = fixture.Read(kZ, none);

  Interventions<double> zero;
  ZeroHead(1, 1, zero);
  ExpectHeadOne(clean, fixture.Read(kZ, zero),
                [](int64_t, int64_t, int64_t) { return 0; });

  Interventions<double> mean;
  MeanHead(1, 1, clean, mean);
  ExpectHeadOne(
      clean, fixture.Read(kZ, mean), [&](int64_t, int64_t t, int64_t k) {
        return (clean(0, t, 1, k) + clean(1, t, 1, k) + clean(2, t, 1, k)) / 3;
      });

  Interventions<double> resample;
  ResampleHead(1, 1, clean, resample);
  ExpectHeadOne(clean, fixture.Read(kZ, resample),
                [&](int64_t b, int64_t t, int64_t k) {
                  return clean((b + 1) % 3, t, 1, k);
                });
}

TEST(Ablation, FrozenPatternsStayWhateverTheTokens) {
  Fixture fixture;
  Interventions<double> none;
  const Tensor<double> pattern = fixture.Read(kPattern, none);
  const Tensor<double> logits = fixture.Run();
  Interventions<double> frozen;
  FreezePattern(1, pattern, frozen);
  const Tensor<double> same = fixture.Run(&frozen);
  for (int64_t i = 0; i < logits.size(); ++i) {
    EXPECT_NEAR(same[i], logits[i], 1e-12);
  }
  for (int32_t& token : fixture.tokens.elements()) token = (token + 2) % 7;
  EXPECT_NE(fixture.Read(kPattern, none).elements(), pattern.elements());
  EXPECT_EQ(fixture.Read(kPattern, frozen).elements(), pattern.elements());
}

// A head whose every position attends to the first gives its value everywhere.
TEST(Ablation, ASubstitutedPatternIsWhatTheValuesAreMixedBy) {
  Fixture fixture;
  Interventions<double> none;
  const Tensor<double> values = fixture.Read("blocks.1.attn.hook_v", none);
  const Tensor<double> clean = fixture.Read(kZ, none);
  Tensor<double> first({kBatch, kPositions, kPositions});
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t t = 0; t < kPositions; ++t) first(b, t, 0) = 1;
  }
  Interventions<double> edits;
  SubstitutePattern(1, 1, first, edits);
  const Tensor<double> z = fixture.Read(kZ, edits);
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t t = 0; t < kPositions; ++t) {
      for (int64_t k = 0; k < 2; ++k) {
        EXPECT_NEAR(z(b, t, 1, k), values(b, 0, 1, k), 1e-15);
        EXPECT_NEAR(z(b, t, 0, k), clean(b, t, 0, k), 1e-13);
      }
    }
  }
}

TEST(Ablation, PatchesAnActivation) {
  Fixture fixture;
  Tensor<double> stream({kBatch, kPositions, 6});
  for (int64_t i = 0; i < stream.size(); ++i) {
    stream[i] = 0.1 * static_cast<double>(i);
  }
  Interventions<double> patch;
  PatchActivation("blocks.1.hook_resid_pre", stream, patch);
  EXPECT_EQ(fixture.Read("blocks.1.hook_resid_pre", patch).elements(),
            stream.elements());
}

TEST(AblationDeathTest, APatchOfAnotherShapeIsAProgrammersError) {
  Fixture fixture;
  Interventions<double> patch;
  PatchActivation("blocks.1.hook_resid_pre",
                  Tensor<double>({kBatch, kPositions, 5}), patch);
  EXPECT_DEATH(fixture.Run(&patch), "an activation of the point's shape");
}

// Hooks come in order: a reader sees what editors before it made, and not what
// later ones make.
TEST(JoinedHooks, RunInOrder) {
  Fixture fixture;
  Interventions<double> none;
  const Tensor<double> clean = fixture.Read(kZ, none);
  Interventions<double> zero;
  for (int64_t head = 0; head < 3; ++head) ZeroHead(1, head, zero);
  ActivationCache<double> before({kZ});
  ActivationCache<double> after({kZ});
  JoinedHooks<double> joined({&before, &zero, &after});
  fixture.Run(&joined);
  EXPECT_EQ(before.at(kZ).elements(), clean.elements());
  for (const double x : after.at(kZ).elements()) EXPECT_EQ(x, 0);
}

}  // namespace
}  // namespace softlookup
