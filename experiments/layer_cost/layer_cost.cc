// Layer cost: what recurrence costs, and what self-attention costs instead.
//
// The chapter, section 1: the cost table at the chapter's points and over
// the length of the sequence; how many steps wait for one another and how
// many updates lie between two positions, counted by running the layers on
// numbers that remember; how much of the gradient survives the distance; the
// same mixing as dependent steps, as one matrix product, as a parallel scan
// and in blocks; and what a layer has to remember from token to token.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/table.h"
#include "experiments/frame/experiment.h"
#include "experiments/frame/experiment_parameters.h"
#include "experiments/layer_cost/results.h"

// The parameters.
ABSL_FLAG(uint64_t, seed, 1, "Seed of all random streams.");
ABSL_FLAG(int64_t, short_positions, 50, "Positions T of a short sequence.");
ABSL_FLAG(int64_t, short_width, 512,
          "Width d of the layers for the short sequence.");
ABSL_FLAG(int64_t, long_positions, 32768, "Positions T of a long context.");
ABSL_FLAG(int64_t, long_width, 4096,
          "Width d of the layers for the long context.");
ABSL_FLAG(int64_t, kernel, 3, "Kernel k of the convolution.");
ABSL_FLAG(int64_t, sequence, 10000,
          "Tokens whose dependent steps are counted.");
ABSL_FLAG(int64_t, distance, 100,
          "The largest distance over which gradients are followed.");
ABSL_FLAG(int64_t, gradient_width, 32,
          "Width of the layers that gradients are followed through.");
ABSL_FLAG(int64_t, gradient_replicates, 20,
          "Times that the layers and tokens are drawn.");
ABSL_FLAG(int64_t, mixing_positions, 256,
          "Positions mixed by a loop and by one product.");
ABSL_FLAG(int64_t, scan_positions, 1024,
          "Positions of the linear recurrence and its scan.");
ABSL_FLAG(int64_t, block_positions, 128,
          "Positions attended whole and in blocks; twice as many as well.");
ABSL_FLAG(int64_t, block, 16, "Queries and keys per block.");
ABSL_FLAG(int64_t, tokens, 64, "Tokens generated one by one.");
ABSL_FLAG(int64_t, mixing_width, 16,
          "Width of what is mixed, scanned, attended in blocks and generated.");

namespace softlookup {
namespace {

absl::Status CheckParameters() {
  struct Range {
    std::string name;
    int64_t value;
    int64_t low;
    int64_t high;
  };
  const std::vector<Range> ranges = {
      {"short_positions", absl::GetFlag(FLAGS_short_positions), 1, 1024},
      {"short_width", absl::GetFlag(FLAGS_short_width), 2, 1024},
      {"long_positions", absl::GetFlag(FLAGS_long_positions), 16, 1 << 20},
      {"long_width", absl::GetFlag(FLAGS_long_width), 2, 1 << 16},
      {"kernel", absl::GetFlag(FLAGS_kernel), 2, 1024},
      {"sequence", absl::GetFlag(FLAGS_sequence), 1, 1000000},
      {"distance", absl::GetFlag(FLAGS_distance), 1, 400},
      {"gradient_width", absl::GetFlag(FLAGS_gradient_width), 1, 128},
      {"gradient_replicates", absl::GetFlag(FLAGS_gradient_replicates), 2,
       1000},
      {"mixing_positions", absl::GetFlag(FLAGS_mixing_positions), 1, 1024},
      {"scan_positions", absl::GetFlag(FLAGS_scan_positions), 1, 1 << 16},
      {"block_positions", absl::GetFlag(FLAGS_block_positions), 1, 1024},
      {"block", absl::GetFlag(FLAGS_block), 1, 1024},
      {"tokens", absl::GetFlag(FLAGS_tokens), 1, 1024},
      {"mixing_width", absl::GetFlag(FLAGS_mixing_width), 1, 64},
  };
  for (const Range& range : ranges) {
    SOFTLOOKUP_RETURN_IF_ERROR(
        CheckParameter(range.name, range.value, range.low, range.high));
  }
  return absl::OkStatus();
}

absl::StatusOr<ExperimentRun<LayerCostResults>> Run() {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameters());
  const uint64_t seed = absl::GetFlag(FLAGS_seed);
  const int64_t width = absl::GetFlag(FLAGS_mixing_width);
  const int64_t block = absl::GetFlag(FLAGS_block);
  ExperimentRun<LayerCostResults> run;
  LayerCostResults& results = run.results;
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      results.costs,
      MeasureCounts({.short_positions = absl::GetFlag(FLAGS_short_positions),
                     .short_width = absl::GetFlag(FLAGS_short_width),
                     .long_positions = absl::GetFlag(FLAGS_long_positions),
                     .long_width = absl::GetFlag(FLAGS_long_width),
                     .kernel = absl::GetFlag(FLAGS_kernel),
                     .sequence = absl::GetFlag(FLAGS_sequence),
                     .seed = seed}));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      results.gradient,
      MeasureGradients({.distance = absl::GetFlag(FLAGS_distance),
                        .width = absl::GetFlag(FLAGS_gradient_width),
                        .replicates = absl::GetFlag(FLAGS_gradient_replicates),
                        .seed = seed}));
  results.loop =
      MeasureLoop({.width = absl::GetFlag(FLAGS_gradient_width), .seed = seed});
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      results.mixing, MeasureMixing(DrawMixingInputs(
                          {.positions = absl::GetFlag(FLAGS_mixing_positions),
                           .width = width,
                           .seed = seed})));
  results.scan = MeasureScan(
      DrawScanInputs({.positions = absl::GetFlag(FLAGS_scan_positions),
                      .width = width,
                      .seed = seed}));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      results.blocks,
      MeasureBlocks(
          DrawBlockInputs({.positions = absl::GetFlag(FLAGS_block_positions),
                           .width = width,
                           .seed = seed}),
          block));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results.decode_memory,
                              MeasureDecodeMemory(DrawDecodeInputs(
                                  {.tokens = absl::GetFlag(FLAGS_tokens),
                                   .width = width,
                                   .seed = seed})));
  return run;
}

