// Layer cost: what recurrence costs, and what self-attention costs instead.
//
// The chapter, section 1: the cost table at the chapter's points and over
// the length of the sequence; how many steps wait for one another and how
// many updates lie between two positions, counted by running the layers on
// numbers that remember; how much of the gradient survives the distance; the
// same mixing as dependent steps, as one matrix product, as a parallel scan
// and in blocks; and what a layer has to remember from token to token.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status.h"
#include "base/table.h"
#include "experiments/frame/experiment.h"
#include "experiments/frame/experiment_parameters.h"
#include "experiments/layer_cost/counts.h"
#include "experiments/layer_cost/gradient_reach.h"
#include "experiments/layer_cost/mixing.h"

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

absl::StatusOr<ExperimentRun<Json>> Run() {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameters());
  const uint64_t seed = absl::GetFlag(FLAGS_seed);
  const int64_t width = absl::GetFlag(FLAGS_mixing_width);
  ExperimentRun<Json> run;
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      run.results["costs"],
      MeasureCounts({.short_positions = absl::GetFlag(FLAGS_short_positions),
                     .short_width = absl::GetFlag(FLAGS_short_width),
                     .long_positions = absl::GetFlag(FLAGS_long_positions),
                     .long_width = absl::GetFlag(FLAGS_long_width),
                     .kernel = absl::GetFlag(FLAGS_kernel),
                     .sequence = absl::GetFlag(FLAGS_sequence),
                     .seed = seed}));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      run.results["gradient"],
      MeasureGradients({.distance = absl::GetFlag(FLAGS_distance),
                        .width = absl::GetFlag(FLAGS_gradient_width),
                        .replicates = absl::GetFlag(FLAGS_gradient_replicates),
                        .seed = seed}));
  run.results["loop"] =
      MeasureLoop({.width = absl::GetFlag(FLAGS_gradient_width), .seed = seed});
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      run.results["mixing"],
      MeasureMixing({.positions = absl::GetFlag(FLAGS_mixing_positions),
                     .width = width,
                     .seed = seed}));
  run.results["scan"] =
      MeasureScan({.positions = absl::GetFlag(FLAGS_scan_positions),
                   .width = width,
                   .seed = seed});
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      run.results["blocks"],
      MeasureBlocks({.positions = absl::GetFlag(FLAGS_block_positions),
                     .width = width,
                     .block = absl::GetFlag(FLAGS_block),
                     .seed = seed}));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      run.results["generation"],
      MeasureGeneration({.positions = absl::GetFlag(FLAGS_tokens),
                         .width = width,
                         .seed = seed}));
  return run;
}

double Number(const Json& json) { return json.get<double>(); }

std::string Count(const Json& json) {
  return absl::StrCat(json.get<int64_t>());
}

void PrintTable(const std::string& title, const Table& table) {
  std::printf("%s\n%s\n", title.c_str(), table.ToString().c_str());
}

void PrintCosts(const Json& costs) {
  Table table({"", "T", "d", "recurrent, T d^2", "self-attention, T^2 d",
               "convolution, k T d^2", "T / d"});
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{
           {"short", "short sequence"},
           {"below", "below T = d"},
           {"equal", "T = d"},
           {"above", "above T = d"},
           {"long", "long context"},
           {"long_doubled", "twice as long"}}) {
    const Json& point = costs[name];
    table.AddRow({text, Count(point["positions"]), Count(point["width"]),
                  Count(point["recurrent_operations"]),
                  Count(point["attention_operations"]),
                  Count(point["convolution_operations"]),
                  Fixed(Number(point["ratio"]), 4)});
  }
  PrintTable(
      "Multiply-adds that mix positions. The ratio of self-attention to "
      "recurrence is T / d:",
      table);

  const Json& run = costs["run"];
  Table counted({"the short layers, run and counted", "multiply-adds",
                 "difference from the formula"});
  counted.AddRow({"recurrence, T d^2", Count(run["recurrence"]),
                  Count(run["recurrence_deviation"])});
  counted.AddRow({"attention's scores, T^2 d", Count(run["scores"]),
                  Count(run["scores_deviation"])});
  counted.AddRow({"attention's weighted sums, T^2 d",
                  Count(run["weighted_sums"]),
                  Count(run["weighted_sums_deviation"])});
  counted.AddRow({"attention's four projections, 4 T d^2",
                  Count(run["attention_projections"]),
                  Count(run["attention_projections_deviation"])});
  PrintTable("What the table leaves out:", counted);

  const Json& steps = costs["sequential"];
  Table sequential({"", "recurrent", "self-attention"});
  sequential.AddRow({absl::StrCat("dependent steps of ",
                                  Count(steps["positions"]), " tokens"),
                     Count(steps["recurrent"]), Count(steps["attention"])});
  sequential.AddRow({absl::StrCat("the same for ", Count(steps["sequences"]),
                                  " sequences at once"),
                     Count(steps["recurrent_all_sequences_together"]),
                     Count(steps["attention"])});
  sequential.AddRow({"updates from position j to t", "t - j", "1"});
  PrintTable(
      "Longest chains of updates that wait for one another, traced through a "
      "run:",
      sequential);
}

