// Induction: a two-layer transformer learns to continue repeated sequences, and
// the two heads that do it are found by taking heads away.
//
// The chapter, section 4 and experiment 6: the learning curve and its phase
// change; what the heads look like; which of them the loss depends on, and by
// which path; what their weights say; what ideal patterns in their place do;
// and one-layer models as controls.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/random/random.h"
#include "base/saturating.h"
#include "base/statistics/estimate.h"
#include "base/status.h"
#include "base/tensor/tensor.h"
#include "experiments/frame/experiment.h"
#include "experiments/frame/experiment_parameters.h"
#include "experiments/induction/controls.h"
#include "experiments/induction/phase_change.h"
#include "experiments/induction/print.h"
#include "experiments/induction/repeat_training.h"
#include "experiments/induction/training_flags.h"
#include "interpretability/head_composition.h"
#include "interpretability/head_interventions.h"
#include "interpretability/repeated_sequences.h"
#include "interpretability/trained_heads.h"
#include "model/ablation.h"
#include "model/checkpoint.h"
#include "model/config.h"
#include "model/engine.h"
#include "model/hooks.h"
#include "model/schedule.h"
#include "model/transformer.h"

// The parameters.
// Of the eight seeds of the sweep one, the first, grows two heads that share
// the previous-token work; the second is of the common kind.
ABSL_FLAG(uint64_t, seed, 2, "Seed of all random streams.");
ABSL_FLAG(int64_t, n_layers, 2, "Layers of the model.");
ABSL_FLAG(int64_t, n_heads, 2, "Heads per layer.");
ABSL_FLAG(int64_t, n_key_value_heads, 0,
          "Key and value heads per layer, which share the heads; 0: as many as "
          "n_heads.");
ABSL_FLAG(int64_t, d_model, 64, "Width of the residual stream.");
ABSL_FLAG(int64_t, d_head, 32, "Width of a head.");
ABSL_FLAG(int64_t, d_mlp, 0, "Width of the MLP; 0: none.");
ABSL_FLAG(std::string, act_fn, "gelu", "Of the MLP: relu, gelu.");
ABSL_FLAG(std::string, normalization_type, "none",
          "At the start of every branch and before the unembedding: none, RMS, "
          "LN.");
ABSL_FLAG(std::string, positional_embedding_type, "standard",
          "How the model knows positions: none, standard, rotary, alibi.");
ABSL_FLAG(bool, biases, false, "Whether the projections have biases.");
ABSL_FLAG(bool, tied, false, "Whether the unembedding is the embedding.");
ABSL_FLAG(bool, smeared_keys, false,
          "Whether a key is mixed with the one before it.");
ABSL_FLAG(int64_t, d_vocab, 64, "Different tokens.");
ABSL_FLAG(int64_t, n_ctx, 64, "Tokens of a sequence.");
ABSL_FLAG(int64_t, min_period, 8, "The shortest period of a sequence.");
ABSL_FLAG(int64_t, max_period, 32, "The longest period.");
ABSL_FLAG(bool, replacement, false,
          "Whether a block may hold the same token twice.");
ABSL_FLAG(int64_t, batch, 32, "Sequences per step.");
ABSL_FLAG(int64_t, steps, 1200, "Steps of the training.");
ABSL_FLAG(double, rate, 3e-3, "Learning rate of AdamW.");
ABSL_FLAG(int64_t, warmup, 0, "Steps over which the rate rises.");
ABSL_FLAG(std::string, lr_schedule, "constant",
          "How the rate falls afterwards: constant, linear, cosine.");
ABSL_FLAG(double, beta1, 0.9, "AdamW's memory of the gradient.");
ABSL_FLAG(double, beta2, 0.98, "AdamW's memory of its square.");
ABSL_FLAG(double, weight_decay, 0.01, "AdamW's decay of the weights.");
ABSL_FLAG(double, clip, 1, "Largest norm of the gradient; 0: no limit.");
ABSL_FLAG(int64_t, curve_interval, 25,
          "Steps from point to point of the learning curve.");
