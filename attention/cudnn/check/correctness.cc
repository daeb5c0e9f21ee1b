#include "attention/cudnn/check/correctness.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attention/attention.h"
#include "attention/cudnn/testing/h200.h"
#include "base/status.h"
#include "base/tensor/tensor.h"

namespace softlookup::cudnn {
namespace {

// What both passes give, by the names of ExactAttention.
using Results = std::map<std::string, Tensor<float>>;

absl::StatusOr<Results> Compute(const CudnnCase& drawn, CudnnRunner& runner) {
  const CudnnAttention attention(
      &runner, {.element = drawn.problem.element,
                .deterministic = drawn.problem.deterministic});
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<float> outputs,
                              attention.Forward(drawn.inputs(), {}));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionGradients<float> gradients,
      attention.Backward(drawn.inputs(), {}, outputs, drawn.gradient.view()));
  Results results = {{"output", outputs.output},
                     {"log_sum_exp", outputs.log_sum_exp},
                     {"query_gradient", gradients.query},
                     {"key_gradient", gradients.key},
                     {"value_gradient", gradients.value}};
  if (gradients.bias.has_value()) results["bias_gradient"] = *gradients.bias;
  return results;
}

// Runs everything by plans that were built for an H200 and serialized.
class SerializedPlanRunner : public CudnnRunner {
 public:
  SerializedPlanRunner(GpuRunner* runner, GpuDescription description)
      : runner_(runner), description_(std::move(description)) {}

  absl::Status Run(const CudnnProblem& problem,
                   const std::map<CudnnTensorId, HostBytes>& host) override {
    SOFTLOOKUP_ASSIGN_OR_RETURN(const std::unique_ptr<CudnnPlan> built,
                                CudnnPlan::Build(problem, description_));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const std::string bytes, built->Serialize());
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        std::unique_ptr<CudnnPlan> loaded,
        CudnnPlan::Deserialize(bytes, runner_->handle()));
    const std::vector<CudnnTensor> tensors = CudnnTensors(problem);
    SOFTLOOKUP_RETURN_IF_ERROR(runner_->memory().Upload(tensors, host));
    SOFTLOOKUP_ASSIGN_OR_RETURN(GpuBinding run,
                                runner_->Prepare(tensors, std::move(loaded)));
    SOFTLOOKUP_RETURN_IF_ERROR(runner_->Start(run));
    return runner_->memory().Download(host);
  }

 private:
  GpuRunner* runner_;
  const GpuDescription description_;
};

}  // namespace

absl::StatusOr<ParityResult> CheckParity(const CudnnCase& drawn,
                                         CudnnRunner& runner) {
  const AttentionInputs<float> inputs = drawn.inputs();
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Results results, Compute(drawn, runner));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const ExactAttention exact,
      ComputeExactAttention(inputs, AttentionScale({}, inputs.query.dim(3)),
                            drawn.gradient.view(), drawn.problem.element));
  // With few keys some results are exact by nature; the log-sum-exp is float32.
  const bool rounded = inputs.key.dim(2) >= 16 && inputs.query.dim(2) >= 16 &&
                       drawn.lengths.empty();
  ParityResult parity;
  for (const auto& [name, ours] : results) {
    const ParityReport report =
        Compare(ours, exact.at(name), drawn.problem.element);
    parity.tensors[name] = report;
    const bool too_near = rounded && name != "log_sum_exp" &&
                          ours.size() >= kManyElements &&
                          !(report.relative >= kLeastRelative);
    if (report.worst <= 1 && !too_near) continue;
    parity.failures.push_back(
        absl::StrCat(drawn.name, ": ", name, " ", report.where,
                     too_near ? ", nearer than rounding allows" : ""));
  }
  return parity;
}

absl::StatusOr<bool> GiveSameBits(const CudnnCase& drawn,
                                  const std::vector<CudnnRunner*>& runners) {
  Results first;
  bool same = true;
  for (CudnnRunner* runner : runners) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(const Results results, Compute(drawn, *runner));
    if (first.empty()) first = results;
    for (const auto& [name, tensor] : results) {
      const std::vector<float>& a = first.at(name).elements();
      const std::vector<float>& b = tensor.elements();
      // All zero would mean that nothing was written.
      same = same && std::memcmp(a.data(), b.data(), a.size() * 4) == 0 &&
             std::any_of(a.begin(), a.end(), [](float x) { return x != 0; });
    }
  }
  return same;
}

absl::StatusOr<bool> SerializedPlansGiveSameBits(const CudnnCase& drawn,
                                                 GpuRunner& runner) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      GpuDescription h200,
      GpuDescription::FromJson(kH200Json, kH200Capability));
  SerializedPlanRunner serialized(&runner, std::move(h200));
  return GiveSameBits(drawn, {&runner, &serialized});
}

}  // namespace softlookup::cudnn
