// Philox4x32-10: a counter-based random function.
//
// Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2,
// 3", SC 2011. Output depends on counter and key only, so any draw can be
// made anywhere, in any order, by any thread. Use base/random/random.h for
// numbers.
//
//   std::array<uint32_t, 4> words = Philox4x32({0, 0, 0, 0}, {seed_lo,
//   seed_hi});
#ifndef SOFTLOOKUP_BASE_RANDOM_PHILOX_H_
#define SOFTLOOKUP_BASE_RANDOM_PHILOX_H_

#include <array>
#include <cstdint>

namespace softlookup {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

// Ten rounds, as in the paper; the reference implementation's known answers
// are in philox_test.cc.
std::array<uint32_t, 4> Philox4x32(PhiloxCounter counter, PhiloxKey key);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_RANDOM_PHILOX_H_
