// The checks themselves, on a stand-in for cuDNN that computes the right thing,
// and on ones that do not.
#include "attention/cudnn/check/correctness.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "attention/cudnn/testing/stand_in_runner.h"
#include "base/status.h"
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
CudnnCase Large() {
  for (int number = 0;; ++number) {
    CudnnCase drawn = DrawParityCase(Dtype::kBF16, number);
    if (drawn.lengths.empty() && drawn.key.shape()[2] >= 16 &&
        drawn.query.shape()[2] >= 16 && drawn.key.size() >= 4096) {
      return drawn;
    }
  }
}

void ExpectRight(const CudnnCase& drawn) {
  StandInRunner runner;
  const auto parity = CheckParity(drawn, runner);
  ASSERT_TRUE(parity.ok()) << parity.status();
  EXPECT_TRUE(parity->failures.empty()) << parity->failures[0];
  EXPECT_EQ(parity->tensors.size(), drawn.bias.has_value() ? 6u : 5u);
  for (const auto& [name, report] : parity->tensors) {
    EXPECT_LE(report.worst, 1) << drawn.name << " " << name << report.where;
  }
}

TEST(CheckParityTest, PassesForWhatIsRight) {
  for (int number = 0; number < kParityMasks; ++number) {
    ExpectRight(DrawParityCase(Dtype::kF16, number));
  }
  for (int number = 0; number < kFaultCases; ++number) {
    ExpectRight(DrawFaultCase(Dtype::kBF16, number));
  }
}

TEST(CheckParityTest, SeesOneWrongElement) {
  const CudnnCase drawn = Large();
  for (const auto& [id, name] :
       {std::pair(CudnnTensorId::kOutput, "output"),
        std::pair(CudnnTensorId::kQueryGradient, "query_gradient"),
        std::pair(CudnnTensorId::kKeyGradient, "key_gradient"),
        std::pair(CudnnTensorId::kValueGradient, "value_gradient")}) {
    Spoiler runner(id, [](uint16_t* bits, int64_t count, int) {
      bits[count - 1] ^= 0x8000;  // the sign of the last element
      bits[count - 1] |= 0x3f80;  // which is not 0
    });
    const auto parity = CheckParity(drawn, runner);
    ASSERT_TRUE(parity.ok()) << parity.status();
    ASSERT_GE(parity->failures.size(), 1u) << name;
    EXPECT_EQ(parity->failures[0].find(drawn.name + ": " + name + " ["), 0u)
        << parity->failures[0];
  }
}

TEST(CheckParityTest, SeesNaN) {
  Spoiler runner(CudnnTensorId::kQueryGradient,
                 [](uint16_t* bits, int64_t, int) { bits[0] = 0x7fc0; });
  const auto parity = CheckParity(Large(), runner);
  ASSERT_TRUE(parity.ok()) << parity.status();
  EXPECT_EQ(parity->failures.size(), 1u);
}

TEST(CheckParityTest, WhatCannotRunIsAnError) {
  Broken runner;
  const CudnnCase drawn = DrawParityCase(Dtype::kBF16, 0);
  EXPECT_EQ(CheckParity(drawn, runner).status(),
            absl::UnimplementedError("no plan"));
  EXPECT_EQ(GiveSameBits(drawn, {&runner}).status(),
            absl::UnimplementedError("no plan"));
}

TEST(GiveSameBitsTest, ComparesEveryBitOfEveryRun) {
  CudnnCase drawn = DrawParityCase(Dtype::kBF16, 1);
  drawn.problem.deterministic = true;
  StandInRunner same;
  const auto repeats = GiveSameBits(drawn, {&same, &same, &same});
  ASSERT_TRUE(repeats.ok()) << repeats.status();
  EXPECT_TRUE(*repeats);
  EXPECT_EQ(same.runs, 6);
  EXPECT_TRUE(same.last.deterministic);
  for (const CudnnTensorId id :
       {CudnnTensorId::kOutput, CudnnTensorId::kQueryGradient,
        CudnnTensorId::kKeyGradient, CudnnTensorId::kValueGradient}) {
    // The last bit of the first element, in the last of three runs.
    Spoiler runner(id, [](uint16_t* bits, int64_t, int run) {
      if (run == 3) bits[0] ^= 1;
    });
    const auto differs = GiveSameBits(drawn, {&runner, &runner, &runner});
    ASSERT_TRUE(differs.ok()) << differs.status();
    EXPECT_FALSE(*differs);
  }
}

TEST(GiveSameBitsTest, NothingWrittenIsNotTheSame) {
  Spoiler runner(CudnnTensorId::kKeyGradient,
                 [](uint16_t* bits, int64_t count, int) {
                   std::fill(bits, bits + count, uint16_t{0});
                 });
  const auto same =
      GiveSameBits(DrawParityCase(Dtype::kBF16, 1), {&runner, &runner});
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_FALSE(*same);
}

}  // namespace
}  // namespace softlookup::cudnn
