// What a table answers: hard, softly, and softly with its scores multiplied.
//
//   HardAnswers hard = MeasureHard(ChapterTable());
//   SOFTLOOKUP_ASSIGN_OR_RETURN(SoftAnswers soft,
//                               MeasureSoft(ChapterTable(), {1, 1}));
//   soft.weights                                   // {0.248, 0.248, 0.503}
//
// From a factor of 0, where the answer is the plain average of the values, to
// a large one, where it is the hard answer.
//
// Source: the chapter, section 1.
#ifndef SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_ANSWERS_H_
#define SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_ANSWERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/soft_lookup/lookup_table.h"

namespace softlookup {

// One name that is in the chapter's table, one that is not, and several that
// nearly are. What is "found" counts entries.
struct HardAnswers {
  std::string hit;
  int64_t hit_found = 0;
  std::optional<Vector2> hit_value;
  std::string miss;
  int64_t miss_found = 0;
  std::vector<std::string> near_misses;
  int64_t near_misses_found = 0;
};
HardAnswers MeasureHard(const LookupTable& table);

// Weights are [n], one per entry.
struct SoftAnswers {
  Vector2 query = {};
  std::vector<double> scores;         // q . k_j
  std::vector<double> scaled_scores;  // over sqrt(2)
  std::vector<double> weights;
  Vector2 output = {};
  double smallest_weight = 0;
  // The dictionary gives the best key everything and the others nothing.
  int64_t smallest_weight_of_hard_lookup = 0;
  double weight_sum_deviation = 0;  // |sum - 1|
  double output_from_weighted_average = 0;
  // Over many queries: pairs of keys of which the better match does not get
  // the larger weight.
  struct {
    int64_t queries = 0;
    int64_t violations = 0;
    int64_t violations_with_reversed_scores = 0;
  } order;
  // A query between the keys, equal to none.
  struct {
    Vector2 query = {};
    int64_t hard_keys_found = 0;
    int64_t soft_keys_with_weight = 0;
    std::vector<double> weights;
    Vector2 output = {};
  } partial_match;
  // The query 0.
  struct {
    std::vector<double> weights;
    Vector2 output = {};
    double largest_weight_deviation = 0;  // from 1/n
  } equal_scores;
};
absl::StatusOr<SoftAnswers> MeasureSoft(const LookupTable& table,
                                        const Vector2& query);

// Distances are the largest over the components.
struct FactorPoint {
  double factor = 0;
  std::vector<double> weights;
  Vector2 output = {};
  double distance_to_hard = 0;
  double distance_to_mean = 0;
};
struct FactorResults {
  FactorPoint hundredth;
  FactorPoint one;
  FactorPoint ten;
  Vector2 hard_output = {};  // the best key's value
  Vector2 mean_output = {};  // of all values
  std::string best_key;
  // From one factor of the sweep to the next.
  double smallest_rise_of_best_weight = 0;
  double smallest_rise_of_another_weight = 0;
  std::vector<double> zero_weight_deviations;  // |p_j - 1/n| at factor 0
  std::vector<FactorPoint> sweep;              // from 0 to the largest
};
// All scores multiplied by factors: 0, then from 0.01 up to `largest` in equal
// ratios, so many per decade.
absl::StatusOr<FactorResults> MeasureFactors(const LookupTable& table,
                                             const Vector2& query,
                                             double largest,
                                             int64_t per_decade);

// The scores multiplied so far that their exponentials overflow, with and
// without subtracting the largest score first.
struct OverflowResults {
  double factor = 0;
  int64_t not_finite_with_subtraction = 0;  // weights
  int64_t not_finite_without_subtraction = 0;
  double change_by_subtraction_at_factor_1 = 0;  // the largest of a weight
};
OverflowResults MeasureOverflow(const LookupTable& table, const Vector2& query);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_SOFT_LOOKUP_LOOKUP_ANSWERS_H_
