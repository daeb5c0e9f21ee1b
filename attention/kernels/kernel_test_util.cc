#include "attention/kernels/kernel_test_util.h"

#include <bit>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "attention/kernels/kernel_options.h"
#include "base/tensor/shape.h"
#include "base/thread_pool.h"

namespace softlookup::kernels {

const std::vector<NamedRun>& EveryRun() {
  static const auto& runs = *new std::vector<NamedRun>([] {
    std::vector<NamedRun> every;
    for (const int threads : {1, 2, 3, 8, 16}) {
      auto* pool = threads == 1 ? nullptr : new ThreadPool(threads);
      for (const InstructionSet set : SupportedInstructionSets()) {
        every.push_back(
            {absl::StrCat(InstructionSetName(set), ", ", threads, " threads"),
             {set, pool}});
      }
    }
    return every;
  }());
  return runs;
}

std::vector<NamedRun> SomeRuns(int n) {
  const std::vector<NamedRun>& every = EveryRun();
  const size_t sets = SupportedInstructionSets().size();
  const size_t first = static_cast<size_t>(n) % (every.size() / sets) * sets;
  const auto begin = every.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(sets)};
}

AttentionCase<float> RoundToFloat(AttentionCase<double>& wide) {
  const auto round = [](Tensor<double>& tensor) {
    Tensor<float> narrow(tensor.shape());
    for (int64_t i = 0; i < tensor.size(); ++i) {
      narrow[i] = static_cast<float>(tensor[i]);
      tensor[i] = narrow[i];
    }
    return narrow;
  };
  AttentionCase<float> narrow;
  narrow.sizes = wide.sizes;
  narrow.query = round(wide.query);
  narrow.key = round(wide.key);
  narrow.value = round(wide.value);
  narrow.output_gradient = round(wide.output_gradient);
  if (wide.bias.has_value()) narrow.bias = round(*wide.bias);
  narrow.allowed = wide.allowed;
  narrow.key_lengths = wide.key_lengths;
  narrow.key_starts = wide.key_starts;
  narrow.causal = wide.causal;
  narrow.options = wide.options;
  return narrow;
}

Tensor<float> GaussianTensor(RandomStream& stream, const Shape& shape) {
  Tensor<float> tensor(shape);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor[i] = static_cast<float>(stream.Gaussian());
  }
  return tensor;
}

std::string BitDifference(const Tensor<float>& a, const Tensor<float>& b) {
  if (a.shape() != b.shape()) {
    return absl::StrCat("shapes ", ShapeString(a.shape()), " and ",
                        ShapeString(b.shape()));
  }
  for (int64_t i = 0; i < a.size(); ++i) {
    if (a[i] != a[i] && b[i] != b[i]) continue;
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i])) {
      return absl::StrFormat("element %d of %s: %a and %a", i,
                             ShapeString(a.shape()), a[i], b[i]);
    }
  }
  return "";
}

}  // namespace softlookup::kernels