void PrintGradient(const Json& gradient, const Json& loop) {
  Table survival({"distance", "recurrent, tanh", "recurrent, linear",
                  "attention", "directions: tanh", "linear", "attention"});
  const Json& distances = gradient["distances"];
  for (size_t i = 0; i < distances.size(); ++i) {
    const int64_t n = distances[i].get<int64_t>();
    if (n != 1 && n != 2 && n != 5 && n % 10 != 0) continue;
    std::vector<std::string> cells = {absl::StrCat(n)};
    for (const std::string column : {"survival", "directions"}) {
      for (const std::string kind : {"recurrent", "linear", "attention"}) {
        cells.push_back(Fixed(Number(gradient[kind][column][i]),
                              column == "survival" ? 3 : 1));
      }
    }
    survival.AddRow(cells);
  }
  PrintTable(
      "Size of d(last output) / d(token), relative to distance 1 (geometric "
      "means), and the\nnumber of directions it still carries:",
      survival);
  Table known({"all inputs known in advance", "recurrent", "without the loop"});
  known.AddRow({"smallest change of the next 8 states when one is changed",
                Fixed(Number(loop["smallest_later_change"]), 6),
                Fixed(Number(loop["without_loop"]), 6)});
  known.AddRow(
      {"|F(a + b) - F(a) - F(b) + F(0)| / |F(a)|",
       Fixed(Number(loop["superposition"]), 3) + " (tanh)",
       Fixed(Number(loop["linear_superposition"]), 3) + " (linear loop)"});
  PrintTable(
      "Known inputs (teacher forcing) leave the chain of states in place, and "
      "the nonlinearity\nkeeps its steps from being composed:",
      known);
}

void PrintMixing(const Json& results) {
  const Json& mixing = results["mixing"];
  const Json& scan = results["scan"];
  Table same(
      {"", "positions", "dependent steps", "otherwise", "largest difference"});
  same.AddRow({"attention by a running average", Count(mixing["positions"]),
               Count(mixing["steps_of_the_loop"]), "1 matrix product",
               Fixed(Number(mixing["deviation"]), 3)});
  same.AddRow({"linear recurrence", Count(scan["positions"]),
               Count(scan["steps_of_the_loop"]),
               Count(scan["rounds_of_the_scan"]) + " rounds of a scan",
               Fixed(Number(scan["deviation"]), 3)});
  PrintTable("The same result, one position after another and in parallel:",
             same);

  const Json& blocks = results["blocks"];
  Table memory(
      {"attention", "positions", "numbers held at once", "multiplications"});
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{"whole", "whole matrix"},
        {"blocked", "in blocks"}}) {
    for (const Json& at : blocks[name]) {
      memory.AddRow({text, Count(at["positions"]), Count(at["peak_memory"]),
                     Count(at["multiplications"])});
    }
  }
  PrintTable(
      absl::StrCat("Blocks of ", Count(blocks["block"]),
                   " remove the T^2 from memory, not from arithmetic (same "
                   "output to ",
                   Fixed(Number(blocks["deviation"]), 3), "):"),
      memory);

  const Json& generation = results["generation"];
  Table remembered({"after token", "recurrent state", "keys and values"});
  const int64_t tokens = generation["tokens"].get<int64_t>();
  for (int64_t token = 1; token <= tokens; token *= 2) {
    remembered.AddRow({absl::StrCat(token),
                       Count(generation["recurrent_memory"][token - 1]),
                       Count(generation["attention_memory"][token - 1])});
  }
  PrintTable(absl::StrCat("Numbers kept from token to token at width ",
                          Count(generation["width"]), ":"),
             remembered);
}

void Print(const ExperimentRun<Json>& run) {
  PrintCosts(run.results["costs"]);
  PrintGradient(run.results["gradient"], run.results["loop"]);
  PrintMixing(run.results);
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::ExperimentMain<softlookup::Json>(
      argc, argv,
      {.name = "layer_cost",
       .question = "What does recurrence cost, and what does self-attention "
                   "cost instead?",
       .run = softlookup::Run,
       .print = softlookup::Print});
}
