#include "experiments/saturation/training.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "attention/attention.h"

namespace softlookup {
namespace {

constexpr double kAccuracy = 0.9;
// Relative to the common rate. Too large a rate destroys a model, too small a
// one wastes steps: each model's best lies inside.
constexpr double kRateFactors[] = {1, 0.3, 3, 10, 30, 100};

enum class Model { kScaled, kUnscaled, kUnscaledStart };

Retriever<double> StartingModel(Model kind, const RetrievalSizes& sizes,
                                uint64_t seed) {
  const double scale = AttentionScale({}, sizes.d_head);
  if (kind == Model::kUnscaled) return InitialRetriever(sizes, 1, 1, seed);
  // Two factors of d_k^(1/4) undo the scale.
  const double gain = kind == Model::kUnscaledStart ? std::sqrt(1 / scale) : 1;
  return InitialRetriever(sizes, scale, gain, seed);
}

double Length(const Tensor<double>& tensor) {
  double square = 0;
  for (const double element : tensor.elements()) square += element * element;
  return std::sqrt(square);
}

// The scores of `model` multiplied by `factor`.
Retriever<double> Sharpened(Retriever<double> model, double factor) {
  model.scale *= factor;
  return model;
}

struct Setting {
  Optimiser optimiser;
  double rate;
};

// The curves of several replicates, averaged at each step.
std::vector<RetrievalScore> MeanCurve(
    const std::vector<std::vector<RetrievalScore>>& curves) {
  std::vector<RetrievalScore> mean_curve;
  for (size_t step = 0; step < curves[0].size(); ++step) {
    const auto mean_of = [&curves, step](double RetrievalScore::*member) {
      std::vector<double> values;
      for (const auto& curve : curves) values.push_back(curve[step].*member);
      return Mean(values);
    };
    mean_curve.push_back(
        {.loss = mean_of(&RetrievalScore::loss),
         .accuracy = mean_of(&RetrievalScore::accuracy),
         .target_weight = mean_of(&RetrievalScore::target_weight),
         .largest_weight = mean_of(&RetrievalScore::largest_weight),
         .entropy = mean_of(&RetrievalScore::entropy),
         .score_deviation = mean_of(&RetrievalScore::score_deviation)});
  }
  return mean_curve;
}

// One replicate: its task and what its models did.
class Replicate {
 public:
  Replicate(const TrainingComparisonOptions& options, int64_t index)
      : options_(options),
        sizes_{.d_head = options.d_head},
        seed_(options.seed + static_cast<uint64_t>(index)),
        task_(sizes_, seed_) {}

  const RetrievalSizes& sizes() const { return sizes_; }
  const RetrievalTask& task() const { return task_; }

  Retriever<double> Start(Model kind) const {
    return StartingModel(kind, sizes_, seed_);
  }

  // Trains for all steps and leaves the result in `model`.
  std::vector<RetrievalScore> Run(const Setting& setting,
                                  Retriever<double>& model) const {
    return Train(task_,
                 {.optimiser = setting.optimiser,
                  .rate = setting.rate,
                  .steps = options_.steps},
                 model);
  }

  // The same where there is nothing to find.
  std::vector<RetrievalScore> RunOnRandomTargets(
      const Setting& setting, Retriever<double>& model) const {
    const RetrievalTask task(sizes_, seed_, RetrievalTargets::kRandom);
    return Train(task,
                 {.optimiser = setting.optimiser,
                  .rate = setting.rate,
                  .steps = options_.steps},
                 model);
  }

  // The fewest steps to the accuracy over the grid of rates; one
  // more than the limit if none reaches it.
  double BestSteps(const Setting& setting, Model kind) const {
    int64_t best = options_.steps + 1;
    for (const double factor : kRateFactors) {
      Retriever<double> model = Start(kind);
      const std::vector<RetrievalScore> curve =
          Train(task_,
                {.optimiser = setting.optimiser,
                 .rate = setting.rate * factor,
                 .steps = best - 1,
                 .stop_at_accuracy = kAccuracy},
                model);
      best = std::min(best, StepsToAccuracy(curve, kAccuracy));
    }
    return static_cast<double>(best);
  }

  // Steps of a scaled model that starts from other weights.
  double StepsOfAnother(const Setting& setting) const {
    Retriever<double> model =
        StartingModel(Model::kScaled, sizes_, seed_ + 1000000);
    const std::vector<RetrievalScore> curve =
        Train(task_,
              {.optimiser = setting.optimiser,
               .rate = setting.rate,
               .steps = options_.steps,
               .stop_at_accuracy = kAccuracy},
              model);
    return static_cast<double>(StepsToAccuracy(curve, kAccuracy));
  }

