// The worked example's geometry: where the outputs lie among the values.
//
// Outputs are weighted averages with weights that are positive and sum to 1,
// so they cannot leave the values' convex hull, be longer than the longest
// value, or have a component that no value has. Measured on the example's
// outputs and on drawn queries and keys; beside each limit stands something
// that is not bound by it: the scores without their softmax, and a position's
// own feed-forward network.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       Json json, MeasureGeometry(ChapterExample(), {.draws = 10000,
//                                                     .seed = 1}));
//
// Source: the chapter, section 3, on the geometry.
#ifndef SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_GEOMETRY_H_
#define SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_GEOMETRY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "experiments/worked_example/forward.h"
#include "experiments/worked_example/triangle.h"

namespace softlookup {

struct GeometryDraws {
  int64_t draws = 10000;  // of a query and three keys
  uint64_t seed = 1;
};

// The corners v_1, v_2, v_3.
Triangle ValueTriangle(const WorkedExample& example);

// How far below zero rounding alone may bring a barycentric coordinate of a
// weighted average of the corners.
double HullTolerance(const Triangle& triangle);

// {outputs, first_token, hull, new_direction, own_vector}. InvalidArgument,
// naming --values, when the values lie on one line.
absl::StatusOr<Json> MeasureGeometry(const WorkedExample& example,
                                     const GeometryDraws& draws);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_GEOMETRY_H_
