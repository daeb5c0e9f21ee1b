// The checks themselves, on a stand-in for cuDNN that computes the right thing,
// and on ones that do not.
#include "attention/cudnn/parity_check.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "attention/cudnn/stand_in_runner.h"
#include "base/json.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

// The stand-in, and then something done to one of its results.
class Spoiler : public CudnnRunner {
 public:
  Spoiler(CudnnTensorId id, std::function<void(uint16_t*, int64_t, int)> spoil)
      : id_(id), spoil_(std::move(spoil)) {}

  absl::Status Run(const CudnnProblem& problem,
                   const std::map<CudnnTensorId, HostBytes>& tensors) override {
    SOFTLOOKUP_RETURN_IF_ERROR(runner_.Run(problem, tensors));
    const auto found = tensors.find(id_);
    if (found != tensors.end() && found->second.output != nullptr) {
      spoil_(static_cast<uint16_t*>(found->second.output),
             found->second.bytes / 2, ++runs_);
    }
    return absl::OkStatus();
  }

 private:
  const CudnnTensorId id_;
  const std::function<void(uint16_t*, int64_t, int)> spoil_;
  StandInRunner runner_;
  int runs_ = 0;
};

class Broken : public CudnnRunner {
 public:
  absl::Status Run(const CudnnProblem&,
                   const std::map<CudnnTensorId, HostBytes>&) override {
    return absl::UnimplementedError("no plan");
  }
};

// A case without padding and with many elements.
CheckCase Large() {
  for (int number = 0;; ++number) {
    CheckCase drawn = DrawParityCase(Dtype::kBF16, number);
    if (drawn.lengths.empty() && drawn.key.shape()[2] >= 16 &&
        drawn.query.shape()[2] >= 16 && drawn.key.size() >= 4096) {
      return drawn;
    }
  }
}

TEST(CheckParityTest, PassesForWhatIsRight) {
  ThreadPool pool(1);
  StandInRunner runner;
  CheckReport report("nowhere.json");
  int bias = 0;
  for (int number = 0; number < kParityMasks; ++number) {
    const CheckCase drawn = DrawParityCase(Dtype::kF16, number);
    CheckParity(drawn, "parity", runner, pool, report);
    bias += drawn.bias.has_value();
  }
  for (int number = 0; number < kFaultCases; ++number) {
    CheckParity(DrawFaultCase(Dtype::kBF16, number), "known_faults", runner,
                pool, report);
  }
  EXPECT_EQ(report.failures(), 0) << report.json()["failures"];
  ASSERT_EQ(report.json()["known_faults"].size(), size_t{kFaultCases});
  const Json rows = report.json()["parity"];
  ASSERT_EQ(rows.size(), size_t{kParityMasks});
  int bias_rows = 0;
  for (const Json& row : rows) {
    EXPECT_FALSE(row["case"].get<std::string>().empty());
    for (const char* name : {"output", "log_sum_exp", "query_gradient",
                             "key_gradient", "value_gradient"}) {
      EXPECT_LE(row.at(name).at("error_over_bound"), 1) << name;
    }
    bias_rows += row.contains("bias_gradient");
    // bfloat16 has 8 bits, and no result here cancels much.
    EXPECT_LT(row["difference_from_float32"]["output"], 0.02);
  }
  EXPECT_EQ(bias_rows, bias);
}

TEST(CheckParityTest, SeesOneWrongElement) {
  ThreadPool pool(1);
  const CheckCase drawn = Large();
  for (const auto& [id, name] :
       {std::pair(CudnnTensorId::kOutput, "output"),
        std::pair(CudnnTensorId::kQueryGradient, "query_gradient"),
        std::pair(CudnnTensorId::kKeyGradient, "key_gradient"),
        std::pair(CudnnTensorId::kValueGradient, "value_gradient")}) {
    Spoiler runner(id, [](uint16_t* bits, int64_t count, int) {
      bits[count - 1] ^= 0x8000;  // the sign of the last element
      bits[count - 1] |= 0x3f80;  // which is not 0
    });
    CheckReport report("nowhere.json");
    CheckParity(drawn, "parity", runner, pool, report);
    ASSERT_GE(report.failures(), 1) << name;
    EXPECT_NE(report.json()["failures"][0].get<std::string>().find(name),
              std::string::npos)
        << report.json()["failures"];
  }
}

TEST(CheckParityTest, WhatCannotRunIsAFailureAndTheRestGoesOn) {
  ThreadPool pool(1);
  Broken runner;
  CheckReport report("nowhere.json");
  const CheckCase drawn = DrawParityCase(Dtype::kBF16, 0);
  CheckParity(drawn, "parity", runner, pool, report);
  CheckRepeats(drawn, runner, report);
  EXPECT_EQ(report.json()["failures"],
            Json({drawn.name + ": no plan", "repeats: no plan"}));
  EXPECT_FALSE(report.json().contains("parity"));
  EXPECT_FALSE(report.json().contains("deterministic_backward_repeats"));
}

TEST(CheckRepeatsTest, ComparesEveryBitOfEveryRun) {
  const CheckCase drawn = DrawParityCase(Dtype::kBF16, 1);
  StandInRunner same;
  CheckReport passed("nowhere.json");
  CheckRepeats(drawn, same, passed);
  EXPECT_EQ(passed.failures(), 0);
  EXPECT_EQ(passed.json()["deterministic_backward_repeats"], true);
  EXPECT_TRUE(same.last.deterministic);
  for (const CudnnTensorId id :
       {CudnnTensorId::kQueryGradient, CudnnTensorId::kKeyGradient,
        CudnnTensorId::kValueGradient}) {
    // The last bit of the first element, in the last of three runs.
    Spoiler runner(id, [](uint16_t* bits, int64_t, int run) {
      if (run == 3) bits[0] ^= 1;
    });
    CheckReport report("nowhere.json");
    CheckRepeats(drawn, runner, report);
    EXPECT_EQ(report.failures(), 1);
    EXPECT_EQ(report.json()["deterministic_backward_repeats"], false);
  }
}

}  // namespace
}  // namespace softlookup::cudnn
