#include "experiments/frame/matrix_parameter.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace softlookup {

absl::StatusOr<Tensor<double>> ParseMatrixParameter(const std::string& flag,
                                                    const std::string& text,
                                                    int64_t rows,
                                                    int64_t columns,
                                                    double limit) {
  const absl::Status error = absl::InvalidArgumentError(absl::StrCat(
      "--", flag, " is \"", text, "\"; allowed: ", rows,
      " rows separated by semicolons, each of ", columns,
      " numbers separated by spaces, from ", -limit, " to ", limit));
  const std::vector<std::string> lines = absl::StrSplit(text, ';');
  if (static_cast<int64_t>(lines.size()) != rows) return error;
  std::vector<double> elements;
  for (const std::string& line : lines) {
    const std::vector<std::string> cells =
        absl::StrSplit(line, ' ', absl::SkipWhitespace());
    if (static_cast<int64_t>(cells.size()) != columns) return error;
    for (const std::string& cell : cells) {
      double number = 0;
      // Written so that a NaN is refused too.
      if (!absl::SimpleAtod(cell, &number) ||
          !(number >= -limit && number <= limit)) {
        return error;
      }
      elements.push_back(number);
    }
  }
  return Tensor<double>({rows, columns}, std::move(elements));
}

}  // namespace softlookup
