#include "attention/attention_backend.h"

#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "attention/reference/attention_reference.h"

namespace softlookup {
namespace {

template <typename T>
const std::vector<AttentionBackend<T>>& Backends() {
  static const auto& backends = *new std::vector<AttentionBackend<T>>{
      {
          .name = "reference",
          .forward = reference::AttentionForward<T>,
          .backward = reference::AttentionBackward<T>,
          // Weights, two more matrices of their kind, and the list of visible
          // keys, which may have twice the room that it needs.
          .scratch_bytes_per_score = 3 * sizeof(T) + 2 * sizeof(int64_t),
      },
  };
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
