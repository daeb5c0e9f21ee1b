#include "experiments/worked_example/triangle.h"

#include <cmath>

namespace softlookup {
namespace {

// The z component of (b - a) x (c - a).
double Cross(const Point& a, const Point& b, const Point& c) {
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

}  // namespace

double TwiceSignedArea(const Triangle& triangle) {
  return Cross(triangle[0], triangle[1], triangle[2]);
}

std::array<double, 3> Barycentric(const Triangle& triangle,
                                  const Point& point) {
  // Each coordinate is the share of the area that lies opposite its corner.
  const double area = TwiceSignedArea(triangle);
  return {Cross(point, triangle[1], triangle[2]) / area,
          Cross(triangle[0], point, triangle[2]) / area,
          Cross(triangle[0], triangle[1], point) / area};
}

double Distance(const Point& a, const Point& b) {
  const double x = a[0] - b[0];
  const double y = a[1] - b[1];
  return std::sqrt(x * x + y * y);
}

double PositionAlong(const Point& a, const Point& b, const Point& point) {
  const double x = b[0] - a[0];
  const double y = b[1] - a[1];
  return ((point[0] - a[0]) * x + (point[1] - a[1]) * y) / (x * x + y * y);
}

double DistanceFromLine(const Point& a, const Point& b, const Point& point) {
  return std::abs(Cross(a, b, point)) / Distance(a, b);
}

size_t NearestCorner(const Triangle& triangle, const Point& point) {
  size_t nearest = 0;
  for (size_t corner = 1; corner < triangle.size(); ++corner) {
    if (Distance(triangle[corner], point) <
        Distance(triangle[nearest], point)) {
      nearest = corner;
    }
  }
  return nearest;
}

}  // namespace softlookup
