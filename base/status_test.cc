#include "base/status.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(ExitCodeTest, EveryCode) {
  using Code = absl::StatusCode;
  const std::pair<Code, int> expected[] = {
      {Code::kOk, 0},
      {Code::kCancelled, 1},
      {Code::kUnknown, 1},
      {Code::kInvalidArgument, 2},
      {Code::kDeadlineExceeded, 1},
      {Code::kNotFound, 2},
      {Code::kAlreadyExists, 2},
      {Code::kPermissionDenied, 2},
      {Code::kResourceExhausted, 1},
      {Code::kFailedPrecondition, 2},
      {Code::kAborted, 1},
      {Code::kOutOfRange, 2},
      {Code::kUnimplemented, 2},
      {Code::kInternal, 1},
      {Code::kUnavailable, 1},
      {Code::kDataLoss, 1},
      {Code::kUnauthenticated, 1},
  };
  for (const auto& [code, exit_code] : expected) {
    EXPECT_EQ(ExitCode(absl::Status(code, "why")), exit_code)
        << absl::StatusCodeToString(code);
  }
}

// Counts its calls, so that the macros can be seen to evaluate once.
absl::Status Counted(absl::Status status, int& calls) {
  ++calls;
  return status;
}

absl::Status ReturnIfError(const absl::Status& status, int& calls,
                           bool& reached) {
  SOFTLOOKUP_RETURN_IF_ERROR(Counted(status, calls));
  reached = true;
  return absl::OkStatus();
}

TEST(ReturnIfErrorTest, ReturnsErrorsOnly) {
  int calls = 0;
  bool reached = false;
  const absl::Status error = absl::NotFoundError("no such thing");
  EXPECT_EQ(ReturnIfError(error, calls, reached), error);
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(reached);
  EXPECT_TRUE(ReturnIfError(absl::OkStatus(), calls, reached).ok());
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(reached);
}

// An `if` without braces around the macro keeps its `else`.
absl::Status InBranches(bool first) {
  if (first)
    SOFTLOOKUP_RETURN_IF_ERROR(absl::OkStatus());
  else
    return absl::InternalError("else");
  return absl::InternalError("after");
}

TEST(ReturnIfErrorTest, IsOneStatement) {
  EXPECT_EQ(InBranches(true).message(), "after");
  EXPECT_EQ(InBranches(false).message(), "else");
}

absl::StatusOr<std::unique_ptr<int>> Make(int value) {
  if (value < 0) return absl::OutOfRangeError("negative");
  return std::make_unique<int>(value);
}

absl::StatusOr<int> Sum(int a, int b) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::unique_ptr<int> first, Make(a));
  std::unique_ptr<int> second;
  SOFTLOOKUP_ASSIGN_OR_RETURN(second, Make(b));
  return *first + *second;
}

TEST(AssignOrReturnTest, MovesTheValueOrReturnsTheError) {
  EXPECT_EQ(*Sum(2, 3), 5);
  EXPECT_EQ(Sum(-2, 3).status(), absl::OutOfRangeError("negative"));
  EXPECT_EQ(Sum(2, -3).status(), absl::OutOfRangeError("negative"));
}

}  // namespace
}  // namespace softlookup
