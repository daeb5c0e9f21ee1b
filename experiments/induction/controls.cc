#include "experiments/induction/controls.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/random/random.h"
#include "base/statistics/estimate.h"
#include "base/status.h"
#include "experiments/induction/phase_change.h"
#include "interpretability/repeated_sequences.h"
#include "interpretability/sequence_evaluation.h"
#include "interpretability/trained_heads.h"
#include "model/engine.h"

namespace softlookup {
namespace {

// The head that looks most like an induction head.
const TrainedHead& BestMatch(const std::vector<TrainedHead>& heads) {
  return *std::max_element(heads.begin(), heads.end(),
                           [](const TrainedHead& a, const TrainedHead& b) {
                             return Mean(a.prefix_matching) <
                                    Mean(b.prefix_matching);
                           });
}

absl::StatusOr<Json> TrainControl(const std::string& name,
                                  const RepeatTrainingOptions& options,
                                  const RepeatOptions& published, int64_t count,
                                  const kernels::KernelOptions& run) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const TrainedModel trained,
      TrainOnRepeats(options, run, {}, absl::StrCat("control ", name)));
  const Transformer<float> model(options.model, Engine<float>(run));
  RandomStream stream(options.seed, absl::StrCat("control ", name));
  const auto evaluate = [&](RepeatOptions data,
                            bool doubled) -> absl::StatusOr<Json> {
    data.batch = count;
    const RepeatedSequences drawn =
        doubled ? DrawDoubled(stream, data) : DrawRepeats(stream, data);
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const SequenceScores scores,
        EvaluateSequences(model, trained.weights, drawn));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const std::vector<TrainedHead> heads,
                                MeasurePatterns(model, trained.weights, drawn));
    const TrainedHead& best = BestMatch(heads);
    return Json{
        {"accuracy", EstimateJson(MeanEstimate(scores.accuracy))},
        {"first_loss", EstimateJson(MeanEstimate(scores.first_loss))},
        {"repeat_loss", EstimateJson(MeanEstimate(scores.repeat_loss))},
        {"prefix_matching", EstimateJson(MeanEstimate(best.prefix_matching))},
        {"previous_token", EstimateJson(MeanEstimate(best.previous_token))}};
  };
  SOFTLOOKUP_ASSIGN_OR_RETURN(Json json,
                              evaluate(options.data, options.doubled));
  json["steps"] = options.schedule.steps;
  if (!options.doubled) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(json["drawn"], evaluate(published, false));
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        json["period_transfer"],
        PeriodTransfer(model, trained.weights, published, options.seed,
                       std::max<int64_t>(2, count / 2)));
  }
  json["curve"] = CurveJson(trained.curve);
  json["window"] = MeasureWindow(trained.curve);
  return json;
}

}  // namespace

absl::StatusOr<Json> MeasureControls(const ControlOptions& options,
                                     const kernels::KernelOptions& run) {
  RepeatTrainingOptions one_layer = options.published;
  one_layer.model.n_layers = 1;
  const RepeatOptions& published = options.published.data;
  const auto shorter = [&](int64_t part) {
    RepeatTrainingOptions control = one_layer;
    control.schedule.steps =
        std::max<int64_t>(1, one_layer.schedule.steps / part);
    control.schedule.warmup =
        std::min(control.schedule.warmup, control.schedule.steps);
    return control;
  };
  Json controls;
  SOFTLOOKUP_ASSIGN_OR_RETURN(controls["drawn_period"],
                              TrainControl("drawn period", one_layer, published,
                                           options.sequences, run));

  RepeatTrainingOptions fixed = shorter(2);
  // Not the longest: a block without replacement that fills half of the
  // sequence teaches one layer to avoid what has come before, and there it
  // stays.
  fixed.data.min_period = fixed.data.max_period =
      (published.min_period + published.max_period) / 2;
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      controls["fixed_period"],
      TrainControl("fixed period", fixed, published, options.sequences, run));

  RepeatTrainingOptions doubled = shorter(4);
  doubled.doubled = true;
  SOFTLOOKUP_ASSIGN_OR_RETURN(controls["doubled"],
                              TrainControl("doubled tokens", doubled, published,
                                           options.sequences, run));

  RepeatTrainingOptions smeared = shorter(2);
  smeared.model.smeared_keys = true;
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      controls["smeared_keys"],
      TrainControl("smeared keys", smeared, published, options.sequences, run));
  return controls;
}

absl::StatusOr<Json> PeriodTransfer(const Transformer<float>& model,
                                    absl::Span<const float> weights,
                                    const RepeatOptions& data, uint64_t seed,
                                    int64_t sequences) {
  RandomStream stream(seed, "period transfer");
  Json transfer = Json::array();
  const int64_t longest = data.max_period;
  for (int64_t period = longest % 4 == 0 ? 4 : longest % 4; period <= longest;
       period += 4) {
    RepeatOptions one = data;
    one.batch = sequences;
    one.min_period = one.max_period = period;
    const RepeatedSequences drawn = DrawRepeats(stream, one);
    SOFTLOOKUP_ASSIGN_OR_RETURN(const SequenceScores scores,
                                EvaluateSequences(model, weights, drawn));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const std::vector<TrainedHead> heads,
                                MeasurePatterns(model, weights, drawn));
    transfer.push_back(
        {{"period", period},
         {"accuracy", EstimateJson(MeanEstimate(scores.accuracy))},
         {"prefix_matching",
          EstimateJson(MeanEstimate(BestMatch(heads).prefix_matching))}});
  }
  return transfer;
}

}  // namespace softlookup
