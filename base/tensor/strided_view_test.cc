#include "base/tensor/strided_view.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/random/random.h"
#include "base/tensor/shape.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

// The offsets of a layout's elements in row-major order.
std::vector<int64_t> Offsets(const StridedLayout& layout) {
  std::vector<int64_t> offsets = {0};
  for (size_t axis = 0; axis < layout.shape.size(); ++axis) {
    std::vector<int64_t> next;
    for (const int64_t offset : offsets) {
      for (int64_t n = 0; n < layout.shape[axis]; ++n) {
        next.push_back(offset + n * layout.strides[axis]);
      }
    }
    offsets = next;
  }
  return offsets;
}

StridedLayout Contiguous(const Shape& shape) {
  return {shape, ContiguousStrides(shape)};
}

TEST(StridedLayout, MultiHeadSplitAndMerge) {
  // [B, T, d] = [2, 3, 8] into two heads of width 4.
  const StridedLayout layout = Contiguous({2, 3, 8});
  const StridedLayout split = layout.SplitAxis(2, {2, 4});
  EXPECT_EQ(split.shape, (Shape{2, 3, 2, 4}));
  EXPECT_EQ(split.strides, (Shape{24, 8, 4, 1}));
  const StridedLayout heads = split.Transpose(1, 2);
  EXPECT_EQ(heads.shape, (Shape{2, 2, 3, 4}));
  EXPECT_EQ(heads.strides, (Shape{24, 4, 8, 1}));
  EXPECT_TRUE(split.IsContiguous());
  EXPECT_FALSE(heads.IsContiguous());
  // Back is free; merging heads with positions is not.
  const StridedLayout back = heads.Transpose(1, 2).MergeAxes(2, 2).value();
  EXPECT_EQ(back.shape, layout.shape);
  EXPECT_EQ(back.strides, layout.strides);
  EXPECT_FALSE(heads.MergeAxes(1, 2).ok());
}

TEST(StridedLayout, MergingWhatLiesHeadByHeadNeedsACopy) {
  // The chapter's case: [B, H, T, D] contiguous, transposed to [B, T, H, D].
  const absl::Status status =
      Contiguous({2, 8, 5, 4}).Transpose(1, 2).MergeAxes(2, 2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "merging axes 2 to 3 of shape [2, 5, 8, 4] with strides "
            "[160, 4, 20, 1] needs a copy");
}

TEST(StridedLayout, OtherViewsOfANonContiguousLayoutStillWork) {
  const StridedLayout transposed = Contiguous({2, 8, 5, 4}).Transpose(1, 2);
  const StridedLayout split = transposed.SplitAxis(2, {2, 4});
  EXPECT_EQ(split.shape, (Shape{2, 5, 2, 4, 4}));
  EXPECT_EQ(split.strides, (Shape{160, 4, 80, 20, 1}));
}

TEST(StridedLayout, AxesOfSizeOneMergeWhateverTheirStride) {
  const StridedLayout layout = {{3, 1, 2}, {2, 77, 1}};
  const StridedLayout merged = layout.MergeAxes(0, 3).value();
  EXPECT_EQ(merged.shape, (Shape{6}));
  EXPECT_EQ(merged.strides, (Shape{1}));
  const StridedLayout ones = {{1, 1}, {5, 9}};
  EXPECT_EQ(ones.MergeAxes(0, 2)->shape, (Shape{1}));
  EXPECT_TRUE(layout.IsContiguous());
  EXPECT_TRUE(ones.IsContiguous());
}

TEST(StridedLayout, EmptyAxesMerge) {
  const StridedLayout layout = {{3, 0, 2}, {7, 5, 3}};
  EXPECT_EQ(layout.MergeAxes(0, 3)->shape, (Shape{0}));
  EXPECT_EQ(layout.MergeAxes(1, 2)->shape, (Shape{3, 0}));
}

TEST(StridedLayout, BroadcastRepeatsByStrideZero) {
  const StridedLayout layout = Contiguous({2, 1, 3});
  const StridedLayout full = layout.BroadcastTo({2, 4, 3}).value();
  EXPECT_EQ(full.shape, (Shape{2, 4, 3}));
  EXPECT_EQ(full.strides, (Shape{3, 0, 1}));
  // 1 to 1 keeps its stride: nothing is repeated.
  EXPECT_EQ(layout.BroadcastTo({2, 1, 3})->strides, layout.strides);
}

