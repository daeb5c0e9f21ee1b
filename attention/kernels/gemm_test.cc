#include "attention/kernels/gemm.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/kernels/kernel_test_util.h"
#include "base/elementary.h"
#include "base/hash.h"
#include "base/random/random.h"
#include "base/tensor/tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using kernels::ArrayFunction;
using kernels::Gemm;
using kernels::GemmOptions;
using ::testing::HasSubstr;

// A matrix inside a larger block of memory, with strides of its own.
struct Placed {
  Tensor<float> memory;
  StridedView<float> view;
};

// Rows or columns contiguous, or neither, with gaps.
Placed Place(RandomStream& stream, int64_t rows, int64_t columns,
             bool last_stride_1) {
  const uint32_t layout = last_stride_1 ? 0 : stream.UniformInt(3);
  const int64_t gap = stream.UniformInt(4);
  const int64_t inner = layout == 2 ? 2 : 1;
  Placed placed;
  if (layout == 1) {
    const int64_t stride = rows + gap;
    placed.memory = Tensor<float>({columns * stride + 1});
    placed.view = {&placed.memory[0], {{rows, columns}, {1, stride}}};
  } else {
    const int64_t stride = columns * inner + gap;
    placed.memory = Tensor<float>({rows * stride + 1});
    placed.view = {&placed.memory[0], {{rows, columns}, {stride, inner}}};
  }
  for (int64_t i = 0; i < placed.memory.size(); ++i) {
    placed.memory[i] = static_cast<float>(stream.Gaussian());
  }
  return placed;
}

struct Problem {
  Placed a;
  Placed b;
  Placed c;
  std::vector<float> bias;
  GemmOptions options;
  std::string name;
};

Problem Draw(RandomStream& stream, int64_t m, int64_t n, int64_t k) {
  Problem problem;
  problem.a = Place(stream, m, k, false);
  problem.b = Place(stream, k, n, false);
  problem.c = Place(stream, m, n, true);
  problem.options.accumulate = stream.UniformInt(2) == 1;
  if (stream.UniformInt(2) == 1) {
    for (int64_t j = 0; j < n; ++j) {
      problem.bias.push_back(static_cast<float>(stream.Gaussian()));
    }
  }
  const uint32_t activation = stream.UniformInt(4);
  if (activation == 1) problem.options.activation = ArrayFunction::kRelu;
  if (activation == 2) problem.options.activation = ArrayFunction::kGelu;
  problem.name =
      absl::StrCat("[", m, ", ", k, "] x [", k, ", ", n, "], strides ",
                   ShapeString(problem.a.view.layout().strides), " ",
                   ShapeString(problem.b.view.layout().strides), " ",
                   ShapeString(problem.c.view.layout().strides),
                   ", accumulate ", problem.options.accumulate, ", bias ",
                   problem.bias.size(), ", activation ", activation);
  return problem;
}

// The definition: a chain of fused multiply-adds for every 128 inner elements,
// added up in order.
Tensor<float> Expected(const Problem& problem) {
  Tensor<float> memory = problem.c.memory;
  const StridedView<float> c(&memory[0], problem.c.view.layout());
  for (int64_t i = 0; i < c.dim(0); ++i) {
    for (int64_t j = 0; j < c.dim(1); ++j) {
      const int64_t depth = problem.a.view.dim(1);
      float sum = problem.options.accumulate ? c(i, j) : 0;
      for (int64_t slice = 0; slice < depth; slice += 128) {
        float chain = 0;
        for (int64_t k = slice; k < std::min(slice + 128, depth); ++k) {
          chain = std::fma(problem.a.view(i, k), problem.b.view(k, j), chain);
        }
        sum = slice == 0 && !problem.options.accumulate ? chain : sum + chain;
      }
      if (!problem.bias.empty()) sum += problem.bias[j];
      if (problem.options.activation == ArrayFunction::kRelu) {
        sum = std::max(sum, 0.0f);
      } else if (problem.options.activation == ArrayFunction::kGelu) {
        sum *= std::fma(Erf(sum * 0.707106781f), 0.5f, 0.5f);
      }
      c(i, j) = sum;
    }
  }
  return memory;
}

