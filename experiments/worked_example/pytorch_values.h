// PyTorch's values for the worked example, compiled into the program.
//
// testdata/reference/make_worked_example.py makes them, in float64 with
// autograd; the file's own "provenance" says with which version. They are
// values from outside to compare with, not results, and no claim's published
// number.
#ifndef SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_PYTORCH_VALUES_H_
#define SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_PYTORCH_VALUES_H_

#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// {"provenance": {...}, "values": {...}} as the script wrote it.
absl::StatusOr<Json> WorkedExampleReference();

// Nested lists of numbers, all of one length per level, as a matrix.
// InvalidArgument when they are not.
absl::StatusOr<Tensor<double>> MatrixFromLists(const Json& lists);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_PYTORCH_VALUES_H_
