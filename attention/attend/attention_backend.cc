#include "attention/attend/attention_backend.h"

#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "attention/kernels/attention_kernels.h"
#include "attention/reference/attention_reference.h"
#include "base/saturating.h"

namespace softlookup {
namespace {

template <typename T>
AttentionBackend<T> Reference() {
  return {
      .name = "reference",
      .forward =
          [](const AttentionInputs<T>& inputs, const AttentionOptions& options,
             const kernels::KernelOptions&) {
            return reference::AttentionForward<T>(inputs, options);
          },
      .backward =
          [](const AttentionInputs<T>& inputs, const AttentionOptions& options,
             const AttentionOutputs<T>&,
             const StridedView<const T>& output_gradient,
             const kernels::KernelOptions&) {
            return reference::AttentionBackward<T>(inputs, options,
                                                   output_gradient);
          },
      .has_weights = true,
      .has_run_options = false,
      // Of one head: weights, two more matrices of their kind, and the list
      // of visible keys, which may have twice the room that it needs.
      .scratch_bytes =
          [](const AttentionSizes& sizes, bool, int) {
            return SaturatingProduct({sizes.queries, sizes.keys,
                                      3 * sizeof(T) + 2 * sizeof(int64_t)});
          },
  };
}

AttentionBackend<float> Simd() {
  return {
      .name = "simd",
      .forward = kernels::AttentionForward,
      .backward = kernels::AttentionBackward,
      .has_weights = false,
      .has_run_options = true,
      .scratch_bytes = kernels::AttentionScratchBytes,
  };
}

template <typename T>
const std::vector<AttentionBackend<T>>& Backends();

template <>
const std::vector<AttentionBackend<float>>& Backends() {
  static const auto& backends =
      *new std::vector<AttentionBackend<float>>{Reference<float>(), Simd()};
  return backends;
}

template <>
const std::vector<AttentionBackend<double>>& Backends() {
  static const auto& backends =
      *new std::vector<AttentionBackend<double>>{Reference<double>()};
  return backends;
}

}  // namespace

template <typename T>
absl::StatusOr<const AttentionBackend<T>*> FindAttentionBackend(
    absl::string_view name) {
  for (const AttentionBackend<T>& backend : Backends<T>()) {
    if (backend.name == name) return &backend;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "backend is \"", name, "\"; allowed with precision ",
      std::is_same_v<T, float> ? "float32" : "float64", ": ",
      absl::StrJoin(Backends<T>(), ", ",
                    [](std::string* out, const AttentionBackend<T>& backend) {
                      out->append(backend.name);
                    })));
}
template absl::StatusOr<const AttentionBackend<float>*> FindAttentionBackend(
    absl::string_view);
template absl::StatusOr<const AttentionBackend<double>*> FindAttentionBackend(
    absl::string_view);

}  // namespace softlookup
