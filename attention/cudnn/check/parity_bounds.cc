#include "attention/cudnn/check/parity_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/reference/attention_reference.h"
#include "base/check.h"
#include "base/status.h"

namespace softlookup::cudnn {
namespace {

// Higher orders of u.
constexpr double kSlack = 1.25;

Tensor<double> Widen(const StridedView<const float>& view) {
  Tensor<double> wide(view.shape());
  ForEachElement([](double& to, const float& from) { to = from; }, wide.view(),
                 view);
  return wide;
}

double AbsoluteDot(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t k = 0; k < n; ++k) sum += std::abs(a[k] * b[k]);
  return sum;
}

}  // namespace

double UnitRoundoff(Dtype element) {
  SOFTLOOKUP_CHECK(element == Dtype::kBF16 || element == Dtype::kF16,
                   "an element type of cuDNN's");
  return element == Dtype::kBF16 ? 0x1p-8 : 0x1p-11;
}

absl::StatusOr<ExactAttention> ComputeExactAttention(
    const AttentionInputs<float>& inputs, double scale,
    const StridedView<const float>& output_gradient, Dtype element) {
  const Tensor<double> query = Widen(inputs.query);
  const Tensor<double> key = Widen(inputs.key);
  const Tensor<double> value = Widen(inputs.value);
  const Tensor<double> gradient = Widen(output_gradient);
  AttentionInputs<double> wide{query.view(), key.view(), value.view(),
                               std::nullopt, inputs.mask};
  Tensor<double> bias;
  if (inputs.bias.has_value()) {
    bias = Widen(*inputs.bias);
    wide.bias = std::as_const(bias).view();
  }
  const AttentionOptions options = {.scale = scale, .weights = true};
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionSizes sizes,
                              CheckAttention(wide, options));
  SOFTLOOKUP_ASSIGN_OR_RETURN(AttentionOutputs<double> outputs,
                              reference::AttentionForward(wide, options));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      AttentionGradients<double> gradients,
      reference::AttentionBackward<double>(wide, options, gradient.view()));

  const double u = UnitRoundoff(element);
  const int64_t d = sizes.width;
  const int64_t dv = sizes.value_width;
  const Tensor<double> weights = *std::move(outputs.weights);
  const Shape bias_shape = bias.shape();
  ExactAttention bounded;
  const auto add = [&](const std::string& name, Tensor<double> exact) {
    const Shape shape = exact.shape();
    return &(bounded[name] = {std::move(exact), Tensor<double>(shape)});
  };
  Bounded& output = *add("output", std::move(outputs.output));
  Bounded& log_sum_exp = *add("log_sum_exp", std::move(outputs.log_sum_exp));
  Bounded& query_gradient = *add("query_gradient", std::move(gradients.query));
  Bounded& key_gradient = *add("key_gradient", std::move(gradients.key));
  Bounded& value_gradient = *add("value_gradient", std::move(gradients.value));
  Bounded* bias_gradient =
      gradients.bias.has_value()
          ? add("bias_gradient", *std::move(gradients.bias))
          : nullptr;

  std::vector<double> absolute_output(dv);
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.query_heads; ++h) {
      const int64_t hk = sizes.KeyHead(h);
      for (int64_t i = 0; i < sizes.queries; ++i) {
        const double* q = &query(b, h, i, 0);
        const double* g = &gradient(b, h, i, 0);
        const double* o = &output.exact(b, h, i, 0);
        double largest = 0;  // S of this row
        std::fill(absolute_output.begin(), absolute_output.end(), 0.0);
        for (int64_t j = 0; j < sizes.keys; ++j) {
          const double p = weights(b, h, i, j);
          if (!inputs.mask.Allows(b, h, i, j, sizes)) continue;
          double sum = scale * AbsoluteDot(q, &key(b, hk, j, 0), d);
          if (inputs.bias.has_value()) {
            const double added = bias(b % bias_shape[0], h % bias_shape[1],
                                      i % bias_shape[2], j % bias_shape[3]);
            if (std::isinf(added)) continue;
            sum += std::abs(added);
          }
          largest = std::max(largest, sum);
          for (int64_t k = 0; k < dv; ++k) {
            absolute_output[k] += p * std::abs(value(b, hk, j, k));
          }
        }
        const double e = 0x1p-19 * (1 + largest);
        // sum_k |dO| A
        const double d_bound = AbsoluteDot(absolute_output.data(), g, dv);
        log_sum_exp.bound(b, h, i) = e;
        for (int64_t k = 0; k < dv; ++k) {
          output.bound(b, h, i, k) =
              (u + e) * kSlack * (std::abs(o[k]) + absolute_output[k]);
        }
        const double delta = std::inner_product(g, g + dv, o, 0.0);
        for (int64_t j = 0; j < sizes.keys; ++j) {
          const double p = weights(b, h, i, j);
          if (p == 0) continue;
          const double dp =
              std::inner_product(g, g + dv, &value(b, hk, j, 0), 0.0);
          const double ds = std::abs(p * (dp - delta));
          const double error =
              kSlack *
              (u * (ds + 2 * p * d_bound) +
               2 * e * p * (AbsoluteDot(g, &value(b, hk, j, 0), dv) + d_bound));
          for (int64_t k = 0; k < d; ++k) {
            query_gradient.bound(b, h, i, k) +=
                scale * error * std::abs(key(b, hk, j, k));
            key_gradient.bound(b, hk, j, k) +=
                scale * (error + kSlack * u * ds) * std::abs(q[k]);
          }
          for (int64_t k = 0; k < dv; ++k) {
            value_gradient.bound(b, hk, j, k) +=
                kSlack * (2 * u + e) * p * std::abs(g[k]);
          }
          if (bias_gradient != nullptr) {
            bias_gradient->bound(b % bias_shape[0], h % bias_shape[1],
                                 i % bias_shape[2], j % bias_shape[3]) += error;
          }
        }
      }
    }
  }
  for (auto& [name, tensor] : bounded) {
    if (name == "output" || name == "log_sum_exp") continue;
    for (int64_t n = 0; n < tensor.bound.size(); ++n) {
      tensor.bound[n] += kSlack * u * std::abs(tensor.exact[n]);
    }
  }
  return bounded;
}

