// Numbers of a results file as text for people.
//
//   NumberText(results["weight"])             // "0.503"
//   TupleText(results["output"])              // "(1.759, 2.007)"
#ifndef SOFTLOOKUP_EXPERIMENTS_FRAME_JSON_TEXT_H_
#define SOFTLOOKUP_EXPERIMENTS_FRAME_JSON_TEXT_H_

#include <string>

#include "base/json.h"

namespace softlookup {

// A number, also one of the strings for non-finite ones, with this many
// decimals; integers as they are; zero without a sign. "?" for anything else.
std::string NumberText(const Json& number, int decimals = 3);

// An array of numbers in parentheses.
std::string TupleText(const Json& numbers, int decimals = 3);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_FRAME_JSON_TEXT_H_
