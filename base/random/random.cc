#include "base/random/random.h"

#include <cmath>

#include "base/check.h"
#include "base/elementary.h"
#include "base/hash.h"

namespace softlookup {
namespace {

uint64_t HashName(const std::string& name) {
  BitHash hash;
  hash.AddBytes(name);
  return hash.value();
}

std::array<uint32_t, 2> Halves(uint64_t value) {
  return {static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)};
}

}  // namespace

RandomStream::RandomStream(uint64_t seed, const std::string& name)
    : key_(Halves(seed)), stream_(Halves(HashName(name))) {}

uint32_t RandomStream::Word() {
  const uint64_t block_index = position_ / 4;
  if (block_index != block_index_) {
    const std::array<uint32_t, 2> low = Halves(block_index);
    block_ = Philox4x32({low[0], low[1], stream_[0], stream_[1]}, key_);
    block_index_ = block_index;
  }
  return block_[position_++ % 4];
}

double RandomStream::Uniform() {
  const uint64_t high = Word();
  const uint64_t low = Word();
  return static_cast<double>((high << 32 | low) >> 11) * 0x1p-53;
}

uint32_t RandomStream::UniformInt(uint32_t bound) {
  SOFTLOOKUP_CHECK(bound >= 1, "at least one outcome");
  // The high half of word * bound is uniform once the words that would make
  // some outcomes more frequent, those with a low half under 2^32 mod bound,
  // are drawn again.
  const uint32_t threshold = -bound % bound;
  uint64_t product;
  do {
    product = static_cast<uint64_t>(Word()) * bound;
  } while (static_cast<uint32_t>(product) < threshold);
  return static_cast<uint32_t>(product >> 32);
}

RandomStream::GaussianPair RandomStream::NextGaussianPair() {
  // 1 - u lies in (0, 1], so the logarithm is finite.
  const double radius = std::sqrt(-2.0 * Log(1.0 - Uniform()));
  const double angle = 6.283185307179586 * Uniform();
  return {radius * Cos(angle), radius * Sin(angle)};
}

double RandomStream::Gaussian() { return NextGaussianPair().cosine; }

void RandomStream::FillGaussian(absl::Span<double> values) {
  for (size_t i = 0; i < values.size(); i += 2) {
    const GaussianPair pair = NextGaussianPair();
    values[i] = pair.cosine;
    if (i + 1 < values.size()) values[i + 1] = pair.sine;
  }
}

double RandomStream::Sign() { return (Word() >> 31) != 0 ? -1.0 : 1.0; }

}  // namespace softlookup
