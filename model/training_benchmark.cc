// How fast a model trains: steps per second, and each phase of a step as a
// share of what the processor can do.
//
//   bazel run //model:training_benchmark
//   bazel run //model:training_benchmark -- --threads=1,2 --filter=d_model
//       --json=/tmp/training.json
//
// The peak is measured before every model, on the same instruction set and
// threads (attention/benchmark/peak.h). Operations are counted from the shapes
// (StepOperations): those of the matrix products, a multiply-add as two, under
// the causal mask those of visible pairs; so that norms, softmaxes and the
// optimiser count as time and nothing else.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/benchmark/benchmark_flags.h"
#include "attention/benchmark/peak.h"
#include "attention/kernels/kernel_options.h"
#include "base/check.h"
#include "base/file.h"
#include "base/json.h"
#include "base/program.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/tensor.h"
#include "base/thread_pool.h"
#include "base/timing.h"
#include "model/activations.h"
#include "model/adamw.h"
#include "model/config.h"
#include "model/engine.h"
#include "model/loss.h"
#include "model/parameters.h"
#include "model/transformer.h"

ABSL_FLAG(std::string, isa, "auto",
          "Instruction set: auto, portable, avx2 or avx512.");
ABSL_FLAG(std::string, threads, "1",
          "Threads, or several counts to compare, such as 1,2.");
ABSL_FLAG(std::string, filter, "",
          "Only models whose name contains this, such as d_model or n_layers.");
ABSL_FLAG(double, seconds, 1, "Least time for each model.");
ABSL_FLAG(std::string, json, "", "Also write the rows to this file.");

namespace softlookup {
namespace {

using kernels::KernelOptions;

struct Case {
  std::string name;
  ModelConfig config;
  int64_t batch = 32;
};

// The published two-layer model, and from there one thing at a time.
std::vector<Case> Cases() {
  std::vector<Case> cases;
  const auto add = [&cases](const std::string& name, auto change) {
    Case one = {name, ModelConfig(), 32};
    change(one);
    cases.push_back(std::move(one));
  };
  for (const int64_t width : {64, 128, 256}) {
    add(absl::StrCat("d_model ", width), [width](Case& one) {
      one.config.d_model = width;
      one.config.d_head = width / 2;
    });
  }
  for (const int64_t positions : {128, 256, 512}) {
    add(absl::StrCat("n_ctx ", positions), [positions](Case& one) {
      one.config.n_ctx = positions;
      one.batch = 2048 / positions;
    });
  }
  for (const int64_t batch : {8, 128}) {
    add(absl::StrCat("batch ", batch),
        [batch](Case& one) { one.batch = batch; });
  }
  for (const int64_t layers : {1, 4}) {
    add(absl::StrCat("n_layers ", layers),
        [layers](Case& one) { one.config.n_layers = layers; });
  }
  add("d_mlp 256, RMS", [](Case& one) {
    one.config.d_mlp = 256;
    one.config.normalization_type = NormalizationType::kRms;
    one.config.final_norm = true;
  });
  return cases;
}

// A model, and what a step of training works on.
struct Training {
  Training(const Case& one, const KernelOptions& execution)
      : model(one.config, Engine<float>(execution)),
        optimizer(model.layout(), {}),
        weights(model.layout().size()),
        gradient(model.layout().size()),
        tokens({one.batch, one.config.n_ctx}) {
    InitializeParameters(model.layout(), 1, absl::MakeSpan(weights));
    RandomStream stream(1, "training_benchmark");
    for (int64_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = static_cast<int32_t>(
          stream.UniformInt(static_cast<uint32_t>(one.config.d_vocab)));
    }
    targets.assign(tokens.elements().begin(), tokens.elements().end());
  }

  void Forward() { Check(model.Forward(weights, tokens, activations)); }
  void Loss() {
    Check(CrossEntropyLoss<float>(model.engine(), activations.logits.view(),
                                  targets, loss));
  }
  void Backward() {
    model.Backward(weights, tokens, activations, loss.d_logits.view(),
                   absl::MakeSpan(gradient));
  }
  void Optimize() {
    // So slow that the model stays what it is.
    optimizer.Step(1e-9, gradient, absl::MakeSpan(weights),
                   model.engine().execution());
  }
  static void Check(const absl::Status& status) {
    SOFTLOOKUP_CHECK(status.ok(), "a model that runs");
  }