void PrintTable(const std::string& title, const Table& table) {
  std::printf("%s\n%s\n", title.c_str(), table.ToString().c_str());
}

void PrintCosts(const CountResults& costs) {
  Table table({"", "T", "d", "recurrent, T d^2", "self-attention, T^2 d",
               "convolution, k T d^2", "T / d"});
  const auto add = [&table](const std::string& text, const CostPoint& point) {
    table.AddRow(
        {text, absl::StrCat(point.positions), absl::StrCat(point.width),
         absl::StrCat(point.recurrent_operations),
         absl::StrCat(point.attention_operations),
         absl::StrCat(point.convolution_operations), Fixed(point.ratio, 4)});
  };
  add("short sequence", costs.table.short_sequence);
  add("below T = d", costs.table.below);
  add("T = d", costs.table.equal);
  add("above T = d", costs.table.above);
  add("long context", costs.table.long_context);
  add("twice as long", costs.table.long_doubled);
  PrintTable(
      "Multiply-adds that mix positions. The ratio of self-attention to "
      "recurrence is T / d:",
      table);

  Table counted({"the short layers, run and counted", "multiply-adds",
                 "difference from the formula"});
  const auto add_count = [&counted](const std::string& text, int64_t count,
                                    int64_t deviation) {
    counted.AddRow({text, absl::StrCat(count), absl::StrCat(deviation)});
  };
  const ShortRun& run = costs.run;
  add_count("recurrence, T d^2", run.recurrence, run.recurrence_deviation);
  add_count("attention's scores, T^2 d", run.scores, run.scores_deviation);
  add_count("attention's weighted sums, T^2 d", run.weighted_sums,
            run.weighted_sums_deviation);
  add_count("attention's four projections, 4 T d^2", run.attention_projections,
            run.attention_projections_deviation);
  PrintTable("What the table leaves out:", counted);

  const SequentialSteps& steps = costs.sequential;
  Table sequential({"", "recurrent", "self-attention"});
  sequential.AddRow(
      {absl::StrCat("dependent steps of ", steps.positions, " tokens"),
       absl::StrCat(steps.recurrent), absl::StrCat(steps.attention)});
  sequential.AddRow(
      {absl::StrCat("the same for ", steps.sequences, " sequences at once"),
       absl::StrCat(steps.recurrent_all_sequences_together),
       absl::StrCat(steps.attention)});
  sequential.AddRow({"updates from position j to t", "t - j", "1"});
  PrintTable(
      "Longest chains of updates that wait for one another, traced through a "
      "run:",
      sequential);
}

