// The worked example: three tokens, width 2, forward and backward by hand.
//
// The chapter, section 3, complete: every score, exponential, weight and
// output with and without the causal mask and the scale; the mirrored rows;
// where the outputs lie among the values; the backward pass of one output
// component with every intermediate value, confirmed by the reference, by
// complex step, by finite differences and by PyTorch's autograd. Then the
// rules that it shows once, on drawn inputs: the gradient of a row and the
// three projections (section 2).
#include <cstdint>
#include <cstdio>
#include <string>
#include <tuple>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "base/status.h"
#include "experiments/frame/experiment.h"
#include "experiments/frame/experiment_parameters.h"
#include "experiments/frame/matrix_parameter.h"
#include "experiments/worked_example/backward.h"
#include "experiments/worked_example/forward.h"
#include "experiments/worked_example/geometry.h"
#include "experiments/worked_example/print.h"
#include "experiments/worked_example/projections.h"
#include "experiments/worked_example/score_spread.h"
#include "experiments/worked_example/softmax_gradient_rule.h"

// The parameters.
ABSL_FLAG(std::string, queries, "1 0; 0 1; 1 1",
          "Queries of the three tokens, one row each.");
ABSL_FLAG(std::string, keys, "1 0; 0 1; 1 1",
          "Keys of the three tokens, one row each.");
ABSL_FLAG(std::string, values, "1 0; 0 2; 3 3",
          "Values of the three tokens, one row each; not on one line.");
ABSL_FLAG(int64_t, loss_token, 3,
          "The backward pass is of this token's output, 1 to 3.");
ABSL_FLAG(int64_t, loss_component, 2,
          "The backward pass is of this output component, 1 or 2.");
ABSL_FLAG(int64_t, hull_draws, 10000,
          "Drawn queries and keys that try to leave the values' hull.");
ABSL_FLAG(int64_t, rule_rows, 1000,
          "Drawn rows on which the gradient rule is tried.");
ABSL_FLAG(int64_t, projection_draws, 200,
          "Drawn tokens and projections on which the formulas are tried.");
ABSL_FLAG(int64_t, wide_width, 128,
          "Key width whose unscaled scores are compared with width 2.");
ABSL_FLAG(int64_t, spread_scores, 2000,
          "Scores per replicate for the spread at the two widths.");
ABSL_FLAG(int64_t, seed, 1, "Seed of every random stream.");

namespace softlookup {
namespace {

// Unscaled scores then stay below 200, whose exponential is finite.
constexpr double kLargestEntry = 10;

absl::StatusOr<WorkedExample> ReadExample() {
  WorkedExample example;
  for (const auto& [flag, text, matrix] :
       {std::tuple("queries", absl::GetFlag(FLAGS_queries), &example.query),
        std::tuple("keys", absl::GetFlag(FLAGS_keys), &example.key),
        std::tuple("values", absl::GetFlag(FLAGS_values), &example.value)}) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        *matrix, ParseMatrixParameter(flag, text, kExampleTokens, kExampleWidth,
                                      kLargestEntry));
  }
  return example;
}

absl::StatusOr<ExperimentRun<Json>> Run() {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const WorkedExample example, ReadExample());
  const ExampleLoss loss = {.token = absl::GetFlag(FLAGS_loss_token),
                            .component = absl::GetFlag(FLAGS_loss_component)};
  const int64_t hull_draws = absl::GetFlag(FLAGS_hull_draws);
  const int64_t rule_rows = absl::GetFlag(FLAGS_rule_rows);
  const int64_t projection_draws = absl::GetFlag(FLAGS_projection_draws);
  const int64_t wide_width = absl::GetFlag(FLAGS_wide_width);
  const int64_t spread_scores = absl::GetFlag(FLAGS_spread_scores);
  const int64_t seed = absl::GetFlag(FLAGS_seed);
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("loss_token", loss.token, 1, kExampleTokens));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("loss_component", loss.component, 1, kExampleWidth));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("hull_draws", hull_draws, 1, 10000000));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("rule_rows", rule_rows, 1, 10000000));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("projection_draws", projection_draws, 1, 10000000));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("wide_width", wide_width, 1, 65536));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("spread_scores", spread_scores, 2, 1000000));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter("seed", seed, 0, INT64_MAX));
  const uint64_t stream_seed = static_cast<uint64_t>(seed);

  ExperimentRun<Json> run;
  SOFTLOOKUP_ASSIGN_OR_RETURN(run.results, MeasureForward(example));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      run.results["geometry"],
      MeasureGeometry(example, {.draws = hull_draws, .seed = stream_seed}));
  SOFTLOOKUP_ASSIGN_OR_RETURN(run.results["backward"],
                              MeasureBackward(example, loss));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      run.results["row_rule"],
      MeasureRowRule({.rows = rule_rows, .seed = stream_seed}));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      run.results["projections"],
      MeasureProjections({.draws = projection_draws, .seed = stream_seed}));
  run.results["score_spread"] =
      MeasureScoreSpread({.widths = {kExampleWidth, wide_width},
                          .scores = spread_scores,
                          .seed = stream_seed});
  return run;
}

void Print(const ExperimentRun<Json>& run) {
  std::fputs(DescribeWorkedExample(run.results).c_str(), stdout);
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::ExperimentMain<softlookup::Json>(
      argc, argv,
      {.name = "worked_example",
       .question = "Where does every number of attention on three tokens come "
                   "from, forward and backward?",
       .run = softlookup::Run,
       .print = softlookup::Print});
}
