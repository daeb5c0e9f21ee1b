#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "base/random/random.h"
#include "experiments/layer_cost/mixing.h"
#include "experiments/layer_cost/traced.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(LinearRecurrence, ByHand) {
  // h = 1, 2 * 1 + 3 = 5, -1 * 5 + 4 = -1; a_1 meets h_0 = 0.
  const Tensor<double> a({3, 1}, {7, 2, -1});
  const Tensor<double> b({3, 1}, {1, 3, 4});
  EXPECT_EQ(LinearRecurrence(a, b).elements(), (std::vector<double>{1, 5, -1}));
  EXPECT_EQ(LinearScan(a, b).elements(), (std::vector<double>{1, 5, -1}));
}

TEST(LinearScan, GivesTheRecurrenceOnDrawnShapes) {
  RandomStream stream(/*seed=*/31, "linear scan test");
  for (int c = 0; c < 1000; ++c) {
    const int64_t positions = 1 + stream.UniformInt(40);
    const int64_t d = 1 + stream.UniformInt(3);
    SCOPED_TRACE(testing::Message()
                 << "seed 31, case " << c << ": T = " << positions);
    Tensor<double> a({positions, d});
    Tensor<double> b({positions, d});
    stream.FillGaussian(absl::MakeSpan(a.elements()));
    stream.FillGaussian(absl::MakeSpan(b.elements()));
    Tensor<double> a_size = a;
    Tensor<double> b_size = b;
    for (double& element : a_size.elements()) element = std::abs(element);
    for (double& element : b_size.elements()) element = std::abs(element);
    const Tensor<double> loop = LinearRecurrence(a, b);
    const Tensor<double> scan = LinearScan(a, b);
    const Tensor<double> size = LinearRecurrence(a_size, b_size);
    const double units = 3.0 * positions + std::log2(positions);
    for (int64_t i = 0; i < loop.size(); ++i) {
      EXPECT_NEAR(scan[i], loop[i], units * 0x1p-53 * size[i]);
    }
  }
}

TEST(LinearScan, RoundsAreLogarithmic) {
  for (const auto& [positions, rounds] :
       std::vector<std::pair<int64_t, int64_t>>{
           {1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {64, 6}, {65, 7}}) {
    Trace trace;
    const Tensor<Traced> ones = TracedTensor(
        Tensor<double>({positions, 1}, std::vector<double>(positions, 1)),
        &trace, Traced::kSource);
    EXPECT_EQ(LinearScan(ones, ones)(positions - 1, 0).updates(), rounds)
        << positions;
    EXPECT_EQ(LinearRecurrence(ones, ones)(positions - 1, 0).updates(),
              positions);
    // Sums of ones count the positions.
    EXPECT_EQ(LinearScan(ones, ones)(positions - 1, 0).value(), positions);
  }
}

}  // namespace
}  // namespace softlookup