 private:
  const TrainingComparisonOptions options_;
  const RetrievalSizes sizes_;
  const uint64_t seed_;
  const RetrievalTask task_;
};

std::vector<double> Quotients(const std::vector<double>& numerators,
                              const std::vector<double>& denominators) {
  std::vector<double> quotients;
  for (size_t i = 0; i < numerators.size(); ++i) {
    quotients.push_back(numerators[i] / denominators[i]);
  }
  return quotients;
}

// Without the comparison with the scaled model.
ModelRuns RunModel(Model kind, const std::vector<Replicate>& replicates,
                   const Setting& setting) {
  ModelRuns runs;
  std::vector<std::vector<RetrievalScore>> curves;
  for (const Replicate& replicate : replicates) {
    Retriever<double> model = replicate.Start(kind);
    curves.push_back(replicate.Run(setting, model));
    runs.steps_to_accuracy.push_back(
        static_cast<double>(StepsToAccuracy(curves.back(), kAccuracy)));
    runs.steps_to_accuracy_at_best_rate.push_back(
        replicate.BestSteps(setting, kind));
  }
  runs.curve = MeanCurve(curves);
  return runs;
}

SpeedComparison CompareSpeed(const std::vector<Replicate>& replicates,
                             const Setting& setting) {
  SpeedComparison comparison = {
      .rate = setting.rate,
      .scaled = RunModel(Model::kScaled, replicates, setting),
      .unscaled = RunModel(Model::kUnscaled, replicates, setting),
      .unscaled_start = RunModel(Model::kUnscaledStart, replicates, setting)};
  const ModelRuns& scaled = comparison.scaled;
  for (ModelRuns* runs :
       {&comparison.scaled, &comparison.unscaled, &comparison.unscaled_start}) {
    runs->slowdown = GeometricMeanEstimate(
        Quotients(runs->steps_to_accuracy, scaled.steps_to_accuracy));
    runs->best_rate_slowdown =
        GeometricMeanEstimate(Quotients(runs->steps_to_accuracy_at_best_rate,
                                        scaled.steps_to_accuracy_at_best_rate));
  }
  std::vector<double> another;
  for (const Replicate& replicate : replicates) {
    another.push_back(replicate.StepsOfAnother(setting));
  }
  comparison.scaled_again =
      GeometricMeanEstimate(Quotients(another, scaled.steps_to_accuracy));
  return comparison;
}

// What each model is like before the first step.
void MeasureStart(const std::vector<Replicate>& replicates,
                  TrainingResults& results) {
  const auto measure = [&replicates](Model kind, InitialModel& initial) {
    std::vector<double> accuracies;
    std::vector<double> lengths;
    for (const Replicate& replicate : replicates) {
      const Retriever<double> model = replicate.Start(kind);
      accuracies.push_back(
          Evaluate(model, replicate.task().evaluation).accuracy);
      lengths.push_back(
          Length(RetrievalGradients(model, replicate.task().training[0])
                     .query_weights));
    }
    initial = {.accuracy = MeanEstimate(accuracies),
               .query_weight_gradient = MeanEstimate(lengths)};
    return lengths;
  };
  const std::vector<double> scaled =
      measure(Model::kScaled, results.initial_scaled);
  const std::vector<double> unscaled =
      measure(Model::kUnscaled, results.initial_unscaled);
  measure(Model::kUnscaledStart, results.initial_unscaled_start);
  results.query_weight_gradient_ratio =
      GeometricMeanEstimate(Quotients(unscaled, scaled));
}

// Whether the scaled model sharpens in training, and what that is worth.
Sharpening MeasureSharpening(const std::vector<Replicate>& replicates,
                             const Setting& setting) {
  std::vector<double> partner;
  std::vector<double> random;
  std::vector<double> trained_benefit;
  std::vector<double> untrained_benefit;
  std::vector<double> growth;
  for (const Replicate& replicate : replicates) {
    const RetrievalBatch& evaluation = replicate.task().evaluation;
    const Retriever<double> start = replicate.Start(Model::kScaled);
    Retriever<double> trained = start;
    const std::vector<RetrievalScore> curve = replicate.Run(setting, trained);
    partner.push_back(curve.front().entropy - curve.back().entropy);
    growth.push_back(curve.back().score_deviation /
                     curve.front().score_deviation);
    trained_benefit.push_back(
        Evaluate(Sharpened(trained, 1 / growth.back()), evaluation).loss -
        curve.back().loss);
    untrained_benefit.push_back(
        curve.front().loss -
        Evaluate(Sharpened(start, growth.back()), evaluation).loss);

    Retriever<double> other = start;
    const std::vector<RetrievalScore> flat =
        replicate.RunOnRandomTargets(setting, other);
    random.push_back(flat.front().entropy - flat.back().entropy);
  }
  return {.entropy_lost_partner = MeanEstimate(partner),
          .entropy_lost_random = MeanEstimate(random),
          .score_growth = GeometricMeanEstimate(growth),
          .benefit_trained = MeanEstimate(trained_benefit),
          .benefit_untrained = MeanEstimate(untrained_benefit)};
}

}  // namespace

TrainingResults MeasureTraining(const TrainingComparisonOptions& options) {
  std::vector<Replicate> replicates;
  for (int64_t r = 0; r < options.replicates; ++r) {
    replicates.emplace_back(options, r);
  }
  const Setting descent = {Optimiser::kGradientDescent, options.descent_rate};
  const Setting adam = {Optimiser::kAdam, options.adam_rate};
  TrainingResults training = {
      .accuracy_sought = kAccuracy,
      .chance = 1 / static_cast<double>(RetrievalSizes().keys),
      .gradient_descent = CompareSpeed(replicates, descent),
      .adam = CompareSpeed(replicates, adam)};
  MeasureStart(replicates, training);
  training.sharpening = MeasureSharpening(replicates, descent);
  return training;
}

}  // namespace softlookup
