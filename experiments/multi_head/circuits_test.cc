#include "experiments/multi_head/circuits.h"

#include <cstdint>

#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(MeasureIdentities, HoldWithinRoundingOnDrawnSizes) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const int64_t heads = 1 + static_cast<int64_t>(seed % 4);
    const Json identities =
        MeasureIdentities(
            seed, {.batch = 1 + static_cast<int64_t>(seed % 2),
                   .positions = 1 + static_cast<int64_t>(seed % 5),
                   .width = heads * (1 + static_cast<int64_t>(seed % 7)),
                   .heads = heads})
            .value();
    for (const auto& [name, identity] : identities.items()) {
      EXPECT_LE(identity["difference_over_bound"].get<double>(), 1)
          << name << ", seed " << seed;
    }
    EXPECT_EQ(identities["sum_of_writes"]["norm_by_head"].size(),
              static_cast<size_t>(heads));
  }
}

TEST(MeasureSubspaces, RanksAreHeadWidths) {
  const Json subspaces =
      MeasureSubspaces(1, {.batch = 1, .positions = 1, .width = 12, .heads = 3})
          .value();
  for (const char* circuit : {"qk", "ov"}) {
    EXPECT_EQ(subspaces[circuit]["rank_by_head"], Json({4, 4, 4})) << circuit;
    EXPECT_EQ(subspaces[circuit]["largest_rank"], 4) << circuit;
    EXPECT_EQ(subspaces[circuit]["rank_of_full_width_head"], 12) << circuit;
    EXPECT_EQ(subspaces[circuit]["singular_values_of_first_head"].size(), 12u)
        << circuit;
    EXPECT_EQ(subspaces[circuit]["circuit"]["shape"], "(d, d)") << circuit;
  }
  EXPECT_EQ(subspaces["writes"]["dimensions_of_first_head"], 4);
  EXPECT_EQ(subspaces["writes"]["dimensions_of_all_heads"], 12);
  for (const auto& [role, read] : subspaces["reads"].items()) {
    // Sums of 12 products below 1.
    EXPECT_LE(read["change_from_outside"].get<double>(), 1e-14) << role;
    EXPECT_GT(read["change_from_generic_direction"].get<double>(), 0.01)
        << role;
  }
}

}  // namespace
}  // namespace softlookup
