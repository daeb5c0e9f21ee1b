#include "experiments/masking/padding.h"

#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(MeasurePadding, TheMaskMakesThePaddedSequenceTheSequenceAlone) {
  const Json padding = MeasurePadding(5, {2, 2, 6, 4}, 2).value();
  for (const char* side : {"left", "right"}) {
    for (const char* direction : {"causal", "bidirectional"}) {
      const Json& masked = padding[side][direction]["with_padding_mask"];
      EXPECT_EQ(masked["largest_weight_on_pads"], 0) << side << direction;
      EXPECT_EQ(masked["difference_from_the_sequence_alone"], 0)
          << side << direction;
      EXPECT_EQ(masked["pad_queries"], 4) << side << direction;
      EXPECT_GT(padding[side][direction]["without"]["largest_weight_on_pads"],
                0.01)
          << side << direction;
    }
  }
  EXPECT_GT(padding["left"]["causal"]["without"]
                   ["difference_from_the_sequence_alone"],
            0.01);
  EXPECT_GT(padding["right"]["bidirectional"]["without"]
                   ["difference_from_the_sequence_alone"],
            0.01);
  // Pads on the left are the first queries and see themselves at most.
  const auto blind = [&padding](const char* side, const char* direction) {
    return padding[side][direction]["with_padding_mask"]
                  ["rows_that_see_no_key"];
  };
  EXPECT_EQ(blind("left", "causal"), 4);
  EXPECT_EQ(blind("left", "bidirectional"), 0);
  EXPECT_EQ(blind("right", "causal"), 0);
  EXPECT_EQ(padding["right"]["causal"]["with_padding_mask"]
                   ["pad_queries_with_an_output"],
            4);
  EXPECT_EQ(padding["left"]["causal"]["with_padding_mask"]
                   ["pad_queries_with_an_output"],
            0);
}

TEST(MeasurePaddedLoss, OnlyIgnoringKeepsPadsOut) {
  const Json loss = MeasurePaddedLoss(5, {2, 2, 6, 4}, 2).value();
  EXPECT_EQ(loss["pads_ignored"]["positions_counted"], 8);
  EXPECT_EQ(loss["pads_counted"]["positions_counted"], 12);
  EXPECT_EQ(loss["pads_ignored"]["largest_gradient_on_pad_logits"], 0);
  EXPECT_EQ(loss["pads_ignored"]["change_when_pad_outputs_change"], 0);
  EXPECT_GT(loss["pads_counted"]["largest_gradient_on_pad_logits"], 0.001);
  EXPECT_GT(loss["pads_counted"]["change_when_pad_outputs_change"], 0.001);
}

}  // namespace
}  // namespace softlookup
