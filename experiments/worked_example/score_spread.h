// The standard deviation of unscaled scores, at two widths.
//
// The scores are products q . k of independent entries with mean 0 and
// variance 1. The standard deviation over `scores` draws is measured in each
// of 20 replicates, which give its standard error and that of the ratio
// between the two widths.
//
//   Json json = MeasureScoreSpread({.widths = {2, 128}, .scores = 500,
//                                   .seed = 1});
//   json["wide_over_narrow"]["ratio"]          // about sqrt(128 / 2) = 8
//
// Source: the chapter, section 3, on removing the scale.
#ifndef SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_SCORE_SPREAD_H_
#define SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_SCORE_SPREAD_H_

#include <array>
#include <cstdint>

#include "base/json.h"

namespace softlookup {

struct ScoreSpreadDraws {
  std::array<int64_t, 2> widths = {2, 128};  // narrow and wide, each >= 1
  int64_t scores = 500;                      // per replicate, >= 2
  uint64_t seed = 1;
};

// {narrow, wide: {width, standard_deviation, standard_error},
//  wide_over_narrow: {ratio, standard_error}, replicates, scores}.
Json MeasureScoreSpread(const ScoreSpreadDraws& draws);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_SCORE_SPREAD_H_