ABSL_FLAG(int64_t, curve_sequences, 64, "Sequences that a point is taken on.");
ABSL_FLAG(int64_t, sequences, 256,
          "Sequences that the trained model is looked at with.");
ABSL_FLAG(int64_t, baseline_draws, 200,
          "Random heads that composition scores are compared with.");
ABSL_FLAG(bool, controls, true, "Whether to train the one-layer controls.");

namespace softlookup {
namespace {

// An error about an option, as one about the flag of that name.
absl::Status AsFlag(const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("--", status.message()));
}

// Refuses what no machine would hold, before it is tried.
absl::Status CheckSizes(const RepeatTrainingOptions& options) {
  const ModelConfig& model = options.model;
  const int64_t positions = options.data.positions;
  const int64_t watched = std::max(absl::GetFlag(FLAGS_sequences),
                                   absl::GetFlag(FLAGS_curve_sequences));
  // As they are, and twice more while they are frozen or substituted.
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckMemory("the attention patterns of all sequences",
                  SaturatingProduct({3 * 4, watched, model.n_layers,
                                     model.n_heads, positions, positions})));
  // In a layer: the stream, queries, keys and values with their gradients, the
  // MLP; then the logits.
  const int64_t projected =
      (2 * model.n_heads + 2 * model.n_key_value_heads) * model.d_head;
  const int64_t layer = 4 * model.d_model + 2 * projected + 4 * model.d_mlp;
  return CheckMemory(
      "the activations of all sequences",
      SaturatingProduct({4, std::max(watched, options.data.batch), positions,
                         model.n_layers * layer + 3 * model.d_vocab}));
}

