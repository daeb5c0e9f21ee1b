// A triangle in the plane: where a point lies in it.
//
// Three values of width 2 span a triangle, and every weighted average of them
// lies in it: the weights are the point's barycentric coordinates.
//
//   const Triangle triangle = {{{1, 0}, {0, 2}, {3, 3}}};
//   Barycentric(triangle, {4.0 / 3, 5.0 / 3})      // {1/3, 1/3, 1/3}
//
// Source: the chapter, section 3, on the geometry of the outputs.
#ifndef SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_TRIANGLE_H_
#define SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_TRIANGLE_H_

#include <array>
#include <cstddef>

namespace softlookup {

using Point = std::array<double, 2>;
using Triangle = std::array<Point, 3>;

// Twice the signed area: positive when the corners run counter-clockwise, 0
// when they lie on one line.
double TwiceSignedArea(const Triangle& triangle);

// The numbers l with l_1 + l_2 + l_3 = 1 and sum_j l_j corner_j = point. All
// are positive inside, one is 0 on an edge, one is negative outside. Not
// finite when the corners lie on one line.
std::array<double, 3> Barycentric(const Triangle& triangle, const Point& point);

double Distance(const Point& a, const Point& b);

// The number t for which a + t (b - a) is nearest to the point: 0 at a, 1 at
// b. Not finite when a = b.
double PositionAlong(const Point& a, const Point& b, const Point& point);

// The distance of the point from the line through a and b. Not finite when
// a = b.
double DistanceFromLine(const Point& a, const Point& b, const Point& point);

// The index of the corner nearest to the point; the first of equals.
size_t NearestCorner(const Triangle& triangle, const Point& point);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_TRIANGLE_H_
