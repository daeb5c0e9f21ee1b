#include "attention/kernels/view_checks.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

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
  // Two interleaved views are one with an axis more, from `a` to `b`.
  std::vector<std::pair<int64_t, int64_t>> axes = {{b.data() - a.data(), 2}};
  bool comparable = a.rank() == b.rank();
  for (int axis = 0; comparable && axis < a.rank(); ++axis) {
    const int64_t size = std::max(a.dim(axis), b.dim(axis));
    comparable = size <= 1 || a.stride(axis) == b.stride(axis);
    axes.emplace_back(a.stride(axis), size);
  }
  if (comparable && Distinct(std::move(axes))) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name_a, " and ", name_b,
      " overlap in memory; allowed: targets that share no element"));
}

}  // namespace softlookup::kernels
