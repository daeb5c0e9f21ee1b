#include "experiments/worked_example/pytorch_values.h"

#include <string>

#include "absl/status/status.h"
#include "base/tensor/shape.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(WorkedExampleReference, IsCompiledInWithItsProvenance) {
  const Json reference = WorkedExampleReference().value();
  EXPECT_EQ(reference["provenance"]["dtype"], "float64");
  EXPECT_FALSE(reference["provenance"]["torch"].get<std::string>().empty());
  const auto query = MatrixFromLists(reference["values"]["query"]).value();
  EXPECT_EQ(query.shape(), (Shape{3, 2}));
  EXPECT_EQ(query(2, 1), 1.0);
  // The printed output of token 3, as an anchor to the chapter.
  EXPECT_NEAR(
      reference["values"]["causal_scaled"]["output"][2][1].get<double>(), 2.007,
      0.0005);
}

TEST(WorkedExampleReference, MatrixFromLists) {
  const auto matrix =
      MatrixFromLists(Json::array({{1, 2.5}, {3, 4}, {5, 6}})).value();
  EXPECT_EQ(matrix.shape(), (Shape{3, 2}));
  EXPECT_EQ(matrix(0, 1), 2.5);
  EXPECT_EQ(matrix(2, 0), 5.0);
}

TEST(WorkedExampleReference, MatrixFromListsRefusesOtherThings) {
  for (const char* text :
       {"3", "[]", "[1, 2]", "[[1, 2], [3]]", "[[1], 2]", "[[1, \"x\"]]"}) {
    const Json json = ParseJson(text, "test").value();
    EXPECT_EQ(MatrixFromLists(json).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

}  // namespace
}  // namespace softlookup
