#include "experiments/dimension_names.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace softlookup {

DimensionNames::DimensionNames(
    std::vector<std::pair<std::string, int64_t>> names)
    : names_(std::move(names)) {}

std::string DimensionNames::Describe(const Shape& shape) const {
  std::vector<std::string> words;
  for (const int64_t size : shape) {
    std::string word = absl::StrCat(size);
    for (auto name = names_.rbegin(); size != 1 && name != names_.rend();
         ++name) {
      if (name->second == size) word = name->first;
    }
    words.push_back(word);
  }
  return absl::StrCat("(", absl::StrJoin(words, ", "), ")");
}

Json DimensionNames::ToJson(const Shape& shape) const {
  return {{"shape", Describe(shape)}, {"sizes", shape}};
}

}  // namespace softlookup
