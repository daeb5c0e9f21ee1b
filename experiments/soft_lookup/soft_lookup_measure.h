// What is measured about the table: hard and soft answers, the score factor,
// and what each gives gradient descent to work with.
//
//   results["hard"] = MeasureHard();
//   SOFTLOOKUP_ASSIGN_OR_RETURN(results["soft"], MeasureSoft({1, 1}));
//
// Source: the chapter, section 1.
#ifndef SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_SOFT_LOOKUP_MEASURE_H_
#define SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_SOFT_LOOKUP_MEASURE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "experiments/soft_lookup/lookup_table.h"

namespace softlookup {

// [{name, key, value}].
Json DescribeEntries();

// {hit, miss, near_misses}: one name that is in the table, one that is not,
// and several that nearly are.
Json MeasureHard();

// {weights, output, ...} of the query, that the output is the weighted
// average, that better matches get larger weights, and what a query that
// equals no key finds.
absl::StatusOr<Json> MeasureSoft(const Vector2& query);

// {sweep, zero, ten, largest, ...}: all scores multiplied by factors from 0,
// then from 0.01 up to `largest` in equal ratios, so many per decade.
absl::StatusOr<Json> MeasureFactors(const Vector2& query, double largest,
                                    int64_t per_decade);

// The scores multiplied so far that their exponentials overflow, with and
// without subtracting the largest score.
Json MeasureOverflow(const Vector2& query);

// `steps` queries of length sqrt(2) from -45 to 135 degrees: how the hard and
// the soft answer move, and the soft one's slope against a difference.
absl::StatusOr<Json> MeasurePath(int64_t steps);

// The gradients at the query itself, hard and soft, and the soft ones for
// every number of the query, the keys and the values against differences.
absl::StatusOr<Json> MeasureGradients(const Vector2& query);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_SOFT_LOOKUP_MEASURE_H_