absl::StatusOr<RepeatTrainingOptions> Options() {
  RepeatTrainingOptions options;
  ModelConfig& model = options.model;
  for (const auto& [name, value, low, high] :
       std::vector<std::tuple<std::string, int64_t, int64_t, int64_t>>{
           {"n_layers", absl::GetFlag(FLAGS_n_layers), 2, 16},
           {"n_heads", absl::GetFlag(FLAGS_n_heads), 1, 64},
           {"n_key_value_heads", absl::GetFlag(FLAGS_n_key_value_heads), 0, 64},
           {"d_model", absl::GetFlag(FLAGS_d_model), 1, 1024},
           {"d_head", absl::GetFlag(FLAGS_d_head), 1, 256},
           {"d_mlp", absl::GetFlag(FLAGS_d_mlp), 0, 8192},
           {"d_vocab", absl::GetFlag(FLAGS_d_vocab), 2, 4096},
           {"n_ctx", absl::GetFlag(FLAGS_n_ctx), 9, 1024},
           {"min_period", absl::GetFlag(FLAGS_min_period), 1, 512},
           {"max_period", absl::GetFlag(FLAGS_max_period), 1, 512},
           {"batch", absl::GetFlag(FLAGS_batch), 1, 1024},
           {"steps", absl::GetFlag(FLAGS_steps), 1, 1000000},
           {"warmup", absl::GetFlag(FLAGS_warmup), 0, 1000000},
           {"curve_interval", absl::GetFlag(FLAGS_curve_interval), 1, 1000000},
           {"curve_sequences", absl::GetFlag(FLAGS_curve_sequences), 2, 1024},
           {"sequences", absl::GetFlag(FLAGS_sequences), 4, 4096},
           {"baseline_draws", absl::GetFlag(FLAGS_baseline_draws), 4,
            100000}}) {
    SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter(name, value, low, high));
  }
  for (const auto& [name, value, low, high] :
       std::vector<std::tuple<std::string, double, double, double>>{
           {"rate", absl::GetFlag(FLAGS_rate), 1e-9, 1e3},
           {"weight_decay", absl::GetFlag(FLAGS_weight_decay), 0, 1e3},
           {"clip", absl::GetFlag(FLAGS_clip), 0, 1e9}}) {
    SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter(name, value, low, high));
  }
  model.n_layers = absl::GetFlag(FLAGS_n_layers);
  model.n_heads = absl::GetFlag(FLAGS_n_heads);
  model.n_key_value_heads = absl::GetFlag(FLAGS_n_key_value_heads) == 0
                                ? model.n_heads
                                : absl::GetFlag(FLAGS_n_key_value_heads);
  model.d_model = absl::GetFlag(FLAGS_d_model);
  model.d_head = absl::GetFlag(FLAGS_d_head);
  model.d_mlp = absl::GetFlag(FLAGS_d_mlp);
  const auto activation = ParseActFn(absl::GetFlag(FLAGS_act_fn));
  SOFTLOOKUP_RETURN_IF_ERROR(AsFlag(activation.status()));
  model.act_fn = *activation;
  const auto norm =
      ParseNormalizationType(absl::GetFlag(FLAGS_normalization_type));
  SOFTLOOKUP_RETURN_IF_ERROR(AsFlag(norm.status()));
  model.normalization_type = *norm;
  model.final_norm = model.normalization_type != NormalizationType::kNone;
  const auto positions = ParsePositionalEmbeddingType(
      absl::GetFlag(FLAGS_positional_embedding_type));
  SOFTLOOKUP_RETURN_IF_ERROR(AsFlag(positions.status()));
  model.positional_embedding_type = *positions;
  model.biases = absl::GetFlag(FLAGS_biases);
  model.tied = absl::GetFlag(FLAGS_tied);
  model.smeared_keys = absl::GetFlag(FLAGS_smeared_keys);
  model.d_vocab = absl::GetFlag(FLAGS_d_vocab);
  model.n_ctx = absl::GetFlag(FLAGS_n_ctx);
  options.data = {.batch = absl::GetFlag(FLAGS_batch),
                  .positions = absl::GetFlag(FLAGS_n_ctx),
                  .vocabulary = absl::GetFlag(FLAGS_d_vocab),
                  .min_period = absl::GetFlag(FLAGS_min_period),
                  .max_period = absl::GetFlag(FLAGS_max_period),
                  .replacement = absl::GetFlag(FLAGS_replacement)};
  options.optimizer = {.beta1 = absl::GetFlag(FLAGS_beta1),
                       .beta2 = absl::GetFlag(FLAGS_beta2),
                       .weight_decay = absl::GetFlag(FLAGS_weight_decay),
                       .clip = absl::GetFlag(FLAGS_clip)};
  options.schedule = {.peak = absl::GetFlag(FLAGS_rate),
                      .warmup = absl::GetFlag(FLAGS_warmup),
                      .steps = absl::GetFlag(FLAGS_steps)};
  const auto shape = ParseScheduleShape(absl::GetFlag(FLAGS_lr_schedule));
  SOFTLOOKUP_RETURN_IF_ERROR(AsFlag(shape.status()));
  options.schedule.shape = *shape;
  options.seed = absl::GetFlag(FLAGS_seed);
  options.curve_interval = absl::GetFlag(FLAGS_curve_interval);
  options.curve_sequences = absl::GetFlag(FLAGS_curve_sequences);
  SOFTLOOKUP_RETURN_IF_ERROR(AsFlag(CheckRepeatTraining(options)));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckSizes(options));
  return options;
}

Json HeadsJson(const std::vector<TrainedHead>& heads) {
  Json json = Json::array();
  for (const TrainedHead& head : heads) {
    Json entry = HeadNameJson({head.layer, head.head});
    for (const auto& [name, draws] :
         {std::pair("prefix_matching", &head.prefix_matching),
          std::pair("previous_token", &head.previous_token),
          std::pair("duplicate_token", &head.duplicate_token),
          std::pair("copying", &head.copying)}) {
      entry[name] = EstimateJson(MeanEstimate(*draws));
    }
    entry["eigenvalue_copying"] = head.eigenvalue_copying;
    entry["previous_by_position"] = head.previous_by_position;
    json.push_back(std::move(entry));
  }
  return json;
}

