// Random streams named by purpose, and distributions with fixed bits.
//
// A stream is a seed and a name; its n-th word is a function of (seed, name,
// n) alone. Adding a draw to one stream therefore moves nothing in another,
// and a stream can be resumed from its position. The distributions are ours
// because the standard library's differ between implementations.
//
//   RandomStream init(/*seed=*/1, "init");
//   double x = init.Gaussian();              // mean 0, variance 1
//   uint32_t token = init.UniformInt(64);    // 0 to 63
#ifndef SOFTLOOKUP_BASE_RANDOM_RANDOM_H_
#define SOFTLOOKUP_BASE_RANDOM_RANDOM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "base/random/philox.h"

namespace softlookup {

class RandomStream {
 public:
  // The name is hashed to 64 bits (FNV-1a), which select the stream; the seed
  // is Philox's key.
  RandomStream(uint64_t seed, const std::string& name);

  // The number of 32-bit words drawn so far; Seek resumes there.
  uint64_t position() const { return position_; }
  void Seek(uint64_t position) { position_ = position; }

  // A uniform 32-bit word.
  uint32_t Word();

  // Uniform in [0, 1), a multiple of 2^-53. Two words.
  double Uniform();

  // Uniform in {0, ..., bound - 1}, unbiased (Lemire's multiply and reject).
  // bound >= 1.
  uint32_t UniformInt(uint32_t bound);

  // Normal with mean 0 and variance 1 (Box and Muller, its cosine half).
  // Four words.
  double Gaussian();

  // Independent normals; each pair shares one Box-Muller transform, so this
  // draws other numbers than repeated Gaussian().
  void FillGaussian(absl::Span<double> values);

  // +1 or -1, each with probability 1/2. One word.
  double Sign();

  // A uniformly random order of the elements (Fisher and Yates).
  template <typename T>
  void Shuffle(absl::Span<T> values) {
    for (size_t n = values.size(); n > 1; --n) {
      std::swap(values[n - 1], values[UniformInt(static_cast<uint32_t>(n))]);
    }
  }

 private:
  struct GaussianPair {
    double cosine;
    double sine;
  };
  GaussianPair NextGaussianPair();

  PhiloxKey key_;
  std::array<uint32_t, 2> stream_;
  uint64_t position_ = 0;
  // The block that holds the current word, kept so that four words cost one
  // evaluation.
  uint64_t block_index_ = UINT64_MAX;
  std::array<uint32_t, 4> block_ = {};
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_RANDOM_RANDOM_H_
