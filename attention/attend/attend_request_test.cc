#include "attention/attend/attend_request.h"

#include <cstdlib>
#include <map>
#include <string>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attention/kernels/kernel_options.h"
#include "base/thread_pool.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

// Flags as they are typed, by name; the others have their defaults.
using Flags = std::map<std::string, std::string>;

Flags Minimal() { return {{"input", "in"}, {"output", "/tmp/out"}}; }

absl::StatusOr<AttendRequest> Parse(const Flags& flags) {
  const absl::FlagSaver restore;
  for (const auto& [name, text] : flags) {
    std::string error;
    EXPECT_TRUE(absl::FindCommandLineFlag(name)->ParseFrom(text, &error))
        << error;
  }
  return RequestFromFlags();
}

std::string Error(const Flags& flags) {
  const absl::Status status = Parse(flags).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(RequestFromFlagsTest, Defaults) {
  const absl::StatusOr<AttendRequest> request = Parse(Minimal());
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->input, "in");
  EXPECT_EQ(request->output, "/tmp/out");
  EXPECT_EQ(request->causal, CausalAlignment::kNone);
  EXPECT_FALSE(request->options.scale.has_value());
  EXPECT_EQ(request->options.fully_masked, FullyMasked::kZero);
  EXPECT_FALSE(request->options.weights);
  EXPECT_EQ(request->precision, Precision::kFloat64);
  EXPECT_EQ(request->backend, Backend::kReference);
}

TEST(RequestFromFlagsTest, Everything) {
  Flags flags = Minimal();
  flags["causal"] = "bottom_right";
  flags["scale"] = "-2.5e-1";
  flags["fully_masked"] = "error";
  flags["weights"] = "true";
  flags["precision"] = "float32";
  const absl::StatusOr<AttendRequest> request = Parse(flags);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->causal, CausalAlignment::kBottomRight);
  EXPECT_EQ(request->options.scale, -0.25);
  EXPECT_EQ(request->options.fully_masked, FullyMasked::kError);
  EXPECT_TRUE(request->options.weights);
  EXPECT_EQ(request->precision, Precision::kFloat32);
}

TEST(RequestFromFlagsTest, PathsAreTheCallers) {
  ::setenv("BUILD_WORKING_DIRECTORY", "/home/user", 1);
  const absl::StatusOr<AttendRequest> request = Parse(Minimal());
  ::unsetenv("BUILD_WORKING_DIRECTORY");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->input, "/home/user/in");
  EXPECT_EQ(request->output, "/tmp/out");
}

TEST(RequestFromFlagsTest, ErrorsNameTheFlag) {
  Flags flags = Minimal();
  flags["input"] = "";
  EXPECT_EQ(Error(flags),
            "flag --input is missing; give --input=FILE.safetensors");
  flags = Minimal();
  flags["output"] = "";
  EXPECT_EQ(Error(flags),
            "flag --output is missing; give --output=FILE.safetensors");
  flags = Minimal();
  flags["causal"] = "yes";
  EXPECT_EQ(Error(flags),
            "flag --causal is \"yes\"; allowed: none, top_left, bottom_right");
  flags = Minimal();
  flags["fully_masked"] = "";
  EXPECT_EQ(Error(flags),
            "flag --fully_masked is \"\"; allowed: zero, nan, error");
  flags = Minimal();
  flags["precision"] = "double";
  EXPECT_EQ(Error(flags),
            "flag --precision is \"double\"; allowed: float64, float32");
  flags = Minimal();
  flags["backend"] = "fast";
  EXPECT_EQ(Error(flags),
            "flag --backend is \"fast\"; allowed with precision float64: "
            "reference");
  flags["precision"] = "float32";
  EXPECT_EQ(Error(flags),
            "flag --backend is \"fast\"; allowed with precision float32: "
            "reference, simd");
}

TEST(RequestFromFlagsTest, AScaleThatFloat32DoesNotHold) {
  Flags flags = Minimal();
  flags["scale"] = "1e-48";
  EXPECT_EQ(Parse(flags)->options.scale, 1e-48);
  flags["precision"] = "float32";
  EXPECT_EQ(Error(flags),
            "flag --scale is 1e-48, which float32 does not hold; allowed: 0, "
            "or at least 1.17549e-38 in size");
  flags["scale"] = "0";
  EXPECT_TRUE(Parse(flags).ok());
}

TEST(RequestFromFlagsTest, RunOptions) {
  Flags flags = Minimal();
  flags["backend"] = "simd";
  flags["precision"] = "float32";
  absl::StatusOr<AttendRequest> request = Parse(flags);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->instruction_set, kernels::BestInstructionSet());
  EXPECT_EQ(request->threads, AvailableProcessors());
  flags["isa"] = "portable";
  flags["threads"] = "7";
  request = Parse(flags);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->instruction_set, kernels::InstructionSet::kPortable);
  EXPECT_EQ(request->threads, 7);
  flags["threads"] = "0";
  EXPECT_EQ(Error(flags),
            "flag --threads is \"0\"; allowed: 1 to 1024, or nothing for all "
            "processors");
  flags["threads"] = "10000";
  EXPECT_EQ(Error(flags),
            "flag --threads is \"10000\"; allowed: 1 to 1024, or nothing for "
            "all processors");
  flags["threads"] = "1";
  flags["isa"] = "sse";
  EXPECT_EQ(Error(flags),
            "flag --isa is \"sse\"; allowed: auto, portable, avx2, avx512");
  flags["isa"] = "auto";
  flags["weights"] = "true";
  EXPECT_EQ(Error(flags),
            "flag --weights with --backend=simd, which never forms them; "
            "allowed: --backend=reference");
}

TEST(RequestFromFlagsTest, TheReferenceHasOneWayToRun) {
  Flags flags = Minimal();
  flags["threads"] = "1";
  EXPECT_EQ(Error(flags),
            "flag --threads with --backend=reference, which has one way to "
            "run; allowed: --backend=simd --precision=float32");
  flags = Minimal();
  flags["isa"] = "avx2";
  EXPECT_EQ(Error(flags),
            "flag --isa with --backend=reference, which has one way to run; "
            "allowed: --backend=simd --precision=float32");
}

TEST(RequestFromFlagsTest, Scale) {
  const auto parse = [](const std::string& text, const char* precision) {
    Flags flags = Minimal();
    flags["scale"] = text;
    flags["precision"] = precision;
    return Parse(flags);
  };
  for (const char* text : {"x", "1x", " ", "1,5"}) {
    EXPECT_EQ(parse(text, "float64").status().message(),
              "flag --scale is \"" + std::string(text) +
                  "\"; allowed: a finite number");
  }
  for (const char* text : {"nan", "inf", "-inf", "1e309"}) {
    EXPECT_EQ(parse(text, "float64").status().message(),
              "flag --scale is " + std::string(text) +
                  "; allowed: a number finite in float64");
  }
  EXPECT_EQ(parse("-3.5e38", "float32").status().message(),
            "flag --scale is -3.5e38; allowed: a number finite in float32");
  EXPECT_EQ(parse("-3.5e38", "float64")->options.scale, -3.5e38);
  EXPECT_EQ(parse("3.4e38", "float32")->options.scale, 3.4e38);
  EXPECT_EQ(parse("0", "float32")->options.scale, 0.0);
}

TEST(PrecisionNameTest, Both) {
  EXPECT_EQ(PrecisionName(Precision::kFloat64), "float64");
  EXPECT_EQ(PrecisionName(Precision::kFloat32), "float32");
}

}  // namespace
}  // namespace softlookup
