#include "model/adamw.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attention/kernels/array_functions.h"
#include "base/check.h"
#include "base/elementary.h"
#include "base/tensor/strided_view.h"

namespace softlookup {
namespace {

// Parameters per task. No parameter depends on another.
constexpr int64_t kPerTask = 8192;

}  // namespace

absl::Status CheckAdamWOptions(const AdamWOptions& options) {
  const auto error = [](const char* name, double value, const char* allowed) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is ", value, "; allowed: ", allowed));
  };
  for (const auto& [name, beta] :
       {std::pair("beta1", options.beta1), std::pair("beta2", options.beta2)}) {
    if (!(beta >= 0 && beta < 1)) return error(name, beta, "0 up to below 1");
  }
  if (!(options.epsilon > 0 && std::isfinite(options.epsilon))) {
    return error("epsilon", options.epsilon, "a positive number");
  }
  for (const auto& [name, value] :
       {std::pair("weight_decay", options.weight_decay),
        std::pair("clip", options.clip)}) {
    if (!(value >= 0 && std::isfinite(value))) {
      return error(name, value, "0 or a positive number");
    }
  }
  return absl::OkStatus();
}

AdamW::AdamW(const ParameterLayout& layout, const AdamWOptions& options)
    : options_(options),
      weight_decay_(layout.size()),
      mean_(layout.size()),
      square_(layout.size()) {
  SOFTLOOKUP_CHECK(CheckAdamWOptions(options).ok(), "valid options");
  for (const ParameterTensor& tensor : layout.tensors()) {
    if (!tensor.decays) continue;
    ForEachElement(
        [&](float& x) { x = static_cast<float>(options.weight_decay); },
        layout.View(tensor, weight_decay_.data()));
  }
}

double AdamW::Step(double rate, absl::Span<const float> gradient,
                   absl::Span<float> parameters,
                   const kernels::KernelOptions& execution) {
  SOFTLOOKUP_CHECK(
      gradient.size() == mean_.size() && parameters.size() == mean_.size(),
      "a gradient and a parameter for every element");
  const double norm = kernels::ArrayNorm(gradient, execution);
  if (!std::isfinite(norm)) return norm;
  ++steps_;
  const double steps = static_cast<double>(steps_);
  // Rounded once, so that the loop runs in float32 throughout.
  const auto shrink = static_cast<float>(
      options_.clip > 0 && norm > options_.clip ? options_.clip / norm : 1);
  const auto beta1 = static_cast<float>(options_.beta1);
  const auto beta2 = static_cast<float>(options_.beta2);
  const auto keep1 = static_cast<float>(1 - options_.beta1);
  const auto keep2 = static_cast<float>(1 - options_.beta2);
  const auto correct1 =
      static_cast<float>(1 / (1 - Pow(options_.beta1, steps)));
  const auto correct2 =
      static_cast<float>(1 / (1 - Pow(options_.beta2, steps)));
  const auto epsilon = static_cast<float>(options_.epsilon);
  const auto step = static_cast<float>(rate);
  const auto size = static_cast<int64_t>(parameters.size());
  const auto update = [=](int64_t n, const float* g, const float* decay,
                          float* m, float* v, float* w) {
    for (int64_t i = 0; i < n; ++i) {
      const float clipped = g[i] * shrink;
      m[i] = beta1 * m[i] + keep1 * clipped;
      v[i] = beta2 * v[i] + keep2 * clipped * clipped;
      const float direction =
          m[i] * correct1 / (std::sqrt(v[i] * correct2) + epsilon);
      w[i] -= step * (direction + decay[i] * w[i]);
    }
  };
  execution.ParallelFor((size + kPerTask - 1) / kPerTask, [&](int64_t task) {
    const int64_t begin = task * kPerTask;
    update(std::min(kPerTask, size - begin), gradient.data() + begin,
           weight_decay_.data() + begin, mean_.data() + begin,
           square_.data() + begin, parameters.data() + begin);
  });
  return norm;
}

absl::Status AdamW::Restore(int64_t steps, std::vector<float> mean,
                            std::vector<float> square) {
  if (mean.size() != mean_.size() || square.size() != square_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", mean.size(), " and ", square.size(),
                     " moments; allowed: ", mean_.size()));
  }
  if (steps < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("steps is ", steps, "; allowed: 0 or more"));
  }
  steps_ = steps;
  mean_ = std::move(mean);
  square_ = std::move(square);
  return absl::OkStatus();
}

}  // namespace softlookup
