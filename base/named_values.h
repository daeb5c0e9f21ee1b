// The values of an enumeration under the names that flags and files give them.
//
//   const NamedValues<Act> kActs = {{Act::kRelu, "relu"}, ...};
//   NameOf(kActs, Act::kRelu);                      // "relu"
//   ParseName(kActs, "act_fn", text);               // or what is allowed
#ifndef SOFTLOOKUP_BASE_NAMED_VALUES_H_
#define SOFTLOOKUP_BASE_NAMED_VALUES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace softlookup {

template <typename T>
using NamedValues = std::vector<std::pair<T, std::string>>;

// "unknown" for a value that has no name.
template <typename T>
std::string NameOf(const NamedValues<T>& names, T value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "unknown";
}

// InvalidArgument "WHAT is "TEXT"; allowed: ..." for another name.
template <typename T>
absl::StatusOr<T> ParseName(const NamedValues<T>& names, absl::string_view what,
                            const std::string& text) {
  for (const auto& [value, name] : names) {
    if (name == text) return value;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      what, " is \"", text, "\"; allowed: ",
      absl::StrJoin(names, ", ", [](std::string* out, const auto& entry) {
        out->append(entry.second);
      })));
}

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_NAMED_VALUES_H_
