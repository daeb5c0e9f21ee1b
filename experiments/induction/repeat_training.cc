#include "experiments/induction/repeat_training.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/random/random.h"
#include "base/statistics/estimate.h"
#include "base/status.h"
#include "base/timing.h"
#include "interpretability/sequence_evaluation.h"
#include "interpretability/trained_heads.h"
#include "model/ablation.h"
#include "model/checkpoint.h"
#include "model/hooks.h"
#include "model/trainer.h"

namespace softlookup {
namespace {

constexpr char kDataStream[] = "repeated sequences, training";
constexpr char kCurveStream[] = "repeated sequences, curve";

// Whatever changes a bit of the run: two runs that agree here are one.
Json TrainingParameters(const RepeatTrainingOptions& options) {
  const AdamWOptions& optimizer = options.optimizer;
  const RepeatOptions& data = options.data;
  Json json;
  json["seed"] = options.seed;
  json["model"] = ConfigToJson(options.model);
  json["batch"] = data.batch;
  json["positions"] = data.positions;
  json["vocabulary"] = data.vocabulary;
  json["min_period"] = data.min_period;
  json["max_period"] = data.max_period;
  json["replacement"] = data.replacement;
  json["doubled"] = options.doubled;
  json["beta1"] = optimizer.beta1;
  json["beta2"] = optimizer.beta2;
  json["epsilon"] = optimizer.epsilon;
  json["weight_decay"] = optimizer.decay;
  json["clip"] = optimizer.clip;
  json["rate"] = options.schedule.peak;
  json["warmup"] = options.schedule.warmup;
  json["steps"] = options.schedule.steps;
  json["rate_decay"] = DecayName(options.schedule.decay);
  json["curve_interval"] = options.curve_interval;
  json["curve_sequences"] = options.curve_sequences;
  return json;
}

// "steps is 100 there and 200 here", for the first that differs.
std::string Difference(const Json& there, const Json& here) {
  for (const auto& [name, value] : here.items()) {
    const auto found = there.find(name);
    if (found == there.end()) return absl::StrCat(name, " is missing there");
    if (*found == value) continue;
    if (value.is_object()) return Difference(*found, value);
    return absl::StrCat(name, " is ", found->dump(), " there and ",
                        value.dump(), " here");
  }
  return "it has parameters that this program does not know";
}

RepeatedSequences Draw(const RepeatTrainingOptions& options, int64_t batch,
                       RandomStream& stream) {
  RepeatOptions data = options.data;
  data.batch = batch;
  return options.doubled ? DrawDoubled(stream, data)
                         : DrawRepeats(stream, data);
}

absl::StatusOr<CurvePoint> MeasurePoint(const Trainer& trainer, int64_t step,
                                        const RepeatedSequences& sequences) {
  const ModelConfig& config = trainer.model().config();
  std::set<std::string> patterns;
  for (int64_t layer = 0; layer < config.n_layers; ++layer) {
    patterns.insert(AttentionPoint(layer, "hook_pattern"));
  }
  ActivationCache<float> cache(patterns);
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      SequenceScores scores,
      EvaluateSequences(trainer.model(), trainer.weights(), sequences, &cache));
  CurvePoint point;
  point.step = step;
  point.first_loss = Mean(scores.first_loss);
  point.repeat_loss = Mean(scores.repeat_loss);
  point.accuracy = Mean(scores.accuracy);
  point.in_context = Mean(scores.in_context);
  point.loss = std::move(scores.loss);
  point.heads.resize(config.n_layers);
  for (const TrainedHead& head :
       ScorePatterns(config, cache, sequences.tokens)) {
    point.heads[head.layer].push_back(
        {.prefix_matching = Mean(head.prefix_matching),
         .previous_token = Mean(head.previous_token),
         .duplicate_token = Mean(head.duplicate_token)});
  }
  return point;
}

Json PointJson(const CurvePoint& point) {
  Json json;
  json["step"] = point.step;
  json["loss"] = Mean(point.loss);
  json["first_loss"] = point.first_loss;
  json["repeat_loss"] = point.repeat_loss;
  json["accuracy"] = point.accuracy;
  json["in_context"] = point.in_context;
  json["heads"] = Json::array();
  for (const std::vector<HeadPoint>& layer : point.heads) {
    Json heads = Json::array();
    for (const HeadPoint& head : layer) {
      heads.push_back({{"prefix_matching", head.prefix_matching},
                       {"previous_token", head.previous_token},
                       {"duplicate_token", head.duplicate_token}});
    }
    json["heads"].push_back(std::move(heads));
  }
  return json;
}

// The curve as a checkpoint keeps it, with nothing left out.
std::string RecordText(const std::vector<CurvePoint>& curve) {
  Json record = Json::array();
  for (const CurvePoint& point : curve) {
    Json json = PointJson(point);
    json["losses"] = point.loss;
    record.push_back(std::move(json));
  }
  return record.dump();
}

absl::StatusOr<std::vector<CurvePoint>> ParseRecord(const std::string& text,
                                                    const std::string& path) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const Json record, ParseJson(text, absl::StrCat(path, ": the record")));
  std::vector<CurvePoint> curve;
  try {
    for (const Json& json : record) {
      CurvePoint point;
      point.step = json.at("step").get<int64_t>();
      point.loss = json.at("losses").get<std::vector<double>>();
      point.first_loss = json.at("first_loss").get<double>();
      point.repeat_loss = json.at("repeat_loss").get<double>();
      point.accuracy = json.at("accuracy").get<double>();
      point.in_context = json.at("in_context").get<double>();
      for (const Json& layer : json.at("heads")) {
        point.heads.emplace_back();
        for (const Json& head : layer) {
          point.heads.back().push_back(
              {.prefix_matching = head.at("prefix_matching").get<double>(),
               .previous_token = head.at("previous_token").get<double>(),
               .duplicate_token = head.at("duplicate_token").get<double>()});
        }
      }
      curve.push_back(std::move(point));
    }
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": no record of a training run: ", error.what()));
  }
  return curve;
}

