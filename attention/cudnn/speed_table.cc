#include "attention/cudnn/speed_table.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/timing.h"

namespace softlookup::cudnn {
namespace {

std::optional<double> Teraflops(double operations,
                                const std::vector<double>& seconds) {
  if (seconds.empty()) return std::nullopt;
  return operations / Summarize(seconds).median * 1e-12;
}

std::string Number(const std::optional<double>& value) {
  return value.has_value() ? absl::StrFormat("%.0f", *value) : "-";
}

std::string Met(bool met) { return met ? "met" : "not met"; }

// Both sides' samples and speeds, and why PyTorch's are missing if they are.
Json SamplesJson(const SpeedSamples& samples, double operations) {
  Json json;
  const auto add = [&](const std::string& name,
                       const std::vector<double>& seconds) {
    if (seconds.empty()) return;
    const Timing timing = Summarize(seconds);
    json[name] = {{"median_seconds", timing.median},
                  {"minimum_seconds", timing.minimum},
                  {"rounds", timing.samples},
                  {"teraflops", *Teraflops(operations, seconds)}};
  };
  add("ours", samples.ours);
  add("pytorch", samples.theirs);
  if (!samples.theirs_status.ok()) {
    json["pytorch"] = {{"absent", samples.theirs_status.message()}};
  }
  return json;
}

}  // namespace

std::optional<double> ProductSpeed::Ours() const {
  return Teraflops(product.Operations(), samples.ours);
}

std::optional<double> ProductSpeed::Theirs() const {
  return Teraflops(product.Operations(), samples.theirs);
}

std::optional<double> ProductSpeed::Best() const {
  return std::max(Ours(), Theirs());
}

std::string ProductLine(const ProductSpeed& product) {
  const MatrixProduct& sizes = product.product;
  std::string line =
      absl::StrCat("matrix product ", sizes.rows, " x ", sizes.columns, " x ",
                   sizes.inner, ", bfloat16: cuDNN ", Number(product.Ours()),
                   " TFLOP/s, PyTorch ", Number(product.Theirs()));
  if (product.Best().has_value()) {
    absl::StrAppend(&line, "; % of ",
                    product.Ours() == product.Best() ? "cuDNN's" : "PyTorch's",
                    " below");
  }
  return line + "\n";
}

Json ProductJson(const ProductSpeed& product) {
  Json json;
  json["rows"] = product.product.rows;
  json["columns"] = product.product.columns;
  json["inner"] = product.product.inner;
  json.update(SamplesJson(product.samples, product.product.Operations()));
  if (!product.ours_status.ok()) {
    json["ours"] = {{"absent", product.ours_status.message()}};
  }
  return json;
}

std::string SpeedHeader() {
  return absl::StrFormat("  %5s %6s %-6s %-8s %6s %8s %6s %13s %8s %10s\n", "D",
                         "T", "mask", "pass", "ours", "PyTorch", "ratio",
                         "middle half", "target", "% product");
}

std::string SpeedLine(const SpeedRow& row, std::optional<double> product) {
  const SpeedCase& shape = row.speed_case;
  const double operations = shape.Operations();
  const std::optional<double> ours = Teraflops(operations, row.samples.ours);
  std::string ratio = "-";
  std::string spread = "-";
  std::string target = "-";
  if (!row.samples.theirs.empty()) {
    const SpeedRatio measured = CompareSpeed(row.samples);
    ratio = absl::StrFormat("%.3f", measured.median);
    spread = absl::StrFormat("%.3f-%.3f", measured.low, measured.high);
    target = Met(measured.median >= kLeastRatio);
  }
  return absl::StrFormat(
      "  %5d %6d %-6s %-8s %6s %8s %6s %13s %8s %10s\n", shape.width,
      shape.length, shape.causal ? "causal" : "full",
      shape.backward ? "backward" : "forward", Number(ours),
      Number(Teraflops(operations, row.samples.theirs)), ratio, spread, target,
      product.has_value() ? Number(100 * *ours / *product) : "-");
}

Json SpeedJson(const SpeedRow& row, std::optional<double> product) {
  const SpeedCase& shape = row.speed_case;
  Json json;
  json["width"] = shape.width;
  json["length"] = shape.length;
  json["batch"] = shape.Batch();
  json["causal"] = shape.causal;
  json["backward"] = shape.backward;
  json.update(SamplesJson(row.samples, shape.Operations()));
  if (!row.samples.theirs.empty()) {
    const SpeedRatio ratio = CompareSpeed(row.samples);
    json["ratio"] = {{"median", ratio.median},
                     {"low", ratio.low},
                     {"high", ratio.high},
                     {"target", kLeastRatio},
                     {"met", ratio.median >= kLeastRatio}};
  }
  if (product.has_value()) {
    json["share_of_product"] =
        *Teraflops(shape.Operations(), row.samples.ours) / *product;
  }
  return json;
}

std::string HostLine(const std::string& pass, double microseconds) {
  return absl::StrFormat("host: %.1f us a %s call; target below %.0f: %s\n",
                         microseconds, pass, kHostMicroseconds,
                         Met(microseconds < kHostMicroseconds));
}

Json HostJson(double microseconds) {
  return {{"microseconds", microseconds},
          {"target", kHostMicroseconds},
          {"met", microseconds < kHostMicroseconds}};
}

}  // namespace softlookup::cudnn
