// What the tests of the kernels share: every way to run one, and comparison
// by bits.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_TEST_UTIL_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_TEST_UTIL_H_

#include <string>
#include <vector>

#include "attention/kernels/kernel_options.h"
#include "attention/testing/random_attention.h"
#include "base/random/random.h"
#include "base/tensor/shape.h"
#include "base/tensor/tensor.h"

namespace softlookup::kernels {

struct NamedRun {
  std::string name;  // "avx2, 3 threads"
  KernelOptions execution;
};

// Every instruction set that this processor has, each on 1, 2, 3, 8 and 16
// threads; the pools live as long as the program.
const std::vector<NamedRun>& EveryRun();

// Each instruction set on one of these numbers of threads, a different one for
// the next n: for tests of so many cases that every run would take long.
std::vector<NamedRun> SomeRuns(int n);

// Rounds a drawn problem to float32, in place, and returns it in that type:
// the same numbers in both.
AttentionCase<float> RoundToFloat(AttentionCase<double>& wide);

// Independent normal elements.
Tensor<float> GaussianTensor(RandomStream& stream, const Shape& shape);

// "" if the tensors have one shape and the same bits, NaN equal to NaN;
// otherwise where they first differ.
std::string BitDifference(const Tensor<float>& a, const Tensor<float>& b);

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_KERNEL_TEST_UTIL_H_