  Transformer<float> model;
  AdamW optimizer;
  std::vector<float> weights;
  std::vector<float> gradient;
  Tensor<int32_t> tokens;
  std::vector<int32_t> targets;
  TransformerActivations<float> activations;
  CrossEntropy<float> loss;
};

struct Phase {
  std::string name;
  double operations;
  std::function<void(Training&)> run;
};

std::vector<Phase> Phases(const Case& one) {
  const StepOperations operations =
      CountStepOperations(one.config, one.batch, one.config.n_ctx);
  return {{"forward", operations.forward, &Training::Forward},
          {"loss", 0, &Training::Loss},
          {"backward", operations.backward, &Training::Backward},
          {"optimiser", 0, &Training::Optimize}};
}

// Runs steps for a while; the minimum seconds of each phase, then of a step.
std::vector<double> Measure(const Case& one, const KernelOptions& execution,
                            double least) {
  const std::vector<Phase> phases = Phases(one);
  Training training(one, execution);
  std::vector<std::vector<double>> seconds(phases.size() + 1);
  const double end = SecondsNow() + least;
  for (int64_t step = -2; step < 3 || SecondsNow() < end; ++step) {
    double total = 0;
    for (size_t i = 0; i < phases.size(); ++i) {
      const double start = SecondsNow();
      phases[i].run(training);
      const double took = SecondsNow() - start;
      total += took;
      // The first steps find their memory.
      if (step >= 0) seconds[i].push_back(took);
    }
    if (step >= 0) seconds.back().push_back(total);
  }
  std::vector<double> minima;
  for (std::vector<double>& each : seconds) {
    minima.push_back(Summarize(std::move(each)).minimum);
  }
  return minima;
}

absl::Status Run() {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const kernels::InstructionSet set,
                              kernels::ParseIsaFlag(absl::GetFlag(FLAGS_isa)));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const std::vector<int> counts,
      kernels::ParseThreadCounts(absl::GetFlag(FLAGS_threads)));
  const double least = absl::GetFlag(FLAGS_seconds);
  SOFTLOOKUP_RETURN_IF_ERROR(kernels::CheckSecondsFlag(least));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const std::vector<Case> cases,
      kernels::SelectCases(Cases(), absl::GetFlag(FLAGS_filter), "model",
                           "d_model, n_ctx, batch, n_layers or d_mlp"));
  const std::string json = ResolveUserPath(absl::GetFlag(FLAGS_json));
  if (!json.empty()) SOFTLOOKUP_RETURN_IF_ERROR(CheckWritable(json));

  std::printf(
      "%s, peak measured before every model; times are minima.\n"
      "n_layers 2, d_model 64, n_heads 2, 32 x 64 tokens where not said "
      "otherwise.\n\n%-18s %7s  %-9s %9s %8s %6s %8s\n",
      kernels::InstructionSetName(set).c_str(), "model", "threads", "phase",
      "ms", "GFLOP/s", "% peak", "steps/s");
  Json rows = Json::array();
  for (const Case& one : cases) {
    for (const int count : counts) {
      ThreadPool pool(count);
      const KernelOptions execution = {set, &pool};
      const double peak = kernels::MeasurePeak(execution);
      const std::vector<double> seconds = Measure(one, execution, least);
      std::vector<Phase> phases = Phases(one);
      double all = 0;
      for (const Phase& phase : phases) all += phase.operations;
      phases.push_back({"step", all, {}});
      for (size_t i = 0; i < phases.size(); ++i) {
        const double rate = phases[i].operations / seconds[i];
        const bool step = i + 1 == phases.size();
        std::printf("%-18s %7d  %-9s %9.3f", i == 0 ? one.name.c_str() : "",
                    count, phases[i].name.c_str(), 1e3 * seconds[i]);
        if (phases[i].operations > 0) {
          std::printf(" %8.1f %6.1f", 1e-9 * rate, 100 * rate / peak);
        }
        if (step) std::printf(" %8.1f", 1 / seconds[i]);
        std::printf("\n");
        rows.push_back({{"model", one.name},
                        {"threads", count},
                        {"phase", phases[i].name},
                        {"operations", phases[i].operations},
                        {"seconds", seconds[i]},
                        {"share_of_peak", rate / peak}});
      }
      std::fflush(stdout);
    }
  }
  if (json.empty()) return absl::OkStatus();
  return WriteFileAtomically(json, DumpJson(rows));
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::RunProgram(argc, argv,
                                "Measures how fast a transformer trains.",
                                [] { return softlookup::Run(); });
}
