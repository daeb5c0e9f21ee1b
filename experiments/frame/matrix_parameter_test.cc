#include "experiments/frame/matrix_parameter.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/tensor/shape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(MatrixParameter, RowsAndNumbers) {
  const auto matrix =
      ParseMatrixParameter("queries", "1 0;  -0.5 1e0 ;10 -10", 3, 2, 10)
          .value();
  EXPECT_EQ(matrix.shape(), (Shape{3, 2}));
  EXPECT_EQ(matrix.elements(), (std::vector<double>{1, 0, -0.5, 1, 10, -10}));
}

TEST(MatrixParameter, RefusesOtherThings) {
  for (const char* text :
       {"", "1 0; 0 1", "1 0; 0 1; 1 1; 2 2", "1 0; 0 1; 1", "1 0; 0 1; 1 1 1",
        "1 0; 0 1; 1 x", "1 0; 0 1; 1 10.001", "1 0; 0 1; 1 -10.001",
        "1 0; 0 1; 1 nan", "1 0; 0 1; inf 1", "1 0; 0 1; 1 1;"}) {
    const auto status = ParseMatrixParameter("keys", text, 3, 2, 10).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(std::string(status.message()),
              "--keys is \"" + std::string(text) +
                  "\"; allowed: 3 rows separated by semicolons, each of 2 "
                  "numbers separated by spaces, from -10 to 10");
  }
}

}  // namespace
}  // namespace softlookup