// The two heads and, for comparison, the costliest other head of the first
// one's layer and the least costly one of the second's, each with what it looks
// like and what it is for: {"previous_token", "induction", "other_first",
// "other_induction"}; without the last two where a layer has one head.
Json FoundJson(const Json& heads, const Json& single_heads,
               const HeadPair& pair, int64_t early) {
  Json found;
  const auto cost = [](const Json& entry) {
    return entry["zero"]["loss_increase"]["value"].get<double>();
  };
  for (size_t i = 0; i < heads.size(); ++i) {
    const HeadName name = {heads[i]["layer"].get<int64_t>(),
                           heads[i]["head"].get<int64_t>()};
    Json entry = single_heads[i];
    entry.update(heads[i]);
    // To the position before, where a later position may look for it.
    const Json& by_position = heads[i]["previous_by_position"];
    double sum = 0;
    for (int64_t t = 0; t < early; ++t) sum += by_position[t].get<double>();
    entry["previous_token_early"] = sum / static_cast<double>(early);
    entry.erase("previous_by_position");
    if (name == pair.previous_token) {
      found["previous_token"] = entry;
    } else if (name == pair.induction) {
      found["induction"] = entry;
    } else if (name.layer == pair.previous_token.layer) {
      if (!found.contains("other_first") ||
          cost(entry) > cost(found["other_first"])) {
        found["other_first"] = entry;
      }
    } else if (name.layer == pair.induction.layer) {
      if (!found.contains("other_induction") ||
          cost(entry) < cost(found["other_induction"])) {
        found["other_induction"] = entry;
      }
    }
  }
  return found;
}

// One sequence and what the two heads attend to on it.
absl::StatusOr<Json> ExampleJson(const Transformer<float>& model,
                                 absl::Span<const float> weights,
                                 const RepeatTrainingOptions& options,
                                 const HeadPair& pair) {
  RandomStream stream(options.seed, "example sequence");
  RepeatOptions data = options.data;
  data.batch = 1;
  const int64_t middle = (data.min_period + data.max_period) / 2;
  data.min_period = data.max_period = middle;
  const RepeatedSequences drawn = DrawRepeats(stream, data);
  ActivationCache<float> cache(
      {AttentionPoint(pair.previous_token.layer, "hook_pattern"),
       AttentionPoint(pair.induction.layer, "hook_pattern")});
  TransformerActivations<float> memory;
  SOFTLOOKUP_RETURN_IF_ERROR(
      model.Forward(weights, drawn.tokens, memory, &cache));
  Json json;
  json["period"] = middle;
  json["tokens"] = drawn.tokens.elements();
  for (const auto& [name, head] :
       {std::pair<std::string, HeadName>{"previous_token", pair.previous_token},
        {"induction", pair.induction}}) {
    const Tensor<float>& patterns =
        cache.at(AttentionPoint(head.layer, "hook_pattern"));
    Json rows = Json::array();
    for (int64_t i = 0; i < data.positions; ++i) {
      const float* row = &patterns(0, head.head, i, 0);
      rows.push_back(std::vector<double>(row, row + i + 1));
    }
    json[name] = std::move(rows);
  }
  return json;
}