Tensor<float> Compute(const Problem& problem,
                      const kernels::KernelOptions& execution) {
  Tensor<float> memory = problem.c.memory;
  GemmOptions options = problem.options;
  if (!problem.bias.empty()) options.bias = problem.bias;
  const absl::Status status =
      Gemm(problem.a.view, problem.b.view,
           {&memory[0], problem.c.view.layout()}, options, execution);
  EXPECT_TRUE(status.ok()) << status;
  return memory;
}

// Also what lies between the rows of C must not change.
TEST(Gemm, IsTheDefinitionBitForBitOnSmallShapes) {
  RandomStream stream(1, "gemm_test small");
  for (int n = 0; n < 1000; ++n) {
    const int64_t k = stream.UniformInt(40);
    const int64_t columns = 1 + stream.UniformInt(70);
    const int64_t rows = 1 + stream.UniformInt(40);
    const Problem problem = Draw(stream, rows, columns, k);
    SCOPED_TRACE(absl::StrCat("case ", n, ": ", problem.name));
    const Tensor<float> expected = Expected(problem);
    for (const auto& [name, execution] : kernels::SomeRuns(n)) {
      ASSERT_EQ(kernels::BitDifference(Compute(problem, execution), expected),
                "")
          << name;
    }
  }
}

TEST(Gemm, IsTheDefinitionBitForBitAroundTheBlocks) {
  RandomStream stream(1, "gemm_test large");
  const std::vector<int64_t> sizes = {1,   7,   8,   15,  47,  48,  49,  63,
                                      64,  65,  95,  96,  127, 128, 129, 191,
                                      192, 193, 300, 383, 384, 385, 512, 770};
  const auto size = [&] {
    return sizes[stream.UniformInt(static_cast<uint32_t>(sizes.size()))];
  };
  for (int n = 0; n < 60; ++n) {
    const int64_t k = size();
    const int64_t columns = size();
    const int64_t rows = size();
    const Problem problem = Draw(stream, rows, columns, k);
    SCOPED_TRACE(absl::StrCat("case ", n, ": ", problem.name));
    const Tensor<float> expected = Expected(problem);
    for (const auto& [name, execution] : kernels::EveryRun()) {
      ASSERT_EQ(kernels::BitDifference(Compute(problem, execution), expected),
                "")
          << name;
    }
  }
}

TEST(Gemm, NotANumberAndInfinityPropagate) {
  const float inf = std::numeric_limits<float>::infinity();
  Tensor<float> a({2, 2}, {inf, 0, 1, std::nanf("")});
  Tensor<float> b({2, 1}, {1, 1});
  Tensor<float> c({2, 1});
  ASSERT_TRUE(Gemm(a.view(), b.view(), c.view(), {}, {}).ok());
  EXPECT_EQ(c[0], inf);
  EXPECT_TRUE(std::isnan(c[1]));
}

TEST(Gemm, NothingToDo) {
  Tensor<float> empty({0, 3});
  Tensor<float> b({3, 4});
  Tensor<float> none({0, 4});
  EXPECT_TRUE(Gemm(empty.view(), b.view(), none.view(), {}, {}).ok());
  Tensor<float> a({2, 0});
  Tensor<float> no_rows({0, 2});
  Tensor<float> c({2, 2}, {1, 2, 3, 4});
  const std::vector<float> bias = {5, 6};
  EXPECT_TRUE(
      Gemm(a.view(), no_rows.view(), c.view(), {.bias = bias}, {}).ok());
  EXPECT_EQ(c.elements(), std::vector<float>({5, 6, 5, 6}));
}

