// Checks of the memory that kernels read and write, with one message for each
// way it can be wrong.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_VIEW_CHECKS_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_VIEW_CHECKS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"

namespace softlookup::kernels {

// InvalidArgument unless the elements lie at addresses that floats may have.
absl::Status CheckAlignment(absl::string_view name,
                            const StridedView<const float>& view);

// InvalidArgument unless a kernel can write to `target`: the expected shape, a
// last stride of 1, aligned, and no two elements at one address.
absl::Status CheckTarget(absl::string_view name,
                         const StridedView<float>& target,
                         const Shape& expected);

// InvalidArgument unless all of the one lies in memory before all of the other.
absl::Status CheckApart(absl::string_view target_name,
                        const StridedView<const float>& target,
                        absl::string_view input_name,
                        const StridedView<const float>& input);

// InvalidArgument unless two targets share no element. They may interleave, as
// the parts of a [B, T, 3, H, D] tensor do, when their strides agree.
absl::Status CheckTargetsApart(absl::string_view name_a,
                               const StridedView<const float>& a,
                               absl::string_view name_b,
                               const StridedView<const float>& b);

struct NamedView {
  absl::string_view name;
  StridedView<const float> view;
};

// InvalidArgument unless every place that is written lies apart from every
// other, as CheckTargetsApart, and from all that is read, as CheckApart.
absl::Status CheckPlaces(const std::vector<NamedView>& writes,
                         const std::vector<NamedView>& reads);

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_VIEW_CHECKS_H_
