// Multi-head attention line by line: every tensor's shape and strides, and
// which lines move data.
//
// The lines are those of the chapter's listing: project, split, transpose,
// score, mask, average, transpose, merge, project. Each shape and stride is
// read off the view that the line made, not written down.
//
// Source: the chapter, section 4, "shapes, step by step".
#ifndef SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_STEPS_H_
#define SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_STEPS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "experiments/multi_head/problem.h"

namespace softlookup {

// One member of the experiment's results: the lines ("steps"), whether the
// final merge can be a view, what other views the transposed tensor allows, how
// far the lines' output is from the operator's as a share of a bound from
// rounding, and whether a head's queries are those of its column block.
absl::StatusOr<Json> MeasureSteps(uint64_t seed, const MultiHeadSizes& sizes);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_STEPS_H_
