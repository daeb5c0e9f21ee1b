#include "experiments/frame/json_text.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/table.h"

namespace softlookup {

std::string NumberText(const Json& number, int decimals) {
  if (number.is_number_integer()) return number.dump();
  const absl::StatusOr<double> value = JsonNumber(number);
  if (!value.ok()) return "?";
  return Fixed(*value == 0 ? 0.0 : *value, decimals);
}

std::string TupleText(const Json& numbers, int decimals) {
  std::string text = "(";
  for (const Json& number : numbers) {
    absl::StrAppend(&text, text.size() > 1 ? ", " : "",
                    NumberText(number, decimals));
  }
  return text + ")";
}

}  // namespace softlookup