TEST(StridedLayout, BroadcastNamesBothShapes) {
  const StridedLayout layout = Contiguous({2, 1, 3});
  for (const Shape& full : {Shape{2, 4, 4}, {4, 4, 3}, {4, 3}, {1, 1, 1}}) {
    const absl::Status status = layout.BroadcastTo(full).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), "shape [2, 1, 3] does not broadcast to " +
                                    ShapeString(full) +
                                    "; each dimension must be 1 or full");
  }
}

TEST(StridedLayoutDeathTest, SplitMustKeepTheSize) {
  EXPECT_DEATH(Contiguous({2, 6}).SplitAxis(1, {2, 4}),
               "the sizes multiply to the axis");
}

TEST(StridedView, ReadsAndWritesThroughStrides) {
  std::vector<int> elements(12);
  std::iota(elements.begin(), elements.end(), 0);
  const StridedView<int> view(elements.data(), {3, 4});
  EXPECT_EQ(view.rank(), 2);
  EXPECT_EQ(view.dim(1), 4);
  EXPECT_EQ(view.stride(0), 4);
  EXPECT_EQ(view(2, 1), 9);
  const StridedView<int> turned = view.Transpose(0, 1);
  EXPECT_EQ(turned(1, 2), 9);
  turned(1, 2) = -9;
  EXPECT_EQ(elements[9], -9);
  const StridedView<const int> constant = view;
  EXPECT_EQ(constant.data(), elements.data());
  EXPECT_EQ(constant.shape(), view.shape());
  EXPECT_EQ(view.SplitAxis(1, {2, 2})(2, 0, 1), -9);
  EXPECT_EQ((*view.MergeAxes(0, 2))(9), -9);
  EXPECT_FALSE(turned.MergeAxes(0, 2).ok());
}

TEST(StridedView, SliceKeepsHalfOpenRanges) {
  std::vector<int> elements(12);
  std::iota(elements.begin(), elements.end(), 0);
  const StridedView<int> view(elements.data(), {3, 4});
  const StridedView<int> slice = view.Slice(1, 1, 3);
  EXPECT_EQ(slice.shape(), (Shape{3, 2}));
  EXPECT_EQ(slice(0, 0), 1);
  EXPECT_EQ(slice(2, 1), 10);
  EXPECT_EQ(view.Slice(0, 3, 3).shape(), (Shape{0, 4}));
  EXPECT_EQ(view.Slice(0, 0, 3).shape(), view.shape());
}

TEST(StridedViewDeathTest, SlicesStayInside) {
  std::vector<int> elements(12);
  const StridedView<int> view(elements.data(), {3, 4});
  EXPECT_DEATH(view.Slice(0, -1, 2), "slice within the axis");
  EXPECT_DEATH(view.Slice(0, 2, 1), "slice within the axis");
  EXPECT_DEATH(view.Slice(0, 0, 4), "slice within the axis");
}

TEST(StridedView, BroadcastReadsTheSameElement) {
  std::vector<int> elements = {1, 2};
  const StridedView<int> column(elements.data(), {2, 1});
  const StridedView<int> full = column.BroadcastTo({2, 3}).value();
  EXPECT_EQ(full(1, 2), 2);
  full(1, 0) += 5;
  EXPECT_EQ(full(1, 2), 7);
  EXPECT_FALSE(column.BroadcastTo({3, 3}).ok());
}

