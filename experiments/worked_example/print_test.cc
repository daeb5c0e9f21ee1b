#include "experiments/worked_example/print.h"

#include "experiments/worked_example/backward.h"
#include "experiments/worked_example/forward.h"
#include "experiments/worked_example/geometry.h"
#include "experiments/worked_example/projections.h"
#include "experiments/worked_example/score_spread.h"
#include "experiments/worked_example/softmax_gradient_rule.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Describe(const WorkedExample& example, const ExampleLoss& loss) {
  Json results = MeasureForward(example).value();
  results["geometry"] =
      MeasureGeometry(example, {.draws = 10, .seed = 1}).value();
  results["backward"] = MeasureBackward(example, loss).value();
  results["row_rule"] = MeasureRowRule({.rows = 10, .seed = 1}).value();
  results["projections"] = MeasureProjections({.draws = 10, .seed = 1}).value();
  results["score_spread"] =
      MeasureScoreSpread({.widths = {2, 4}, .scores = 10, .seed = 1});
  return DescribeWorkedExample(results);
}

TEST(WorkedExamplePrint, ShowsTheChaptersNumbersWhereTheyBelong) {
  const std::string text = Describe(ChapterExample(), {});
  for (const char* line : {
           "    3  (1, 1)   (1, 1)  (3, 3)\n",
           "query 3  1.000  1.000  2.000     0.707     0.707     1.414\n",
           "  1.414  4.113\n",
           // The causal, scaled case: exponentials with their sum, weights.
           "  2     2    0.000    0.707     -inf  1.000  2.028  -      3.028\n",
           "  2     0.330     0.670     0.000    0.634  (0.330, 1.340)\n",
           "  3     0.248     0.248     0.503    1.037  (1.759, 2.007)\n",
           "Row 2 written out: 1.000 / 3.028 = 0.330, 2.028 / 3.028 = 0.670; "
           "0.330 v1 + 0.670 v2 = (0.330, 1.340).\n",
           // Without the scale.
           "  3     0.212     0.212     0.576    0.975  (1.940, 2.152)\n",
           "q1.k3 and q2.k3  1.000          1.000            0.401",
           "nearest is v3",
           "Backward by hand: L = o_3,2 = 2.007 (causal, scaled)\n",
           "  1  0.248  0.000    -2.007            -0.4982",
           "        1     -0.4982      0.0000      0.5000         0.0012\n",
           "    3  -0.498  -0.002  0.500  0.001  0.352   0.354   0.354",
           ", autograd ",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  // Every pointer resolved.
  EXPECT_THAT(text, Not(HasSubstr("?\n")));
  EXPECT_THAT(text, Not(HasSubstr(" ? ")));
  // Nor is a zero printed with a sign.
  EXPECT_THAT(text, Not(ContainsRegex("-0[.]0+[^0-9]")));
}

TEST(WorkedExamplePrint, OtherExamplesAndLosses) {
  WorkedExample example = ChapterExample();
  example.key(0, 0) = 0.5;
  const std::string text = Describe(example, {.token = 2, .component = 1});
  EXPECT_THAT(text, HasSubstr("L = o_2,1 = "));
  EXPECT_THAT(text,
              HasSubstr("PyTorch's values are for the published example only"));
  EXPECT_THAT(text, Not(HasSubstr("autograd")));
}

}  // namespace
}  // namespace softlookup
