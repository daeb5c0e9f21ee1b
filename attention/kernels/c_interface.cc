#include "attention/kernels/c_interface.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "attention/attention.h"
#include "attention/kernels/attention_kernels.h"
#include "attention/kernels/kernel_options.h"
#include "attention/mask.h"
#include "base/status.h"
#include "base/thread_pool.h"

namespace softlookup::kernels {
namespace {

std::string& LastError() {
  static auto& error = *new std::string;
  return error;
}

int32_t Report(const absl::Status& status) {
  if (status.ok()) return 0;
  LastError() = std::string(status.message());
  return 1;
}

// The pool of the last call, kept for the next.
absl::StatusOr<KernelOptions> RunOf(const SoftlookupProblem& problem) {
  static std::unique_ptr<ThreadPool>& pool = *new std::unique_ptr<ThreadPool>;
  SOFTLOOKUP_RETURN_IF_ERROR(CheckThreads(problem.threads));
  if (pool == nullptr || pool->threads() != problem.threads) {
    pool = std::make_unique<ThreadPool>(problem.threads);
  }
  KernelOptions execution;
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      execution.instruction_set,
      ParseInstructionSet(problem.isa == nullptr ? "" : problem.isa));
  execution.pool = pool.get();
  return execution;
}

struct Shapes {
  explicit Shapes(const SoftlookupProblem& p)
      : query({p.batch, p.query_heads, p.queries, p.width}),
        key({p.batch, p.key_heads, p.keys, p.width}),
        value({p.batch, p.key_heads, p.keys, p.value_width}),
        output({p.batch, p.query_heads, p.queries, p.value_width}),
        row({p.batch, p.query_heads, p.queries}) {}
  Shape query, key, value, output, row;
};

absl::StatusOr<AttentionInputs<float>> InputsOf(
    const SoftlookupProblem& problem, const float* query, const float* key,
    const float* value) {
  const Shapes shapes(problem);
  AttentionInputs<float> inputs;
  inputs.query = {query, shapes.query};
  inputs.key = {key, shapes.key};
  inputs.value = {value, shapes.value};
  switch (problem.causal) {
    case 0:
      return inputs;
    case 1:
      inputs.mask.causal = CausalAlignment::kTopLeft;
      return inputs;
    case 2:
      inputs.mask.causal = CausalAlignment::kBottomRight;
      return inputs;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("causal is ", problem.causal, "; allowed: 0, 1, 2"));
  }
}

absl::Status Forward(const SoftlookupProblem& problem, const float* query,
                     const float* key, const float* value, float* output,
                     float* log_sum_exp) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const KernelOptions execution, RunOf(problem));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionInputs<float> inputs,
                              InputsOf(problem, query, key, value));
  const Shapes shapes(problem);
  return AttentionForwardInto(
      inputs, {}, execution,
      {{output, shapes.output}, {log_sum_exp, shapes.row}});
}

}  // namespace
}  // namespace softlookup::kernels

int32_t SoftlookupForward(const SoftlookupProblem* problem, const float* query,
                          const float* key, const float* value, float* output,
                          float* log_sum_exp) {
  using namespace softlookup::kernels;  // NOLINT: the file's own
  return Report(Forward(*problem, query, key, value, output, log_sum_exp));
}

int32_t SoftlookupBackward(const SoftlookupProblem* problem, const float* query,
                           const float* key, const float* value,
                           const float* output, const float* log_sum_exp,
                           const float* output_gradient, float* query_gradient,
                           float* key_gradient, float* value_gradient) {
  using namespace softlookup::kernels;  // NOLINT: the file's own
  return Report([&]() -> absl::Status {
    SOFTLOOKUP_ASSIGN_OR_RETURN(const KernelOptions execution, RunOf(*problem));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const softlookup::AttentionInputs<float> inputs,
                                InputsOf(*problem, query, key, value));
    const Shapes shapes(*problem);
    return AttentionBackwardInto(inputs, {}, {output, shapes.output},
                                 {log_sum_exp, shapes.row},
                                 {output_gradient, shapes.output}, execution,
                                 {{query_gradient, shapes.query},
                                  {key_gradient, shapes.key},
                                  {value_gradient, shapes.value},
                                  {}});
  }());
}

const char* SoftlookupLastError() {
  return softlookup::kernels::LastError().c_str();
}
