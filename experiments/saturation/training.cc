#include "experiments/saturation/training.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attention/attention.h"
#include "base/statistics/estimate.h"
#include "experiments/saturation/retrieval_task.h"

namespace softlookup {
namespace {

constexpr double kAccuracy = 0.9;
// Relative to the common rate. Too large a rate destroys a model, too small a
// one wastes steps: each model's best lies inside.
constexpr double kRateFactors[] = {1, 0.3, 3, 10, 30, 100};

const std::vector<std::string>& ModelNames() {
  static const auto& names =
      *new std::vector<std::string>{"scaled", "unscaled", "unscaled_start"};
  return names;
}

Retriever<double> StartingModel(const std::string& name,
                                const RetrievalSizes& sizes, uint64_t seed) {
  const double scale = AttentionScale({}, sizes.head_width);
  if (name == "unscaled") return InitialRetriever(sizes, 1, 1, seed);
  // Two factors of d_k^(1/4) undo the scale.
  const double gain = name == "unscaled_start" ? std::sqrt(1 / scale) : 1;
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
  std::string name;
  Optimiser optimiser;
  double rate;
};

// The curves of several replicates, averaged at each step.
Json MeanCurve(const std::vector<std::vector<RetrievalScore>>& curves) {
  Json mean_curve = Json::array();
  for (size_t step = 0; step < curves[0].size(); ++step) {
    const auto mean_of = [&curves, step](double RetrievalScore::*member) {
      std::vector<double> values;
      for (const auto& curve : curves) values.push_back(curve[step].*member);
      return Mean(values);
    };
    mean_curve.push_back(
        {{"step", step},
         {"loss", mean_of(&RetrievalScore::loss)},
         {"accuracy", mean_of(&RetrievalScore::accuracy)},
         {"target_weight", mean_of(&RetrievalScore::target_weight)},
         {"largest_weight", mean_of(&RetrievalScore::largest_weight)},
         {"entropy", mean_of(&RetrievalScore::entropy)},
         {"score_deviation", mean_of(&RetrievalScore::score_deviation)}});
  }
  return mean_curve;
}

// One replicate: its task and what its models did.
class Replicate {
 public:
  Replicate(const TrainingComparisonOptions& options, int64_t index)
      : options_(options),
        sizes_{.head_width = options.head_width},
        seed_(options.seed + static_cast<uint64_t>(index)),
        task_(sizes_, seed_) {}

  const RetrievalSizes& sizes() const { return sizes_; }
  const RetrievalTask& task() const { return task_; }

  Retriever<double> Start(const std::string& name) const {
    return StartingModel(name, sizes_, seed_);
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
  double BestSteps(const Setting& setting, const std::string& name) const {
    int64_t best = options_.steps + 1;
    for (const double factor : kRateFactors) {
      Retriever<double> model = Start(name);
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
    Retriever<double> model = StartingModel("scaled", sizes_, seed_ + 1000000);
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

Json CompareSpeed(const std::vector<Replicate>& replicates,
                  const Setting& setting) {
  Json comparison;
  comparison["rate"] = setting.rate;
  std::vector<double> scaled;
  std::vector<double> scaled_best;
  for (const std::string& name : ModelNames()) {
    std::vector<std::vector<RetrievalScore>> curves;
    std::vector<double> steps;
    std::vector<double> best;
    for (const Replicate& replicate : replicates) {
      Retriever<double> model = replicate.Start(name);
      curves.push_back(replicate.Run(setting, model));
      steps.push_back(
          static_cast<double>(StepsToAccuracy(curves.back(), kAccuracy)));
      best.push_back(replicate.BestSteps(setting, name));
    }
    comparison[name] = {{"curve", MeanCurve(curves)},
                        {"steps_to_accuracy", steps},
                        {"steps_to_accuracy_at_best_rate", best}};
    if (name == "scaled") {
      scaled = steps;
      scaled_best = best;
      continue;
    }
    comparison["slowdown"][name] = GeometricMeanJson(Quotients(steps, scaled));
    comparison["best_rate_slowdown"][name] =
        GeometricMeanJson(Quotients(best, scaled_best));
  }
  std::vector<double> another;
  for (const Replicate& replicate : replicates) {
    another.push_back(replicate.StepsOfAnother(setting));
  }
  comparison["slowdown"]["scaled_again"] =
      GeometricMeanJson(Quotients(another, scaled));
  return comparison;
}

// What each model is like before the first step.
Json MeasureStart(const std::vector<Replicate>& replicates) {
  Json start;
  std::vector<std::vector<double>> gradients;
  for (const std::string& name : ModelNames()) {
    std::vector<double> accuracies;
    std::vector<double> lengths;
    for (const Replicate& replicate : replicates) {
      const Retriever<double> model = replicate.Start(name);
      accuracies.push_back(
          Evaluate(model, replicate.task().evaluation).accuracy);
      lengths.push_back(
          Length(RetrievalGradients(model, replicate.task().training[0])
                     .query_weights));
    }
    start["initial"][name] = {
        {"accuracy", EstimateJson(MeanEstimate(accuracies))},
        {"query_weight_gradient", EstimateJson(MeanEstimate(lengths))}};
    gradients.push_back(std::move(lengths));
  }
  start["query_weight_gradient_ratio"] =
      GeometricMeanJson(Quotients(gradients[1], gradients[0]));
  return start;
}

// Whether the scaled model sharpens in training, and what that is worth.
Json MeasureSharpening(const std::vector<Replicate>& replicates,
                       const Setting& setting) {
  std::vector<double> partner;
  std::vector<double> random;
  std::vector<double> trained_benefit;
  std::vector<double> untrained_benefit;
  std::vector<double> growth;
  for (const Replicate& replicate : replicates) {
    const RetrievalBatch& evaluation = replicate.task().evaluation;
    const Retriever<double> start = replicate.Start("scaled");
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
  return {{"entropy_lost",
           {{"partner", EstimateJson(MeanEstimate(partner))},
            {"random", EstimateJson(MeanEstimate(random))}}},
          {"score_growth", GeometricMeanJson(growth)},
          {"benefit",
           {{"trained", EstimateJson(MeanEstimate(trained_benefit))},
            {"untrained", EstimateJson(MeanEstimate(untrained_benefit))}}}};
}

}  // namespace

Json MeasureTraining(const TrainingComparisonOptions& options) {
  std::vector<Replicate> replicates;
  for (int64_t r = 0; r < options.replicates; ++r) {
    replicates.emplace_back(options, r);
  }
  const Setting descent = {"gradient_descent", Optimiser::kGradientDescent,
                           options.descent_rate};
  const Setting adam = {"adam", Optimiser::kAdam, options.adam_rate};
  Json training;
  training["accuracy_sought"] = kAccuracy;
  training["chance"] = 1 / static_cast<double>(RetrievalSizes().keys);
  for (const Setting& setting : {descent, adam}) {
    training[setting.name] = CompareSpeed(replicates, setting);
  }
  training.update(MeasureStart(replicates));
  training["sharpening"] = MeasureSharpening(replicates, descent);
  return training;
}

}  // namespace softlookup
