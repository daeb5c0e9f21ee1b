// The same bits on every machine and with every compiler.
//
// The expected numbers are hashes of this library's own output, so they say
// nothing about its correctness, which the other tests hold to values from
// outside. They fail when a compiler, an instruction set or a library changes
// a bit. After a deliberate change of the order of operations, take over the
// hash that the failure prints.
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "attention/linear_algebra.h"
#include "attention/random_attention.h"
#include "attention/reference/attention_reference.h"
#include "base/random.h"
#include "base/tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

// FNV-1a over the bytes of numbers.
class Hash {
 public:
  template <typename T>
  void Add(const std::vector<T>& numbers) {
    std::vector<unsigned char> bytes(numbers.size() * sizeof(T));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    for (const unsigned char byte : bytes) {
      hash_ = (hash_ ^ byte) * 0x100000001b3;
    }
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

TEST(Determinism, AttentionForwardAndBackward) {
  RandomStream stream(91, "determinism_test");
  const AttentionLimits limits = {.positions = 40, .width = 40};
  Hash hash;
  for (int n = 0; n < 100; ++n) {
    const AttentionCase<double> drawn = DrawAttentionCase(stream, limits);
    const auto outputs =
        reference::AttentionForward(drawn.inputs(), drawn.options).value();
    hash.Add(outputs.output.elements());
    hash.Add(outputs.log_sum_exp.elements());
    const auto gradients =
        reference::AttentionBackward(drawn.inputs(), drawn.options,
                                     drawn.output_gradient.view())
            .value();
    hash.Add(gradients.query.elements());
    hash.Add(gradients.key.elements());
    hash.Add(gradients.value.elements());
    if (gradients.bias.has_value()) hash.Add(gradients.bias->elements());
  }
  EXPECT_EQ(hash.value(), 4567982706785692150u);
}

TEST(Determinism, SingularValuesAndEigenvalues) {
  RandomStream stream(92, "determinism_test");
  Hash hash;
  for (int n = 0; n < 50; ++n) {
    const int64_t size = 1 + stream.UniformInt(70);
    Tensor<double> matrix({size, size});
    stream.FillGaussian(absl::MakeSpan(matrix.elements()));
    const auto half = matrix.view().Slice(0, 0, (size + 1) / 2);
    hash.Add(SingularValues(matrix.view()).value());
    hash.Add(SingularValues(half).value());
    hash.Add(Eigenvalues(matrix.view()).value());
  }
  EXPECT_EQ(hash.value(), 1021114886893178850u);
}

}  // namespace
}  // namespace softlookup