ParityReport Compare(const Tensor<float>& ours, const Bounded& exact,
                     Dtype element) {
  SOFTLOOKUP_CHECK(ours.shape() == exact.exact.shape(), "tensors of one shape");
  // What lies below float16's normal numbers is rounded to a multiple of 2^-24.
  const double least = element == Dtype::kF16 ? 0x1p-24 : 0x1p-126;
  ParityReport report;
  double squared_error = 0;
  double squared = 0;
  for (int64_t n = 0; n < ours.size(); ++n) {
    const double expected = exact.exact[n];
    const double actual = ours[n];
    double ratio = std::numeric_limits<double>::infinity();
    if (std::isfinite(expected) && std::isfinite(actual)) {
      const double error = std::abs(actual - expected);
      ratio = error / (exact.bound[n] + 4 * least);
      squared_error += error * error;
      squared += expected * expected;
    } else if (actual == expected ||
               (std::isnan(actual) && std::isnan(expected))) {
      ratio = 0;
    }
    if (ratio <= report.worst && !report.where.empty()) continue;
    report.worst = std::max(report.worst, ratio);
    Shape indices(ours.shape().size());
    int64_t number = n;
    for (size_t axis = indices.size(); axis-- > 0;) {
      indices[axis] = number % ours.shape()[axis];
      number /= ours.shape()[axis];
    }
    report.where = absl::StrCat(ShapeString(indices), ": ", actual, " for ",
                                expected, ", bound ", exact.bound[n]);
  }
  if (squared > 0) {
    report.relative =
        std::sqrt(squared_error / squared) / UnitRoundoff(element);
  }
  return report;
}

}  // namespace softlookup::cudnn
