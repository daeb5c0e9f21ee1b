#include "experiments/frame/listings_reference.h"

#include <string>

#include "absl/status/status.h"
#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(ListingReference, IsCompiledInWithItsVersion) {
  for (const char* listing : {"masking", "multi_head"}) {
    const Json record = ListingReference(listing).value();
    EXPECT_FALSE(record["version"].get<std::string>().empty()) << listing;
  }
  const Json masking = ListingReference("masking").value();
  for (const char* type : {"float64", "float32"}) {
    EXPECT_EQ(masking[type]["blind_row_entries"], 32) << type;
    EXPECT_TRUE(masking[type].contains("causal_flag_against_mask")) << type;
  }
  EXPECT_TRUE(ListingReference("multi_head")->contains("error_of_view"));
}

TEST(ListingReference, RefusesOtherListings) {
  EXPECT_EQ(ListingReference("worked_example").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace softlookup
