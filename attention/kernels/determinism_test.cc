// The same bits on every machine and with every compiler.
//
// The expected numbers are hashes of this library's own output, so they say
// nothing about its correctness, which the other tests hold to values from
// outside. They fail when a compiler, an instruction set or a library changes
// a bit. After a deliberate change of the order of operations, take over the
// hash that the failure prints.
#include <complex>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "attention/reference/attention_reference.h"
#include "attention/testing/random_attention.h"
#include "base/hash.h"
#include "base/random/random.h"
#include "base/tensor/linear_algebra.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

void AddComplex(const std::vector<std::complex<double>>& numbers,
                BitHash& hash) {
  for (const std::complex<double>& number : numbers) {
    hash.Add<double>({number.real(), number.imag()});
  }
}

TEST(Determinism, AttentionForwardAndBackward) {
  RandomStream stream(91, "determinism_test");
  const AttentionLimits limits = {.positions = 40, .width = 40};
  BitHash hash;
  for (int n = 0; n < 100; ++n) {
    const AttentionCase<double> drawn = DrawAttentionCase(stream, limits);
    const auto outputs =
        reference::AttentionForward(drawn.inputs(), drawn.options).value();
    hash.Add<double>(outputs.output.elements());
    hash.Add<double>(outputs.log_sum_exp.elements());
    const auto gradients =
        reference::AttentionBackward(drawn.inputs(), drawn.options,
                                     drawn.output_gradient.view())
            .value();
    hash.Add<double>(gradients.query.elements());
    hash.Add<double>(gradients.key.elements());
    hash.Add<double>(gradients.value.elements());
    if (gradients.bias.has_value())
      hash.Add<double>(gradients.bias->elements());
  }
  EXPECT_EQ(hash.value(), 4567982706785692150u);
}

TEST(Determinism, SingularValuesAndEigenvalues) {
  RandomStream stream(92, "determinism_test");
  BitHash hash;
  for (int n = 0; n < 50; ++n) {
    const int64_t size = 1 + stream.UniformInt(70);
    Tensor<double> matrix({size, size});
    stream.FillGaussian(absl::MakeSpan(matrix.elements()));
    const auto half = matrix.view().Slice(0, 0, (size + 1) / 2);
    hash.Add<double>(SingularValues(matrix.view()).value());
    hash.Add<double>(SingularValues(half).value());
    AddComplex(Eigenvalues(matrix.view()).value(), hash);
  }
  EXPECT_EQ(hash.value(), 1021114886893178850u);
}

}  // namespace
}  // namespace softlookup