class GemmErrorTest : public ::testing::Test {
 protected:
  std::string Error(const StridedView<const float>& a,
                    const StridedView<const float>& b,
                    const StridedView<float>& c,
                    const GemmOptions& options = {}) {
    return std::string(Gemm(a, b, c, options, {}).message());
  }
  Tensor<float> a_{{2, 3}};
  Tensor<float> b_{{3, 4}};
  Tensor<float> c_{{2, 4}};
};

TEST_F(GemmErrorTest, SizesThatDoNotFit) {
  EXPECT_EQ(Error(a_.view(), a_.view(), c_.view()),
            "A has shape [2, 3] and B [2, 3]; allowed: as many rows of B as "
            "columns of A");
  EXPECT_EQ(Error(a_.view(), b_.view(), b_.view()),
            "C has shape [3, 4]; allowed: [2, 4]");
  EXPECT_EQ(Error(a_.view().SplitAxis(1, {3, 1}), b_.view(), c_.view()),
            "A has shape [2, 3, 1]; allowed: a matrix, of rank 2");
  const std::vector<float> bias(3);
  EXPECT_EQ(Error(a_.view(), b_.view(), c_.view(), {.bias = bias}),
            "bias has 3 elements; allowed: 4, one per column of B");
}

TEST_F(GemmErrorTest, TargetsThatOverlap) {
  Tensor<float> memory({12});
  EXPECT_THAT(Error({&memory[0], {{2, 2}, {2, 1}}},
                    {&memory[3], {{2, 2}, {2, 1}}}, {&memory[6], {2, 2}}),
              HasSubstr("C overlaps B in memory"));
  EXPECT_THAT(
      Error({&memory[6], {2, 2}}, {&memory[0], {2, 2}}, {&memory[8], {2, 2}}),
      HasSubstr("C overlaps A in memory"));
  EXPECT_THAT(Error(a_.view(), b_.view(), {&memory[0], {2, 4}},
                    {.bias = absl::MakeConstSpan(&memory[7], 4)}),
              HasSubstr("C overlaps bias in memory"));
  EXPECT_THAT(
      Error(a_.view(), b_.view(), {&memory[0], {{2, 4}, {2, 1}}}),
      HasSubstr("C has shape [2, 4] and strides [2, 1], so that elements "
                "share memory"));
  EXPECT_THAT(Error(a_.view(), b_.view(), {&memory[0], {{2, 4}, {1, 2}}}),
              HasSubstr("C has strides [1, 2]; allowed: a last stride of 1"));
}

TEST_F(GemmErrorTest, MisalignedMemory) {
  alignas(float) char memory[100] = {};
  const auto* odd = reinterpret_cast<const float*>(memory + 2);  // NOLINT
  EXPECT_THAT(Error({odd, {2, 3}}, b_.view(), c_.view()),
              HasSubstr("A starts at an address that is not a multiple of 4"));
  EXPECT_THAT(Error(a_.view(), {odd, {3, 4}}, c_.view()),
              HasSubstr("B starts at an address"));
  EXPECT_THAT(Error(a_.view(), b_.view(), c_.view(),
                    {.bias = absl::MakeConstSpan(odd, 4)}),
              HasSubstr("bias starts at an address"));
}

// A regression golden: the bits on any machine. The other tests say that they
// are right; this one that they are ours.
TEST(Gemm, GoldenBits) {
  RandomStream stream(2, "gemm_test golden");
  for (const auto& [name, execution] : kernels::EveryRun()) {
    stream.Seek(0);
    BitHash hash;
    for (int n = 0; n < 20; ++n) {
      // One by one: the order of arguments is the compiler's.
      const int64_t k = stream.UniformInt(300);
      const int64_t columns = 1 + stream.UniformInt(150);
      const int64_t rows = 1 + stream.UniformInt(150);
      const Problem problem = Draw(stream, rows, columns, k);
      hash.Add<float>(Compute(problem, execution).elements());
    }
    EXPECT_EQ(hash.value(), 5186890892616390632u) << name;
  }
}

}  // namespace
}  // namespace softlookup