void PrintGradient(const GradientResults& gradient, const LoopResults& loop) {
  Table survival({"distance", "recurrent, tanh", "recurrent, linear",
                  "attention", "directions: tanh", "linear", "attention"});
  for (size_t i = 0; i < gradient.distances.size(); ++i) {
    const int64_t n = gradient.distances[i];
    if (n != 1 && n != 2 && n != 5 && n % 10 != 0) continue;
    survival.AddRow({absl::StrCat(n), Fixed(gradient.recurrent.survival[i], 3),
                     Fixed(gradient.linear.survival[i], 3),
                     Fixed(gradient.attention.survival[i], 3),
                     Fixed(gradient.recurrent.directions[i], 1),
                     Fixed(gradient.linear.directions[i], 1),
                     Fixed(gradient.attention.directions[i], 1)});
  }
  PrintTable(
      "Size of d(last output) / d(token), relative to distance 1 (geometric "
      "means), and the\nnumber of directions it still carries:",
      survival);
  Table known({"all inputs known in advance", "recurrent", "without the loop"});
  known.AddRow({"smallest change of the next 8 states when one is changed",
                Fixed(loop.smallest_later_change, 6),
                Fixed(loop.without_loop, 6)});
  known.AddRow({"|F(a + b) - F(a) - F(b) + F(0)| / |F(a)|",
                Fixed(loop.superposition, 3) + " (tanh)",
                Fixed(loop.linear_superposition, 3) + " (linear loop)"});
  PrintTable(
      "Known inputs (teacher forcing) leave the chain of states in place, and "
      "the nonlinearity\nkeeps its steps from being composed:",
      known);
}

void PrintMixing(const LayerCostResults& results) {
  const MixingResults& mixing = results.mixing;
  const ScanResults& scan = results.scan;
  Table same(
      {"", "positions", "dependent steps", "otherwise", "largest difference"});
  same.AddRow({"attention by a running average", absl::StrCat(mixing.positions),
               absl::StrCat(mixing.steps_of_the_loop), "1 matrix product",
               Fixed(mixing.deviation, 3)});
  same.AddRow({"linear recurrence", absl::StrCat(scan.positions),
               absl::StrCat(scan.steps_of_the_loop),
               absl::StrCat(scan.rounds_of_the_scan, " rounds of a scan"),
               Fixed(scan.deviation, 3)});
  PrintTable("The same result, one position after another and in parallel:",
             same);

  const BlockResults& blocks = results.blocks;
  Table memory(
      {"attention", "positions", "numbers held at once", "multiplications"});
  const auto add = [&memory](const std::string& text, const CountedRuns& runs) {
    for (const CountedRun* run : {&runs.once, &runs.twice}) {
      memory.AddRow({text, absl::StrCat(run->positions),
                     absl::StrCat(run->peak_memory),
                     absl::StrCat(run->multiplications)});
    }
  };
  add("whole matrix", blocks.whole);
  add("in blocks", blocks.blocked);
  PrintTable(absl::StrCat("Blocks of ", blocks.block,
                          " remove the T^2 from memory, not from arithmetic "
                          "(same output to ",
                          Fixed(blocks.deviation, 3), "):"),
             memory);

  const DecodeMemory& decode = results.decode_memory;
  Table remembered({"after token", "recurrent state", "keys and values"});
  for (int64_t token = 1; token <= decode.tokens; token *= 2) {
    remembered.AddRow({absl::StrCat(token),
                       absl::StrCat(decode.recurrent_memory[token - 1]),
                       absl::StrCat(decode.attention_memory[token - 1])});
  }
  PrintTable(absl::StrCat("Numbers kept from token to token at width ",
                          decode.width, ":"),
             remembered);
}

void Print(const ExperimentRun<LayerCostResults>& run) {
  PrintCosts(run.results.costs);
  PrintGradient(run.results.gradient, run.results.loop);
  PrintMixing(run.results);
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::ExperimentMain<softlookup::LayerCostResults>(
      argc, argv,
      {.name = "layer_cost",
       .question = "What does recurrence cost, and what does self-attention "
                   "cost instead?",
       .run = softlookup::Run,
       .print = softlookup::Print});
}
