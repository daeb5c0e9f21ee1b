#include "attention/kernels/array_functions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/kernels/array_kernels.h"
#include "attention/kernels/kernel_run.h"
#include "attention/kernels/view_checks.h"
#include "base/status.h"
#include "base/tensor/strided_view.h"

namespace softlookup::kernels {
namespace {

// Elements per task; where partial sums are cut, so part of a sum's bits.
constexpr int64_t kChunk = 65536;

// The reduction of each chunk, then of the chunks' results by `combine`.
float ReduceChunks(absl::Span<const float> x, const KernelOptions& execution,
                   float (*reduce)(const float*, int64_t),
                   float (*combine)(const float*, int64_t)) {
  const int64_t n = static_cast<int64_t>(x.size());
  if (n <= kChunk) return reduce(x.data(), n);
  std::vector<float> partial(CeilDivide(n, kChunk));
  execution.ParallelFor(
      static_cast<int64_t>(partial.size()), [&](int64_t chunk) {
        const int64_t begin = chunk * kChunk;
        partial[chunk] = reduce(x.data() + begin, std::min(kChunk, n - begin));
      });
  return combine(partial.data(), static_cast<int64_t>(partial.size()));
}

}  // namespace

absl::Status MapArray(ArrayFunction function, absl::Span<const float> x,
                      absl::Span<float> y, const KernelOptions& execution) {
  const int64_t n = static_cast<int64_t>(x.size());
  if (y.size() != x.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("y has ", y.size(), " elements; allowed: ", n));
  }
  const StridedView<const float> source(x.data(), Shape{n});
  const StridedView<float> target(y.data(), Shape{n});
  SOFTLOOKUP_RETURN_IF_ERROR(CheckAlignment("x", source));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckAlignment("y", target));
  if (y.data() != x.data()) {
    SOFTLOOKUP_RETURN_IF_ERROR(CheckApart("y", target, "x", source));
  }
  const KernelTable& kernels = KernelsFor(execution.instruction_set);
  execution.ParallelFor(CeilDivide(n, kChunk), [&](int64_t chunk) {
    const int64_t begin = chunk * kChunk;
    kernels.map(function, x.data() + begin, y.data() + begin,
                std::min(kChunk, n - begin));
  });
  return absl::OkStatus();
}

float ArraySum(absl::Span<const float> x, const KernelOptions& execution) {
  const KernelTable& kernels = KernelsFor(execution.instruction_set);
  return ReduceChunks(x, execution, kernels.sum, kernels.sum);
}

float ArrayMaximum(absl::Span<const float> x, const KernelOptions& execution) {
  const KernelTable& kernels = KernelsFor(execution.instruction_set);
  return ReduceChunks(x, execution, kernels.maximum, kernels.maximum);
}

float ArrayNorm(absl::Span<const float> x, const KernelOptions& execution) {
  const KernelTable& kernels = KernelsFor(execution.instruction_set);
  return std::sqrt(
      ReduceChunks(x, execution, kernels.sum_of_squares, kernels.sum));
}

}  // namespace softlookup::kernels
