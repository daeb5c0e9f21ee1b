#include "attention/kernels/kernel_options.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup::kernels {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(InstructionSetTest, TheBestIsSupportedAndPortableAlwaysIs) {
  const std::vector<InstructionSet> supported = SupportedInstructionSets();
  EXPECT_EQ(supported.front(), InstructionSet::kPortable);
  EXPECT_EQ(supported.back(), BestInstructionSet());
}

TEST(InstructionSetTest, NamesParseBack) {
  for (const InstructionSet set : SupportedInstructionSets()) {
    const auto parsed = ParseInstructionSet(InstructionSetName(set));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, set);
  }
  EXPECT_EQ(*ParseInstructionSet("auto"), BestInstructionSet());
}

TEST(InstructionSetTest, SaysWhatIsAllowed) {
  EXPECT_EQ(ParseInstructionSet("sse2").status().message(),
            "isa is \"sse2\"; allowed: auto, portable, avx2, avx512");
  for (const InstructionSet set :
       {InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    const auto parsed = ParseInstructionSet(InstructionSetName(set));
    if (parsed.ok()) {
      EXPECT_THAT(SupportedInstructionSets(), Contains(set));
    } else {
      EXPECT_THAT(std::string(parsed.status().message()),
                  HasSubstr("which this processor lacks; allowed here"));
    }
  }
}

}  // namespace
}  // namespace softlookup::kernels
