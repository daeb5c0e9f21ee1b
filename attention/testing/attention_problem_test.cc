#include "attention/testing/attention_problem.h"

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(AttentionProblem, StreamsAreIndependentAndReproducible) {
  const AttentionProblem<double> a = DrawProblem(1, {2, 3, 4, 5});
  const AttentionProblem<double> b = DrawProblem(1, {2, 3, 4, 5});
  EXPECT_EQ(a.query.shape(), (Shape{2, 3, 4, 5}));
  EXPECT_EQ(a.query.elements(), b.query.elements());
  EXPECT_NE(a.query.elements(), a.key.elements());
  EXPECT_NE(a.key.elements(), a.value.elements());
  EXPECT_NE(a.query.elements(), DrawProblem(2, {2, 3, 4, 5}).query.elements());
  const AttentionProblem<float> rounded = ToFloat(a);
  EXPECT_EQ(rounded.value[7], static_cast<float>(a.value[7]));
  EXPECT_EQ(a.inputs().key(1, 2, 3, 4), a.key(1, 2, 3, 4));
}

}  // namespace
}  // namespace softlookup