absl::StatusOr<ExperimentRun<Json>> Run() {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const RepeatTrainingOptions options, Options());
  SOFTLOOKUP_ASSIGN_OR_RETURN(const TrainingSetup setup,
                              TrainingSetup::FromFlags("induction"));
  ExperimentRun<Json> run;
  run.provenance = setup.Provenance();
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const TrainedModel trained,
      TrainOnRepeats(options, setup.run(), setup.files()));
  const Transformer<float> model(options.model, Engine<float>(setup.run()));
  if (!setup.model_path().empty()) {
    SOFTLOOKUP_RETURN_IF_ERROR(
        SaveModel(setup.model_path(), model.layout(), trained.weights));
  }
  const absl::Span<const float> weights = trained.weights;
  Json& results = run.results;
  BitHash hash;
  hash.Add<float>(weights);
  results["model"] = {{"parameters", model.layout().size()},
                      {"weights_hash", absl::StrCat(absl::Hex(
                                           hash.value(), absl::kZeroPad16))}};

  RandomStream stream(options.seed, "repeated sequences, evaluation");
  RepeatOptions data = options.data;
  data.batch = absl::GetFlag(FLAGS_sequences);
  const RepeatedSequences sequences = DrawRepeats(stream, data);
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const HeadInterventions interventions,
      HeadInterventions::Make(model, weights, sequences));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Json single_heads,
                              interventions.SingleHeads());
  const HeadPair pair = ChooseHeads(single_heads, options.model.n_layers);
  results["clean"] = interventions.EffectJson(interventions.clean());
  results["clean"]["in_context"] =
      EstimateJson(MeanEstimate(interventions.clean().in_context));
  results["chosen"] = {{"previous_token", HeadNameJson(pair.previous_token)},
                       {"induction", HeadNameJson(pair.induction)}};
  results["curve"] = CurveJson(trained.curve);
  results["phase_change"] = MeasurePhaseChange(trained.curve, pair);
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::vector<TrainedHead> heads,
                              MeasureHeads(model, weights, sequences));
  results["heads"] = HeadsJson(heads);
  results["single_heads"] = single_heads;
  results["found"] = FoundJson(results["heads"], results["single_heads"], pair,
                               options.data.min_period);
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["layers"], interventions.Layers());
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["paths"], interventions.Paths(pair));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["ideal_patterns"],
                              interventions.IdealPatterns(pair));
  if (options.model.normalization_type == NormalizationType::kNone &&
      options.model.d_mlp == 0) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        results["expansion_difference"],
        ExpansionDifference(options.model, weights, sequences.tokens, 2));
  }
  results["composition"] =
      MeasureComposition(model.layout(), weights, options.seed,
                         absl::GetFlag(FLAGS_baseline_draws));
  results["circuits"] = MeasureFullCircuits(model.layout(), weights, pair);
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      results["period_transfer"],
      PeriodTransfer(model, weights, options.data, options.seed,
                     std::max<int64_t>(2, sequences.tokens.dim(0) / 4)));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["example"],
                              ExampleJson(model, weights, options, pair));
  if (absl::GetFlag(FLAGS_controls)) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        results["controls"],
        MeasureControls({.published = options}, setup.run()));
  }
  run.measurements["training_seconds"] = trained.seconds;
  run.measurements["training_steps"] = trained.steps;
  if (!setup.model_path().empty()) {
    std::printf("Model: %s\n", setup.model_path().c_str());
  }
  run.written = [path = setup.files().checkpoint] {
    // One that is left does no harm.
    std::remove(path.c_str());
  };
  return run;
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::ExperimentMain<softlookup::Json>(
      argc, argv,
      {.name = "induction",
       .question = "Which two heads does a two-layer model grow that continue "
                   "a repetition, and what happens without them?",
       .run = softlookup::Run,
       .print = softlookup::PrintInduction,
       .renamed_flags = {{"activation", "act_fn"},
                         {"context", "n_ctx"},
                         {"decay", "lr_schedule"},
                         {"head_width", "d_head"},
                         {"heads", "n_heads"},
                         {"key_heads", "n_key_value_heads"},
                         {"layers", "n_layers"},
                         {"mlp_width", "d_mlp"},
                         {"norm", "normalization_type"},
                         {"positions", "positional_embedding_type"},
                         {"vocabulary", "d_vocab"},
                         {"width", "d_model"}}});
}
