// The implementations of attention that a program can choose from, by name.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionBackend<float>* backend,
//                               FindAttentionBackend<float>("simd"));
//   auto outputs = backend->forward(inputs, options, {.pool = &pool});
//
// To add one, add an entry to the tables in attention_backend.cc.
#ifndef SOFTLOOKUP_ATTENTION_ATTEND_ATTENTION_BACKEND_H_
#define SOFTLOOKUP_ATTENTION_ATTEND_ATTENTION_BACKEND_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attention/attention.h"
#include "attention/kernels/kernel_options.h"
#include "attention/mask.h"
#include "base/tensor/strided_view.h"

namespace softlookup {

template <typename T>
struct AttentionBackend {
  std::string name;
  absl::StatusOr<AttentionOutputs<T>> (*forward)(
      const AttentionInputs<T>& inputs, const AttentionOptions& options,
      const kernels::KernelOptions& run);
  // `outputs` are the forward's.
  absl::StatusOr<AttentionGradients<T>> (*backward)(
      const AttentionInputs<T>& inputs, const AttentionOptions& options,
      const AttentionOutputs<T>& outputs,
      const StridedView<const T>& output_gradient,
      const kernels::KernelOptions& run);
  // Whether the forward returns weights when they are asked for.
  bool has_weights;
  // Whether it runs on the instruction set and threads that it is told to;
  // otherwise it runs on the calling thread, whatever it is told.
  bool has_run_options;
  // The most bytes that it holds at a time beside inputs and outputs;
  // INT64_MAX for all that is more.
  int64_t (*scratch_bytes)(const AttentionSizes& sizes, bool backward,
                           int threads);
};

// The backend of this name for elements of type T, float or double.
// InvalidArgument, with the names that T has, if there is none.
template <typename T>
absl::StatusOr<const AttentionBackend<T>*> FindAttentionBackend(
    absl::string_view name);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_ATTEND_ATTENTION_BACKEND_H_
