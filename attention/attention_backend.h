// The implementations of attention that a program can choose from, by name.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionBackend<double>* backend,
//                               FindAttentionBackend<double>("reference"));
//   auto outputs = backend->forward(inputs, options);
//
// To add one, add a line to the table in attention_backend.cc.
#ifndef SOFTLOOKUP_ATTENTION_ATTENTION_BACKEND_H_
#define SOFTLOOKUP_ATTENTION_ATTENTION_BACKEND_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attention/attention.h"
#include "attention/mask.h"
#include "base/strided_view.h"

namespace softlookup {

template <typename T>
struct AttentionBackend {
  std::string name;
  absl::StatusOr<AttentionOutputs<T>> (*forward)(
      const AttentionInputs<T>& inputs, const AttentionOptions& options);
  absl::StatusOr<AttentionGradients<T>> (*backward)(
      const AttentionInputs<T>& inputs, const AttentionOptions& options,
      const StridedView<const T>& output_gradient);
  // The most bytes for one element of the scores, [Tq, Tk] of one head, that
  // it holds at a time beside inputs and outputs.
  int64_t scratch_bytes_per_score;
};

// The backend of this name for elements of type T, float or double.
// InvalidArgument, with the names that T has, if there is none.
template <typename T>
absl::StatusOr<const AttentionBackend<T>*> FindAttentionBackend(
    absl::string_view name);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_ATTENTION_BACKEND_H_
