// run_model: a saved model on tokens from a file. What it computes, and any
// activation on the way, for programs in any language that reads safetensors.
//
//   bazel run //model:run_model -- --model=model.safetensors
//       --input=tokens.safetensors --output=out.safetensors
//       --activations=blocks.0.attn.hook_pattern,blocks.1.hook_resid_post
//
// The input holds "tokens", [B, T] whole numbers, and may hold "targets", [B,
// T], the token after each (-1: none). The output holds "logits" [B, T, V] and
// the activations asked for (model/hooks.h); with targets also "loss" [1],
// "loss_per_token" [B, T] and, under "gradient." and its name, the gradient of
// every parameter. With --train, tokens and targets are [S, B, T]: S steps of
// AdamW, and the output holds "loss" [S] and the weights afterwards.
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/benchmark/benchmark_flags.h"
#include "attention/kernels/kernel_options.h"
#include "base/file.h"
#include "base/program.h"
#include "base/safetensors/safetensors.h"
#include "base/status.h"
#include "base/tensor/shape.h"
#include "base/tensor/stored_tensor.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"
#include "base/thread_pool.h"
#include "base/timing.h"
#include "model/activations.h"
#include "model/adamw.h"
#include "model/checkpoint.h"
#include "model/engine.h"
#include "model/hooks.h"
#include "model/loss.h"
#include "model/parameters.h"
#include "model/trainer.h"
#include "model/transformer.h"

ABSL_FLAG(std::string, model, "", "Model file, as --save_model writes it.");
ABSL_FLAG(std::string, input, "",
          "Safetensors file with tokens [B,T] and optional targets [B,T], "
          "whole numbers; with --train [S,B,T] both.");
ABSL_FLAG(std::string, output, "",
          "Where to write logits and activations, loss and gradients.");
ABSL_FLAG(std::vector<std::string>, activations, {},
          "Activations to write, by name, with commas between.");
ABSL_FLAG(bool, train, false, "Take a step of AdamW for each batch.");
ABSL_FLAG(double, rate, 3e-3, "Learning rate of --train.");
ABSL_FLAG(double, weight_decay, 0.01, "Weight decay of --train.");
ABSL_FLAG(double, beta1, 0.9, "AdamW's memory of the gradient.");
ABSL_FLAG(double, beta2, 0.98, "AdamW's memory of its square.");
ABSL_FLAG(double, clip, 1, "Largest norm of the gradient; 0: no limit.");
ABSL_FLAG(std::string, isa, "auto",
          "Instruction set: auto, portable, avx2 or avx512. The result is the "
          "same to the bit.");
ABSL_FLAG(int64_t, threads, 1,
          "Threads, 1 to 1024. The result is the same to the bit.");

namespace softlookup {
namespace {

using kernels::KernelOptions;

// A tensor of whole numbers, as int32. The shape must have `rank` dimensions,
// none of them 0.
absl::StatusOr<Tensor<int32_t>> LoadWhole(const SafetensorsFile& file,
                                          const std::string& path,
                                          const std::string& name,
                                          size_t rank) {
  const StoredTensor* stored = file.Find(name);
  if (stored == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": no tensor \"", name, "\""));
  }
  absl::StatusOr<Tensor<int64_t>> loaded = LoadTensor<int64_t>(*stored);
  if (!loaded.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", loaded.status().message()));
  }
  if (stored->shape.size() != rank || loaded->size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": ", name, " has shape ", ShapeString(stored->shape),
        "; allowed: ", rank == 2 ? "[B, T]" : "[S, B, T] with --train",
        ", none of them 0"));
  }
  Tensor<int32_t> whole(loaded->shape());
  for (int64_t i = 0; i < whole.size(); ++i) {
    const int64_t value = (*loaded)[i];
    whole[i] = static_cast<int32_t>(value);
    if (whole[i] != value) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", name, " has ", value, " at element ", i,
                       "; allowed: what 32 bits hold"));
    }
  }
  return whole;
}

struct Input {
  Tensor<int32_t> tokens;
  std::vector<int32_t> targets;  // empty: none
};

absl::StatusOr<Input> ReadInput(const std::string& path, bool train) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SafetensorsFile file,
                              ReadSafetensors(path));
  for (const StoredTensor& tensor : file.tensors) {
    if (tensor.name != "tokens" && tensor.name != "targets") {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": unknown tensor ", QuotedName(tensor.name),
                       "; allowed: tokens, targets"));
    }
  }
  const size_t rank = train ? 3 : 2;
  Input input;
  SOFTLOOKUP_ASSIGN_OR_RETURN(input.tokens,
                              LoadWhole(file, path, "tokens", rank));
  if (!train && file.Find("targets") == nullptr) return input;
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Tensor<int32_t> targets,
                              LoadWhole(file, path, "targets", rank));
  if (targets.shape() != input.tokens.shape()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": targets have shape ",
                     ShapeString(targets.shape()), " and tokens ",
                     ShapeString(input.tokens.shape()), "; allowed: the same"));
  }
  input.targets = targets.elements();
  return input;
}

void StoreParameters(const std::string& prefix, const ParameterLayout& layout,
                     absl::Span<const float> parameters,
                     SafetensorsFile& file) {
  for (const ParameterTensor& tensor : layout.tensors()) {
    file.tensors.push_back(
        StoreTensor(absl::StrCat(prefix, tensor.name),
                    Copy(layout.View(tensor, parameters.data()))));
  }
}

