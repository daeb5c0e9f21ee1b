#include "attention/textbook/dimension_names.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace softlookup {

DimensionNames::DimensionNames(
    std::vector<std::pair<std::string, int64_t>> names)
    : names_(std::move(names)) {}

std::string DimensionNames::Describe(const Shape& shape) const {
  std::vector<std::string> words;
  for (const int64_t size : shape) {
    std::vector<std::string> letters;
    for (const auto& [letter, of_letter] : names_) {
      if (of_letter == size) letters.push_back(letter);
    }
    words.push_back(size != 1 && letters.size() == 1 ? letters[0]
                                                     : absl::StrCat(size));
  }
  return absl::StrCat("(", absl::StrJoin(words, ", "), ")");
}

Json DimensionNames::ToJson(const Shape& shape) const {
  return {{"shape", Describe(shape)}, {"sizes", shape}};
}

}  // namespace softlookup
