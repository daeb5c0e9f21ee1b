#include "base/random/philox.h"

#include <array>
#include <cstdint>
#include <set>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

using Words = std::array<uint32_t, 4>;

// The known answers that the authors' library (Random123, file kat_vectors)
// publishes for philox4x32 with ten rounds.
TEST(Philox4x32, KnownAnswers) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                       {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox4x32, EveryWordOfCounterAndKeyMatters) {
  std::set<Words> outputs = {Philox4x32({0, 0, 0, 0}, {0, 0})};
  for (int bit = 0; bit < 192; ++bit) {
    PhiloxCounter counter = {};
    PhiloxKey key = {};
    (bit < 128 ? counter[bit / 32] : key[bit / 32 - 4]) = 1u << bit % 32;
    EXPECT_TRUE(outputs.insert(Philox4x32(counter, key)).second)
        << "bit " << bit;
  }
}

}  // namespace
}  // namespace softlookup