absl::Status Evaluate(const SavedModel& saved, const Input& input,
                      const KernelOptions& execution, SafetensorsFile& output) {
  const Transformer<float> model(saved.config, Engine<float>(execution));
  const std::vector<std::string> names = absl::GetFlag(FLAGS_activations);
  ActivationCache<float> cache({names.begin(), names.end()});
  TransformerActivations<float> memory;
  SOFTLOOKUP_RETURN_IF_ERROR(
      model.Forward(saved.weights, input.tokens, memory, &cache));
  const int64_t batch = memory.batch;
  const int64_t positions = memory.positions;
  output.tensors.push_back(StoreTensor(
      "logits", Copy(memory.logits.view().SplitAxis(0, {batch, positions}))));
  for (const std::string& name :
       std::set<std::string>(names.begin(), names.end())) {
    output.tensors.push_back(StoreTensor(name, cache.at(name)));
  }
  if (input.targets.empty()) return absl::OkStatus();
  CrossEntropy<float> loss;
  SOFTLOOKUP_RETURN_IF_ERROR(CrossEntropyLoss<float>(
      model.engine(), memory.logits.view(), input.targets, loss));
  std::vector<float> gradient(saved.weights.size());
  model.Backward(saved.weights, input.tokens, memory, loss.d_logits.view(),
                 absl::MakeSpan(gradient));
  output.tensors.push_back(
      StoreTensor("loss", Tensor<double>({1}, {loss.mean})));
  output.tensors.push_back(StoreTensor(
      "loss_per_token",
      Copy(loss.per_token.view().SplitAxis(0, {batch, positions}))));
  StoreParameters("gradient.", model.layout(), gradient, output);
  return absl::OkStatus();
}

absl::Status Train(const SavedModel& saved, const Input& input,
                   const KernelOptions& execution, SafetensorsFile& output) {
  const AdamWOptions options = {
      .beta1 = absl::GetFlag(FLAGS_beta1),
      .beta2 = absl::GetFlag(FLAGS_beta2),
      .weight_decay = absl::GetFlag(FLAGS_weight_decay),
      .clip = absl::GetFlag(FLAGS_clip)};
  SOFTLOOKUP_RETURN_IF_ERROR(CheckAdamWOptions(options));
  Trainer trainer(saved.config, options, /*seed=*/0, execution);
  const size_t count = saved.weights.size();
  SOFTLOOKUP_RETURN_IF_ERROR(trainer.Restore(
      0, saved.weights, std::vector<float>(count), std::vector<float>(count)));
  const Shape& shape = input.tokens.shape();
  const int64_t size = shape[1] * shape[2];
  Tensor<double> losses({shape[0]});
  std::vector<double> seconds;
  for (int64_t step = 0; step < shape[0]; ++step) {
    const auto first = input.tokens.elements().begin() + step * size;
    const Tensor<int32_t> tokens({shape[1], shape[2]}, {first, first + size});
    const absl::Span<const int32_t> targets(input.targets.data() + step * size,
                                            static_cast<size_t>(size));
    const double start = SecondsNow();
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const TrainingStep done,
        trainer.Step(tokens, targets, absl::GetFlag(FLAGS_rate)));
    seconds.push_back(SecondsNow() - start);
    losses[step] = done.loss;
  }
  const Timing timing = Summarize(std::move(seconds));
  std::printf("%d steps, seconds per step: minimum %.6f, median %.6f\n",
              static_cast<int>(shape[0]), timing.minimum, timing.median);
  output.tensors.push_back(StoreTensor("loss", std::move(losses)));
  StoreParameters("", trainer.model().layout(), trainer.weights(), output);
  return absl::OkStatus();
}

absl::StatusOr<std::string> PathFlag(const char* name,
                                     const std::string& path) {
  if (path.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag --", name, " is missing; give a file"));
  }
  return ResolveUserPath(path);
}

absl::Status Run() {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::string model,
                              PathFlag("model", absl::GetFlag(FLAGS_model)));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::string in,
                              PathFlag("input", absl::GetFlag(FLAGS_input)));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::string out,
                              PathFlag("output", absl::GetFlag(FLAGS_output)));
  if (IsSameFile(out, in) || IsSameFile(out, model)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "flag --output is an input file, ", out, "; allowed: another file"));
  }
  SOFTLOOKUP_RETURN_IF_ERROR(CheckWritable(out));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const kernels::InstructionSet set,
                              kernels::ParseIsaFlag(absl::GetFlag(FLAGS_isa)));
  const int64_t threads = absl::GetFlag(FLAGS_threads);
  if (const absl::Status checked = CheckThreads(threads); !checked.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag --", checked.message()));
  }
  const bool train = absl::GetFlag(FLAGS_train);
  if (train && !absl::GetFlag(FLAGS_activations).empty()) {
    return absl::InvalidArgumentError(
        "flag --activations with --train; allowed: one of them");
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const SavedModel saved, LoadModel(model));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Input input, ReadInput(in, train));
  ThreadPool pool(static_cast<int>(threads));
  const KernelOptions execution = {set, &pool};
  SafetensorsFile output;
  SOFTLOOKUP_RETURN_IF_ERROR(train ? Train(saved, input, execution, output)
                                   : Evaluate(saved, input, execution, output));
  return WriteSafetensors(out, output);
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::RunProgram(
      argc, argv,
      "Runs a saved model on tokens: logits, activations, loss, gradients; or "
      "trains it.",
      [] { return softlookup::Run(); });
}
