// What a lookup gives gradient descent to work with.
//
// Along a path of queries the hard answer stands still or jumps, while the
// soft one has a slope at every point; and the soft answer's gradients in the
// query, the keys and the values agree with differences of the answer.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(PathResults path,
//                               MeasurePath(ChapterTable(), 400));
//   path.hard_jumps                                // 2
//
// Source: the chapter, section 1.
#ifndef SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_SLOPES_H_
#define SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_SLOPES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/soft_lookup/lookup_table.h"

namespace softlookup {

// Distances and slopes (per radian) are the largest over the components.
struct PathResults {
  int64_t steps = 0;  // from query to query
  int64_t hard_steps_without_change = 0;
  int64_t soft_steps_without_change = 0;
  int64_t hard_jumps = 0;
  double hard_smallest_jump = 0;
  double soft_largest_step = 0;
  double soft_smallest_slope = 0;
  double soft_slope_against_difference = 0;  // the largest deviation
  // At each query.
  std::vector<double> degrees;
  std::vector<Vector2> hard_outputs;
  std::vector<Vector2> soft_outputs;
};

// `queries` >= 2 queries from -45 to 135 degrees.
absl::StatusOr<PathResults> MeasurePath(const LookupTable& table,
                                        int64_t queries);

struct SlopeResults {
  // The largest |derivative|: of the hard answer by central differences, of the
  // soft answer's second component by its gradients.
  double hard_query = 0;
  double soft_query = 0;
  double soft_keys = 0;
  double soft_values = 0;
  // The largest deviation of a gradient of either component.
  double query_against_difference = 0;
  double keys_against_difference = 0;
  double values_against_difference = 0;
};

// At the query itself.
absl::StatusOr<SlopeResults> MeasureSlopes(const LookupTable& table,
                                           const Vector2& query);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_SLOPES_H_
