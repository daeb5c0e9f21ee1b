// Shapes in the letters that a text uses for them.
//
//   DimensionNames names({{"B", 2}, {"h", 8}, {"T", 5}, {"dk", 32}});
//   names.Describe({2, 8, 5, 5})         // "(B, h, T, T)"
//   names.Describe({2, 1, 1, 5})         // "(B, 1, 1, T)"
//
// Letters are found by size. A size that no letter has, or more than one, and 1
// stay numbers.
#ifndef SOFTLOOKUP_ATTENTION_TEXTBOOK_DIMENSION_NAMES_H_
#define SOFTLOOKUP_ATTENTION_TEXTBOOK_DIMENSION_NAMES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/tensor/shape.h"

namespace softlookup {

class DimensionNames {
 public:
  explicit DimensionNames(std::vector<std::pair<std::string, int64_t>> names);

  // "(B, 1, 1, T)".
  std::string Describe(const Shape& shape) const;

  // {"shape": "(B, 1, 1, T)", "sizes": [2, 1, 1, 5]}.
  Json ToJson(const Shape& shape) const;

 private:
  std::vector<std::pair<std::string, int64_t>> names_;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_TEXTBOOK_DIMENSION_NAMES_H_