TEST(ForEachElement, WalksViewsTogetherInRowMajorOrder) {
  std::vector<int> elements(6);
  std::iota(elements.begin(), elements.end(), 0);
  const StridedView<int> view(elements.data(), {2, 3});
  std::vector<int> order;
  std::vector<int> partners;
  std::vector<int> other(6);
  std::iota(other.begin(), other.end(), 10);
  ForEachElement(
      [&](int element, int partner) {
        order.push_back(element);
        partners.push_back(partner);
      },
      view.Transpose(0, 1), StridedView<int>(other.data(), {3, 2}));
  EXPECT_EQ(order, (std::vector<int>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(partners, (std::vector<int>{10, 11, 12, 13, 14, 15}));
}

TEST(ForEachElement, ScalarsAndEmptyViews) {
  int number = 3;
  int calls = 0;
  ForEachElement([&](int element) { calls += element; },
                 StridedView<int>(&number, Shape{}));
  EXPECT_EQ(calls, 3);
  ForEachElement([&](int) { ++calls; }, StridedView<int>(&number, {2, 0}));
  EXPECT_EQ(calls, 3);
}

// A merge is possible exactly when the offsets of the merged axes form an
// arithmetic progression, found here by listing them.
TEST(StridedLayout, MergesExactlyWhenOneStrideSuffices) {
  constexpr uint64_t kSeed = 81;
  RandomStream stream(kSeed, "strided_view_test");
  int possible = 0;
  constexpr int kCases = 3000;
  for (int n = 0; n < kCases; ++n) {
    StridedLayout layout;
    for (int axis = 0; axis < 4; ++axis) {
      layout.shape.push_back(1 + stream.UniformInt(3));
      layout.strides.push_back(stream.UniformInt(7));
    }
    const int axis = static_cast<int>(stream.UniformInt(4));
    const int count = 1 + static_cast<int>(stream.UniformInt(4 - axis));
    SCOPED_TRACE(testing::Message()
                 << "seed " << kSeed << ", case " << n << ": shape "
                 << ShapeString(layout.shape) << " strides "
                 << ShapeString(layout.strides) << " axis " << axis << " count "
                 << count);
    const std::vector<int64_t> inner =
        Offsets({Shape(layout.shape.begin() + axis,
                       layout.shape.begin() + axis + count),
                 Shape(layout.strides.begin() + axis,
                       layout.strides.begin() + axis + count)});
    bool progression = true;
    for (size_t k = 2; k < inner.size(); ++k) {
      progression &= inner[k] - inner[k - 1] == inner[1] - inner[0];
    }
    const absl::StatusOr<StridedLayout> merged = layout.MergeAxes(axis, count);
    ASSERT_EQ(merged.ok(), progression);
    if (!merged.ok()) continue;
    possible += count > 1;
    ASSERT_EQ(merged->shape.size(), layout.shape.size() + 1 - count);
    ASSERT_EQ(Offsets(*merged), Offsets(layout));
  }
  EXPECT_GE(possible, kCases / 20);
}

TEST(StridedLayout, SplitUndoneByMergeOnDrawnLayouts) {
  constexpr uint64_t kSeed = 82;
  RandomStream stream(kSeed, "strided_view_test");
  for (int n = 0; n < 1000; ++n) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", case " << n);
    const Shape sizes = {1 + stream.UniformInt(3), 1 + stream.UniformInt(3),
                         1 + stream.UniformInt(3)};
    StridedLayout layout =
        Contiguous({1 + stream.UniformInt(3), *NumElements(sizes),
                    1 + stream.UniformInt(3)});
    // The split axis itself may have any stride.
    layout = layout.Transpose(1, static_cast<int>(stream.UniformInt(3)));
    int axis = 0;
    while (layout.shape[axis] != *NumElements(sizes)) ++axis;
    const StridedLayout split = layout.SplitAxis(axis, sizes);
    ASSERT_EQ(Offsets(split), Offsets(layout));
    const StridedLayout merged = split.MergeAxes(axis, 3).value();
    ASSERT_EQ(merged.shape, layout.shape);
    ASSERT_EQ(Offsets(merged), Offsets(layout));
    // Exchanging two axes twice changes nothing.
    const StridedLayout twice = split.Transpose(0, 4).Transpose(4, 0);
    ASSERT_EQ(twice.shape, split.shape);
    ASSERT_EQ(twice.strides, split.strides);
    // Contiguous means: element n lies at offset n.
    std::vector<int64_t> in_order(Offsets(split).size());
    std::iota(in_order.begin(), in_order.end(), 0);
    ASSERT_EQ(split.IsContiguous(), Offsets(split) == in_order);
  }
}

}  // namespace
}  // namespace softlookup
