#include "experiments/worked_example/triangle.h"

#include <cmath>
#include <cstdint>

#include "base/random/random.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

constexpr double kUnit = 0x1p-53;  // the rounding unit of double

TEST(Triangle, SignedAreaFollowsTheOrderOfTheCorners) {
  EXPECT_EQ(TwiceSignedArea({{{0, 0}, {2, 0}, {0, 3}}}), 6.0);
  EXPECT_EQ(TwiceSignedArea({{{0, 0}, {0, 3}, {2, 0}}}), -6.0);
  EXPECT_EQ(TwiceSignedArea({{{1, 1}, {2, 2}, {5, 5}}}), 0.0);
}

TEST(Triangle, BarycentricCoordinatesOfCornersEdgesAndOutside) {
  const Triangle triangle = {{{1, 0}, {0, 2}, {3, 3}}};
  for (size_t corner = 0; corner < 3; ++corner) {
    const auto l = Barycentric(triangle, triangle[corner]);
    for (size_t j = 0; j < 3; ++j) EXPECT_EQ(l[j], j == corner ? 1.0 : 0.0);
  }
  // The middle of the edge from corner 1 to corner 2.
  const auto middle = Barycentric(triangle, {0.5, 1});
  EXPECT_EQ(middle[0], 0.5);
  EXPECT_EQ(middle[1], 0.5);
  EXPECT_EQ(middle[2], 0.0);
  // Corner 3 reflected at corner 1: 2 v1 - v3.
  const auto outside = Barycentric(triangle, {-1, -3});
  EXPECT_EQ(outside[0], 2.0);
  EXPECT_EQ(outside[1], 0.0);
  EXPECT_EQ(outside[2], -1.0);
  // The corners' order does not change what belongs to which corner.
  const auto turned = Barycentric({{{1, 0}, {3, 3}, {0, 2}}}, {0.5, 1});
  EXPECT_EQ(turned[0], 0.5);
  EXPECT_EQ(turned[1], 0.0);
  EXPECT_EQ(turned[2], 0.5);
}

TEST(Triangle, BarycentricCoordinatesAreTheWeightsOfTheAverage) {
  constexpr uint64_t kSeed = 3;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  RandomStream stream(kSeed, "triangle_test");
  for (int n = 0; n < 1000; ++n) {
    Triangle triangle;
    for (Point& corner : triangle) {
      corner = {stream.Gaussian(), stream.Gaussian()};
    }
    const double area = std::abs(TwiceSignedArea(triangle));
    if (area < 0.1) continue;  // the bound below grows as 1 / area
    double weights[3];
    double sum = 0;
    for (double& weight : weights) sum += weight = stream.Uniform();
    Point point = {0, 0};
    for (int j = 0; j < 3; ++j) {
      weights[j] /= sum;
      for (int c = 0; c < 2; ++c) point[c] += weights[j] * triangle[j][c];
    }
    const auto l = Barycentric(triangle, point);
    // The point and the products carry some 10 roundings of numbers below
    // 5^2 (the corners stay within 5), divided by the area.
    const double tolerance = 10 * 25 * kUnit / area;
    for (int j = 0; j < 3; ++j) {
      ASSERT_NEAR(l[j], weights[j], tolerance) << "case " << n;
    }
  }
}

TEST(Triangle, Distances) {
  EXPECT_EQ(Distance({1, 1}, {4, 5}), 5.0);
  EXPECT_EQ(PositionAlong({1, 0}, {1, 4}, {7, 3}), 0.75);
  EXPECT_EQ(PositionAlong({0, 2}, {4, 2}, {-1, 9}), -0.25);
  EXPECT_EQ(DistanceFromLine({1, 0}, {1, 4}, {7, 3}), 6.0);
  EXPECT_EQ(DistanceFromLine({1, 0}, {1, 4}, {-1, 3}), 2.0);
  EXPECT_EQ(DistanceFromLine({0, 0}, {3, 4}, {6, 8}), 0.0);
}

TEST(Triangle, NearestCorner) {
  const Triangle triangle = {{{1, 0}, {0, 2}, {3, 3}}};
  EXPECT_EQ(NearestCorner(triangle, {1, 0.1}), 0u);
  EXPECT_EQ(NearestCorner(triangle, {0, 1.9}), 1u);
  EXPECT_EQ(NearestCorner(triangle, {2, 2}), 2u);
  // Equally far from corners 2 and 3 (and farther from 1): the first.
  EXPECT_EQ(NearestCorner({{{9, 9}, {0, 0}, {2, 0}}}, {1, 0}), 1u);
}

}  // namespace
}  // namespace softlookup