// A run under way: what a checkpoint holds, in memory.
class Run {
 public:
  Run(const RepeatTrainingOptions& options, const kernels::KernelOptions& run,
      const TrainingFiles& files)
      : options_(options),
        files_(files),
        parameters_(TrainingParameters(options)),
        trainer_(options.model, options.optimizer, options.seed, run),
        data_(options.seed, kDataStream) {}

  absl::Status Resume() {
    SOFTLOOKUP_ASSIGN_OR_RETURN(SavedTraining saved,
                                LoadTraining(files_.checkpoint));
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        Json there,
        ParseJson(saved.parameters,
                  absl::StrCat(files_.checkpoint, ": its parameters")));
    // The file's own config, which it gives under the names of today.
    there["model"] = ConfigToJson(saved.model.config);
    if (there != parameters_) {
      return absl::InvalidArgumentError(
          absl::StrCat(files_.checkpoint,
                       ": another run's: ", Difference(there, parameters_)));
    }
    const auto stream = saved.streams.find(kDataStream);
    if (stream == saved.streams.end() ||
        saved.steps > options_.schedule.steps) {
      return absl::InvalidArgumentError(
          absl::StrCat(files_.checkpoint, ": no run of this experiment"));
    }
    SOFTLOOKUP_ASSIGN_OR_RETURN(curve_,
                                ParseRecord(saved.record, files_.checkpoint));
    data_.Seek(stream->second);
    return trainer_.Restore(saved.steps, std::move(saved.model.weights),
                            std::move(saved.mean), std::move(saved.square));
  }

  absl::Status Save() const {
    if (files_.checkpoint.empty()) return absl::OkStatus();
    const AdamW& optimizer = trainer_.optimizer();
    SavedTraining saved;
    saved.model = {options_.model, trainer_.weights()};
    saved.parameters = parameters_.dump();
    saved.steps = optimizer.steps();
    saved.mean.assign(optimizer.mean().begin(), optimizer.mean().end());
    saved.square.assign(optimizer.square().begin(), optimizer.square().end());
    saved.streams[kDataStream] = data_.position();
    saved.record = RecordText(curve_);
    return SaveTraining(files_.checkpoint, saved);
  }

  absl::StatusOr<TrainedModel> Train(const std::string& title) {
    RandomStream curve_stream(options_.seed, kCurveStream);
    const RepeatedSequences watched =
        Draw(options_, options_.curve_sequences, curve_stream);
    const int64_t steps = options_.schedule.steps;
    const InterruptRequest interrupt;
    Progress progress(title, steps);
    TrainedModel trained;
    for (int64_t step = trainer_.optimizer().steps(); step < steps; ++step) {
      if (step % options_.curve_interval == 0) {
        SOFTLOOKUP_RETURN_IF_ERROR(AddPoint(step, watched));
      }
      const double start = SecondsNow();
      const RepeatedSequences drawn =
          Draw(options_, options_.data.batch, data_);
      SOFTLOOKUP_ASSIGN_OR_RETURN(
          const TrainingStep done,
          trainer_.Step(drawn.tokens, drawn.targets,
                        RateAt(options_.schedule, step)));
      trained.seconds += SecondsNow() - start;
      ++trained.steps;
      progress.Update(
          step + 1,
          absl::StrFormat("loss %.3f, accuracy on repeats %.3f", done.loss,
                          curve_.empty() ? 0 : curve_.back().accuracy));
      const bool asked = interrupt.Asked();
      if (asked || (step + 1) % files_.interval == 0) {
        SOFTLOOKUP_RETURN_IF_ERROR(Save());
      }
      if (asked) {
        return absl::CancelledError(
            files_.checkpoint.empty()
                ? absl::StrCat("stopped after step ", step + 1,
                               "; nothing was to be saved")
                : absl::StrCat("stopped after step ", step + 1, "; saved to ",
                               files_.checkpoint,
                               "; the same command with --resume goes on"));
      }
    }
    if (curve_.empty() || curve_.back().step != steps) {
      SOFTLOOKUP_RETURN_IF_ERROR(AddPoint(steps, watched));
    }
    SOFTLOOKUP_RETURN_IF_ERROR(Save());
    trained.weights = trainer_.weights();
    trained.curve = std::move(curve_);
    return trained;
  }

 private:
  absl::Status AddPoint(int64_t step, const RepeatedSequences& watched) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(CurvePoint point,
                                MeasurePoint(trainer_, step, watched));
    curve_.push_back(std::move(point));
    return absl::OkStatus();
  }

  const RepeatTrainingOptions& options_;
  const TrainingFiles& files_;
  const Json parameters_;
  Trainer trainer_;
  RandomStream data_;
  std::vector<CurvePoint> curve_;
};

}  // namespace

