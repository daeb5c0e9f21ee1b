// A NaN in any input of the experiment reaches every deviation that depends on
// that input, so that no identity claim holds over a broken computation.
//
// The deviations of counts rest on whole numbers, which no input's value moves.
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/random/random.h"
#include "base/tensor/tensor.h"
#include "experiments/layer_cost/blocked_attention.h"
#include "experiments/layer_cost/decode_memory.h"
#include "experiments/layer_cost/gradient_reach.h"
#include "experiments/layer_cost/mixing.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using Deviations = std::vector<std::pair<std::string, double>>;

// `measure` gives the deviations by name; a row of the table is an input with
// the names of those that depend on it.
template <typename Inputs>
struct Row {
  std::string name;
  std::function<Tensor<double>&(Inputs&)> input;
  std::vector<std::string> deviations;
};

template <typename Inputs>
void ExpectNoNaNIsLost(const Inputs& sound,
                       const std::function<Deviations(const Inputs&)>& measure,
                       const std::vector<Row<Inputs>>& table) {
  for (const auto& [name, deviation] : measure(sound)) {
    EXPECT_TRUE(std::isfinite(deviation)) << name;
  }
  for (const Row<Inputs>& row : table) {
    Inputs inputs = sound;
    const int64_t size = row.input(inputs).size();
    for (const int64_t place : {int64_t{0}, size / 2, size - 1}) {
      inputs = sound;
      row.input(inputs)[place] = std::numeric_limits<double>::quiet_NaN();
      int64_t seen = 0;
      for (const auto& [name, deviation] : measure(inputs)) {
        for (const std::string& expected : row.deviations) {
          if (name != expected) continue;
          ++seen;
          EXPECT_FALSE(std::isfinite(deviation))
              << name << ", " << row.name << "[" << place << "]";
        }
      }
      EXPECT_EQ(seen, row.deviations.size()) << row.name;
    }
  }
}

TEST(NaNSafety, Mixing) {
  using Inputs = MixingInputs;
  const std::vector<std::string> all = {"deviation", "rows_alone_deviation"};
  ExpectNoNaNIsLost<Inputs>(
      DrawMixingInputs({.positions = 7, .width = 3}),
      [](const Inputs& inputs) {
    const MixingResults found = MeasureMixing(inputs).value();
    return Deviations{{"deviation", found.deviation},
                      {"rows_alone_deviation", found.rows_alone_deviation}};
      },
      {{"query", [](Inputs& i) -> auto& { return i.query;
}
, all
}  // namespace
, {"keys", [](Inputs& i) -> auto& {return i.keys;
}  // namespace softlookup
, all
}
, {
  "values", [](Inputs & i) -> auto& { return i.values; }
  , all
}
});
}

TEST(NaNSafety, Scan) {
  using Inputs = ScanInputs;
  ExpectNoNaNIsLost<Inputs>(
      DrawScanInputs({.positions = 7, .width = 3}),
      [](const Inputs& inputs) {
    return Deviations{{"deviation", MeasureScan(inputs).deviation}};
      },
      {{"decay", [](Inputs& i) -> auto& { return i.decay;
}
, { "deviation" }
}
, {
  "input", [](Inputs & i) -> auto& { return i.input; }
  , { "deviation" }
}
});
}

TEST(NaNSafety, Blocks) {
  using Inputs = BlockInputPair;
  ExpectNoNaNIsLost<Inputs>(
      DrawBlockInputs({.positions = 7, .width = 3}),
      [](const Inputs& inputs) {
    return Deviations{
        {"deviation", MeasureBlocks(inputs, 2).value().deviation}};
      },
      {{"query", [](Inputs& i) -> auto& { return i.once.query;
}
, { "deviation" }
}
, {"key", [](Inputs& i) -> auto& {return i.once.key;
}
, { "deviation" }
}
, {
  "value", [](Inputs & i) -> auto& { return i.once.value; }
  , { "deviation" }
}
});
}

TEST(NaNSafety, Decoding) {
  using Inputs = DecodeInputs;
  const std::vector<std::string> output = {"output_deviation"};
  ExpectNoNaNIsLost<Inputs>(
      DrawDecodeInputs({.tokens = 7, .width = 3}),
      [](const Inputs& inputs) {
    return Deviations{{"output_deviation",
                       MeasureDecodeMemory(inputs).value().output_deviation}};
      },
      {{"tokens", [](Inputs& i) -> auto& { return i.tokens;
}
, output
}
, {"query", [](Inputs& i) -> auto& {return i.head.query;
}
, output
}
, {"key", [](Inputs& i) -> auto& {return i.head.key;
}
, output
}
, {
  "value", [](Inputs & i) -> auto& { return i.head.value; }
  , output
}
});
}

TEST(NaNSafety, Gradients) {
  using Inputs = GradientInputs;
  const std::vector<std::string> all = {"complex_step_deviation"};
  ExpectNoNaNIsLost<Inputs>(
      DrawGradientInputs({.distance = 6, .width = 3}, 0),
      [](const Inputs& inputs) {
    RandomStream stream(/*seed=*/1, "NaN safety");
    return Deviations{
        {"complex_step_deviation", ComplexStepDeviation(inputs, stream)}};
      },
      {{"tokens", [](Inputs& i) -> auto& { return i.tokens;
}
, all
}
, {"state", [](Inputs& i) -> auto& {return i.recurrent.state;
}
, all
}
, {
  "input", [](Inputs & i) -> auto& { return i.recurrent.input; }
  , all
}
});
}

}  // namespace
}  // namespace softlookup
