#include "experiments/worked_example/pytorch_values.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/status.h"

namespace softlookup {
namespace {

constexpr char kReference[] =
#include "experiments/worked_example/worked_example_pytorch.inc"
    ;

}  // namespace

absl::StatusOr<Json> WorkedExampleReference() {
  return ParseJson(kReference, "worked_example_pytorch.json");
}

absl::StatusOr<Tensor<double>> MatrixFromLists(const Json& lists) {
  if (!lists.is_array() || lists.empty() || !lists.front().is_array()) {
    return absl::InvalidArgumentError("a matrix must be a list of lists");
  }
  const size_t columns = lists.front().size();
  std::vector<double> elements;
  for (const Json& row : lists) {
    if (!row.is_array() || row.size() != columns) {
      return absl::InvalidArgumentError(
          "the rows of a matrix must be lists of one length");
    }
    for (const Json& element : row) {
      SOFTLOOKUP_ASSIGN_OR_RETURN(const double number, JsonNumber(element));
      elements.push_back(number);
    }
  }
  return Tensor<double>(
      {static_cast<int64_t>(lists.size()), static_cast<int64_t>(columns)},
      std::move(elements));
}

}  // namespace softlookup