absl::Status CheckRepeatTraining(const RepeatTrainingOptions& options) {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckConfig(options.model));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckRepeats(options.data));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckAdamWOptions(options.optimizer));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckSchedule(options.schedule));
  for (const auto& [name, value] :
       {std::pair("curve_interval", options.curve_interval),
        std::pair("curve_sequences", options.curve_sequences)}) {
    if (value < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is ", value, "; allowed: 1 or more"));
    }
  }
  if (options.data.positions > options.model.n_ctx) {
    return absl::InvalidArgumentError(absl::StrCat(
        "positions is ", options.data.positions,
        "; allowed: up to the model's n_ctx of ", options.model.n_ctx));
  }
  if (options.data.positions <= kEdge) {
    return absl::InvalidArgumentError(
        absl::StrCat("positions is ", options.data.positions,
                     "; allowed: ", kEdge + 1, " or more"));
  }
  if (options.data.vocabulary != options.model.d_vocab) {
    return absl::InvalidArgumentError(absl::StrCat(
        "vocabulary is ", options.data.vocabulary,
        "; allowed: the model's d_vocab, ", options.model.d_vocab));
  }
  return absl::OkStatus();
}

absl::StatusOr<TrainedModel> TrainOnRepeats(
    const RepeatTrainingOptions& options, const kernels::KernelOptions& run,
    const TrainingFiles& files, const std::string& title) {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckRepeatTraining(options));
  Run training(options, run, files);
  if (files.resume) SOFTLOOKUP_RETURN_IF_ERROR(training.Resume());
  return training.Train(title);
}

Json CurveJson(const std::vector<CurvePoint>& curve) {
  Json json = Json::array();
  for (const CurvePoint& point : curve) json.push_back(PointJson(point));
  return json;
}

}  // namespace softlookup
