#include "attention/cudnn/parity_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attention/attention.h"
#include "attention/cudnn/parity.h"
#include "attention/kernels/attention_kernels.h"
#include "attention/kernels/kernel_options.h"
#include "base/json.h"
#include "base/status.h"
#include "base/tensor/tensor.h"

namespace softlookup::cudnn {
namespace {

void CheckTensor(const std::string& name, const Tensor<float>& ours,
                 const Bounded& exact, const CheckCase& drawn, bool rounded,
                 CheckReport& report, Json& row) {
  const ParityReport parity = Compare(ours, exact, drawn.element);
  row[name] = {{"error_over_bound", parity.worst},
               {"error_over_rounding", parity.relative}};
  report.Check(parity.worst <= 1,
               absl::StrCat(drawn.name, ": ", name, " ", parity.where));
  if (rounded && ours.size() >= kManyElements) {
    report.Check(
        parity.relative >= kLeastRelative,
        absl::StrCat(drawn.name, ": ", name,
                     " is nearer than rounding allows: ", parity.relative));
  }
}

// The largest difference, over the largest exact element.
double Difference(const Tensor<float>& ours, const Tensor<float>& other) {
  double worst = 0;
  double largest = 0;
  for (int64_t n = 0; n < ours.size(); ++n) {
    if (!std::isfinite(other[n])) continue;
    worst = std::max(worst, std::abs(double{ours[n]} - other[n]));
    largest = std::max(largest, std::abs(double{other[n]}));
  }
  return largest == 0 ? worst : worst / largest;
}

absl::Status Check(const CheckCase& drawn, const std::string& section,
                   CudnnRunner& runner, ThreadPool& pool, CheckReport& report) {
  const AttentionInputs<float> inputs = drawn.inputs();
  const CudnnAttention attention(&runner, {.element = drawn.element});
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<float> outputs,
                              attention.Forward(inputs, {}));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionGradients<float> gradients,
      attention.Backward(inputs, {}, outputs, drawn.gradient.view()));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const ExactAttention exact,
      ComputeExactAttention(inputs, AttentionScale({}, inputs.query.dim(3)),
                            drawn.gradient.view(), drawn.element));
  const kernels::KernelOptions run = {.pool = &pool};
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<float> float32,
                              kernels::AttentionForward(inputs, {}, run));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionGradients<float> float32_gradients,
      kernels::AttentionBackward(inputs, {}, float32, drawn.gradient.view(),
                                 run));
  Json row;
  row["case"] = drawn.name;
  // With few keys some results are exact by nature.
  const bool rounded = inputs.key.dim(2) >= 16 && inputs.query.dim(2) >= 16 &&
                       drawn.lengths.empty();
  const auto check = [&](const std::string& name, const Tensor<float>& ours,
                         const Bounded& bounded, bool is_rounded) {
    CheckTensor(name, ours, bounded, drawn, is_rounded, report, row);
  };
  check("output", outputs.output, exact.output, rounded);
  check("log_sum_exp", outputs.log_sum_exp, exact.log_sum_exp, false);
  check("query_gradient", gradients.query, exact.query, rounded);
  check("key_gradient", gradients.key, exact.key, rounded);
  check("value_gradient", gradients.value, exact.value, rounded);
  if (exact.bias.has_value()) {
    check("bias_gradient", *gradients.bias, *exact.bias, rounded);
  }
  row["difference_from_float32"] = {
      {"output", Difference(outputs.output, float32.output)},
      {"query_gradient", Difference(gradients.query, float32_gradients.query)},
      {"key_gradient", Difference(gradients.key, float32_gradients.key)},
      {"value_gradient", Difference(gradients.value, float32_gradients.value)}};
  const auto of_bound = [&row](const std::string& name) {
    return row[name]["error_over_bound"].get<double>();
  };
  std::printf("  %-60s output %.2f dQ %.2f dK %.2f dV %.2f of the bound\n",
              drawn.name.c_str(), of_bound("output"),
              of_bound("query_gradient"), of_bound("key_gradient"),
              of_bound("value_gradient"));
  report.json()[section].push_back(std::move(row));
  return absl::OkStatus();
}

// Whether three backward passes agree to the bit.
absl::StatusOr<bool> Repeats(const CheckCase& drawn, CudnnRunner& runner) {
  const CudnnAttention attention(
      &runner, {.element = drawn.element, .deterministic = true});
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<float> outputs,
                              attention.Forward(drawn.inputs(), {}));
  const auto equal = [](const Tensor<float>& a, const Tensor<float>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  };
  std::optional<AttentionGradients<float>> first;
  bool same = true;
  for (int repeat = 0; repeat < 3; ++repeat) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        AttentionGradients<float> gradients,
        attention.Backward(drawn.inputs(), {}, outputs, drawn.gradient.view()));
    if (!first.has_value()) {
      first = std::move(gradients);
      continue;
    }
    same = same && equal(first->query, gradients.query) &&
           equal(first->key, gradients.key) &&
           equal(first->value, gradients.value);
  }
  return same;
}

}  // namespace

void CheckParity(const CheckCase& drawn, const std::string& section,
                 CudnnRunner& runner, ThreadPool& pool, CheckReport& report) {
  report.Check(Check(drawn, section, runner, pool, report), drawn.name);
}

void CheckRepeats(const CheckCase& drawn, CudnnRunner& runner,
                  CheckReport& report) {
  const absl::StatusOr<bool> same = Repeats(drawn, runner);
  report.Check(same.status(), "repeats");
  if (!same.ok()) return;
  report.Check(*same, "the deterministic backward pass differs between runs");
  std::printf("  three backward passes %s\n",
              *same ? "give the same bits" : "differ");
  report.json()["deterministic_backward_repeats"] = *same;
}

}  // namespace softlookup::cudnn
