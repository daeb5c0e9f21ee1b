#include "attention/kernels/view_checks.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status.h"

namespace softlookup::kernels {
namespace {

using View = StridedView<const float>;

// The addresses from the first to the last element of a view that has some.
struct AddressRange {
  const float* first;
  const float* last;
};

AddressRange Addresses(const View& view) {
  AddressRange range = {view.data(), view.data()};
  for (int axis = 0; axis < view.rank(); ++axis) {
    const int64_t reach = (view.dim(axis) - 1) * view.stride(axis);
    (reach < 0 ? range.first : range.last) += reach;
  }
  return range;
}

bool Empty(const View& view) {
  return std::count(view.shape().begin(), view.shape().end(), 0) > 0;
}

bool Apart(const View& a, const View& b) {
  if (Empty(a) || Empty(b)) return true;
  const AddressRange of_a = Addresses(a);
  const AddressRange of_b = Addresses(b);
  return std::less<const float*>()(of_a.last, of_b.first) ||
         std::less<const float*>()(of_b.last, of_a.first);
}

// Whether walking these axes, (stride, size), visits no address twice: each
// stride steps over all that the smaller ones reach. Sufficient, and met by
// every slice, split and permutation of a contiguous tensor.
bool Distinct(std::vector<std::pair<int64_t, int64_t>> axes) {
  for (auto& [stride, size] : axes) stride = std::abs(stride);
  std::sort(axes.begin(), axes.end());
  int64_t reach = 0;
  for (const auto& [stride, size] : axes) {
    if (size <= 1) continue;
    if (stride <= reach) return false;
    reach += stride * (size - 1);
  }
  return true;
}

// One axis of two views: its stride, and how far an index into the one can be
// from an index into the other.
struct Difference {
  int64_t stride;  // positive
  int64_t least;
  int64_t most;
};

int64_t FloorDivide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

// Whether `distance` is a sum of strides times differences: whether elements of
// two views meet. The axes go from the largest stride to the smallest, which
// leaves a choice or two at each.
bool Reaches(int64_t distance, absl::Span<const Difference> axes) {
  if (axes.empty()) return distance == 0;
  int64_t least = 0;  // what the other axes can add
  int64_t most = 0;
  for (const Difference& axis : axes.subspan(1)) {
    least += axis.stride * axis.least;
    most += axis.stride * axis.most;
  }
  const int64_t stride = axes[0].stride;
  const int64_t begin =
      std::max(axes[0].least, -FloorDivide(most - distance, stride));
  const int64_t end =
      std::min(axes[0].most, FloorDivide(distance - least, stride));
  for (int64_t steps = begin; steps <= end; ++steps) {
    if (Reaches(distance - steps * stride, axes.subspan(1))) return true;
  }
  return false;
}

}  // namespace

absl::Status CheckAlignment(absl::string_view name, const View& view) {
  if (reinterpret_cast<uintptr_t>(view.data()) % alignof(float) == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " starts at an address that is not a multiple of ",
                   alignof(float)));
}

absl::Status CheckTarget(absl::string_view name,
                         const StridedView<float>& target,
                         const Shape& expected) {
  if (target.shape() != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has shape ", ShapeString(target.shape()),
                     "; allowed: ", ShapeString(expected)));
  }
  const int last = target.rank() - 1;
  if (target.dim(last) > 1 && target.stride(last) != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has strides ", ShapeString(target.layout().strides),
        "; allowed: a last stride of 1"));
  }
  std::vector<std::pair<int64_t, int64_t>> axes;
  for (int axis = 0; axis < target.rank(); ++axis) {
    axes.emplace_back(target.stride(axis), target.dim(axis));
  }
  if (!Empty(target) && !Distinct(std::move(axes))) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has shape ", ShapeString(target.shape()), " and strides ",
        ShapeString(target.layout().strides),
        ", so that elements share memory; allowed: each at its own address"));
  }
  return CheckAlignment(name, target);
}

absl::Status CheckApart(absl::string_view target_name, const View& target,
                        absl::string_view input_name, const View& input) {
  if (Apart(target, input)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(target_name, " overlaps ", input_name,
                   " in memory; allowed: a target apart from every input"));
}

absl::Status CheckTargetsApart(absl::string_view name_a, const View& a,
                               absl::string_view name_b, const View& b) {
  if (Apart(a, b)) return absl::OkStatus();
  std::vector<Difference> axes;
  bool comparable = a.rank() == b.rank();
  for (int axis = 0; comparable && axis < a.rank(); ++axis) {
    if (std::max(a.dim(axis), b.dim(axis)) <= 1) continue;
    comparable = a.stride(axis) == b.stride(axis) && a.stride(axis) > 0;
    axes.push_back({a.stride(axis), 1 - b.dim(axis), a.dim(axis) - 1});
  }
  std::sort(axes.begin(), axes.end(),
            [](const auto& x, const auto& y) { return x.stride > y.stride; });
  if (comparable && !Reaches(b.data() - a.data(), axes)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      name_a, " and ", name_b,
      " overlap in memory; allowed: targets that share no element"));
}

absl::Status CheckPlaces(const std::vector<NamedView>& writes,
                         const std::vector<NamedView>& reads) {
  for (size_t i = 0; i < writes.size(); ++i) {
    for (size_t other = 0; other < i; ++other) {
      SOFTLOOKUP_RETURN_IF_ERROR(
          CheckTargetsApart(writes[other].name, writes[other].view,
                            writes[i].name, writes[i].view));
    }
    for (const NamedView& read : reads) {
      SOFTLOOKUP_RETURN_IF_ERROR(
          CheckApart(writes[i].name, writes[i].view, read.name, read.view));
    }
  }
  return absl::OkStatus();
}

}  // namespace softlookup::kernels
