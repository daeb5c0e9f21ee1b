// Work that does nothing but fused multiply-adds, as many as the processor can
// start: what the speed of kernels is a share of.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_FMA_PEAK_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_FMA_PEAK_H_

#include <cstdint>

namespace softlookup::kernels {

// Chains that do not wait for each other, enough for two units of latency 4
// or 5.
inline constexpr int kPeakChains = 12;

// `rounds` multiply-adds in each lane of each chain. Returns their sum, so
// that none can be left out.
template <typename Simd>
float FmaChains(int64_t rounds) {
  typename Simd::Float chain[kPeakChains];
  for (int i = 0; i < kPeakChains; ++i) {
    chain[i] = Simd::Set(static_cast<float>(i));
  }
  const typename Simd::Float factor = Simd::Set(0.999f);
  const typename Simd::Float term = Simd::Set(0.001f);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kPeakChains; ++i) {
      chain[i] = Simd::Fma(chain[i], factor, term);
    }
  }
  for (int i = 1; i < kPeakChains; ++i) {
    chain[0] = Simd::Add(chain[0], chain[i]);
  }
  float lanes[Simd::kLanes];
  Simd::Store(lanes, chain[0]);
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_FMA_PEAK_H_
