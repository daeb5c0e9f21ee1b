// Parameters that are small matrices: "1 0; 0 1; 1 1".
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       const Tensor<double> queries,
//       ParseMatrixParameter("queries", absl::GetFlag(FLAGS_queries), 3, 2,
//       10));
#ifndef SOFTLOOKUP_EXPERIMENTS_FRAME_MATRIX_PARAMETER_H_
#define SOFTLOOKUP_EXPERIMENTS_FRAME_MATRIX_PARAMETER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// [rows, columns] from rows separated by semicolons and numbers separated by
// spaces. InvalidArgument, naming the flag, what was given and what is
// allowed, for another shape, for anything that is not a number, and for
// numbers outside -limit to limit.
absl::StatusOr<Tensor<double>> ParseMatrixParameter(const std::string& flag,
                                                    const std::string& text,
                                                    int64_t rows,
                                                    int64_t columns,
                                                    double limit);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_FRAME_MATRIX_PARAMETER_H_
