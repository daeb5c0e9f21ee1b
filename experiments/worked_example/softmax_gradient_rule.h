// The gradient of one row of attention, on drawn rows.
//
// For o = sum_j p_j v_j, p = softmax(s) and any scalar L of o, with
// g_j = dL/dp_j = dL/do . v_j and their mean under p:
//
//   dL/ds_j = p_j (g_j - sum_k p_k g_k)
//
// Measured against derivatives that know nothing of the rule (the complex
// step), together with what the rule says: g_j is the rate of L when weight
// moves to value j, and the mean is the rate of the present mixture; the sign
// of g_j - mean decides which way a score moves; the size is proportional to
// p_j, so a key of hardly any weight hardly moves; queries and keys get the
// scores' gradients through the products that the scores are.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(Json json,
//                               MeasureRowRule({.rows = 1000, .seed = 1}));
//
// Source: the chapter, section 2, on the gradient of a row.
#ifndef SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_SOFTMAX_GRADIENT_RULE_H_
#define SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_SOFTMAX_GRADIENT_RULE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/json.h"

namespace softlookup {

struct RowRuleDraws {
  int64_t rows = 1000;  // each with 3 to 16 keys
  uint64_t seed = 1;
};

// Deviations are relative to the largest |g_j| of their row.
absl::StatusOr<Json> MeasureRowRule(const RowRuleDraws& draws);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_SOFTMAX_GRADIENT_RULE_H_
