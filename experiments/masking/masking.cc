// Masking: which keys a query may see, and what happens at the edges.
//
// The chapter, section 2: the causal mask (counts, exact zeros, no gradient,
// one pass for T predictions), its boolean and additive forms, padding on
// either side, one streaming pass against the textbook order, the softmax
// without its maximum, and rows that see no key at all.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status.h"
#include "base/table.h"
#include "base/tensor/shape.h"
#include "experiments/frame/experiment.h"
#include "experiments/frame/experiment_parameters.h"
#include "experiments/frame/listings_reference.h"
#include "experiments/masking/blind_rows.h"
#include "experiments/masking/causal.h"
#include "experiments/masking/fused.h"
#include "experiments/masking/padding.h"
#include "experiments/masking/shapes.h"

// The parameters. The defaults are the chapter's listing.
ABSL_FLAG(int64_t, heads, 8, "Heads h.");
ABSL_FLAG(int64_t, positions, 5, "Positions T of the padded batch.");
ABSL_FLAG(int64_t, head_width, 32, "Width d_k of a head.");
ABSL_FLAG(int64_t, short_length, 3,
          "Tokens of the second sequence; the first fills all positions.");
ABSL_FLAG(int64_t, counted_positions, 64,
          "Masked entries are counted for T = 1 up to this.");
ABSL_FLAG(int64_t, prefix_positions, 16,
          "Tokens of the sequence whose prefixes are compared.");
ABSL_FLAG(int64_t, tiled_positions, 256,
          "Tokens of the sequence whose masked tiles are skipped.");
ABSL_FLAG(int64_t, layers, 3, "Residual layers over which a NaN spreads.");
ABSL_FLAG(uint64_t, seed, 1, "Seed of every random stream.");

namespace softlookup {
namespace {

// What PyTorch does beside what the operator does.
absl::StatusOr<Json> CompareWithPyTorch(const Json& results) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(Json pytorch, ListingReference("masking"));
  const Json recorded = pytorch["float64"];
  const double row =
      results["fully_masked"]["zero"]["operator_row_largest_magnitude"]
          .get<double>();
  const auto off_the_operator = [&recorded, row](const char* member) {
    return std::abs(recorded[member].get<double>() - row);
  };
  pytorch["fused_blind_row_off_the_operators"] =
      off_the_operator("blind_row_fused_largest_magnitude");
  pytorch["lowest_finite_blind_row_off_the_operators"] =
      off_the_operator("blind_row_lowest_finite_largest_magnitude");
  pytorch["flag_against_mask_here_and_there"] = std::max(
      recorded["causal_flag_against_mask"].get<double>(),
      results["forms"]["float64"]["flag_against_boolean"].get<double>());
  return pytorch;
}

absl::StatusOr<ExperimentRun<Json>> Run() {
  const int64_t heads = absl::GetFlag(FLAGS_heads);
  const int64_t positions = absl::GetFlag(FLAGS_positions);
  const int64_t head_width = absl::GetFlag(FLAGS_head_width);
  const int64_t short_length = absl::GetFlag(FLAGS_short_length);
  const int64_t counted = absl::GetFlag(FLAGS_counted_positions);
  const int64_t prefixes = absl::GetFlag(FLAGS_prefix_positions);
  const int64_t tiled = absl::GetFlag(FLAGS_tiled_positions);
  const int64_t layers = absl::GetFlag(FLAGS_layers);
  const uint64_t seed = absl::GetFlag(FLAGS_seed);
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter("heads", heads, 1, 64));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter("positions", positions, 2, 128));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter("head_width", head_width, 4, 256));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("short_length", short_length, 1, positions - 1));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("counted_positions", counted, 1, 1024));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckParameter("prefix_positions", prefixes, 2, 128));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter("tiled_positions", tiled, 1, 2048));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckParameter("layers", layers, 1, 100));

  const Shape shape = {2, heads, positions, head_width};
  ExperimentRun<Json> run;
  Json& results = run.results;
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      results["shapes"]["figure"],
      MeasureFigureShapes(seed, positions, heads * head_width, head_width));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["shapes"]["listing"],
                              MeasureListingShapes(seed, shape, short_length));
  results["counts"] = MeasureCounts(counted);
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["future"], MeasureFuture(seed, shape));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      results["prefixes"],
      MeasurePrefixes(seed, {1, heads, prefixes, head_width}));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["forms"], MeasureForms(seed, shape));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["skipped"],
                              MeasureSkippedWork(seed, tiled));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["padding"],
                              MeasurePadding(seed, shape, short_length));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["loss"],
                              MeasurePaddedLoss(seed, shape, short_length));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      results["fused"], MeasureFusedAgainstHand(seed, shape, short_length));
  results["safety"] = MeasureNumericalSafety(seed);
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      results["fully_masked"],
      MeasureFullyMasked(seed, shape, short_length, layers));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["added_masks"],
                              MeasureAddedMasks(seed, shape, short_length));
  SOFTLOOKUP_ASSIGN_OR_RETURN(results["pytorch"], CompareWithPyTorch(results));
  return run;
}

// Four decimals; "0" for an exact zero only.
std::string Number(const Json& json) {
  const double value = JsonNumber(json).value();
  if (json.is_number_integer()) return absl::StrCat(json.get<int64_t>());
  return value == 0 ? "0" : Fixed(value, 4);
}

// "(0.25, 0, 0.25)", three decimals at most.
std::string List(const Json& numbers) {
  std::string text = "(";
  for (const Json& number : numbers) {
    absl::StrAppend(&text, text.size() > 1 ? ", " : "",
                    Fixed(JsonNumber(number).value(), 3));
  }
  return text + ")";
}

void PrintTable(const char* sentence, const Table& table) {
  std::printf("%s\n%s\n", sentence, table.ToString().c_str());
}

void PrintShapes(const Json& shapes) {
  Table figure({"tensor of one head", "shape", "sizes"});
  for (const auto& [name, shape] : shapes["figure"].items()) {
    figure.AddRow({name, shape["shape"], shape["sizes"].dump()});
  }
  PrintTable("The shapes of figure 6.2, read off the tensors themselves:",
             figure);
  Table listing({"tensor of the padding listing", "shape", "sizes"});
  for (const auto& [name, shape] : shapes["listing"].items()) {
    if (!shape.is_object()) continue;
    listing.AddRow({name, shape["shape"], shape["sizes"].dump()});
  }
  PrintTable(
      "A padding mask is one row per sequence; the causal mask makes it "
      "a square:",
      listing);
}

void PrintCausal(const Json& results) {
  const Json& counts = results["counts"];
  Table masked({"T", "score entries", "masked", "T (T - 1) / 2"});
  for (size_t n = 0; n < counts["positions"].size(); ++n) {
    const int64_t size = counts["positions"][n].get<int64_t>();
    const bool power_of_two = (size & (size - 1)) == 0;
    if (!power_of_two && size != 5) continue;
    masked.AddRow({absl::StrCat(size), absl::StrCat(size * size),
                   Number(counts["masked_entries"][n]),
                   absl::StrCat(size * (size - 1) / 2)});
  }
  PrintTable("Entries above the diagonal, counted:", masked);

  const Json& future = results["future"];
  Table weights({"future scores", "largest weight", "largest gradient"});
  const auto add = [&weights](const std::string& name, const Json& measured) {
    weights.AddRow({name, Number(measured["largest_weight"]),
                    Number(measured["largest_score_gradient"])});
  };
  add("as they are", future["unmasked"]);
  for (const Json& penalty : future["penalties"]) {
    add(absl::StrCat("minus ", -penalty["penalty"].get<double>()), penalty);
  }
  add("set to -inf", future["masked"]);
  add("masked by the operator", future["operator"]);
  PrintTable(
      "Only a mask makes the weight of, and the gradient through, the "
      "future exactly 0:",
      weights);

  const Json& prefixes = results["prefixes"];
  Table passes({"", "causal", "unmasked"});
  const auto compare = [&](const char* what, const char* member) {
    passes.AddRow({what, Number(prefixes["causal"][member]),
                   Number(prefixes["unmasked"][member])});
  };
  compare("predictions with a loss", "predictions_with_a_loss");
  compare("... that equal a pass over their prefix alone",
          "predictions_that_equal_their_prefixes");
  compare("largest difference of a logit", "largest_logit_difference");
  compare("largest change when later tokens change",
          "largest_change_from_later_tokens");
  PrintTable(
      absl::StrCat("One pass over ", prefixes["positions"].get<int64_t>(),
                   " tokens against as many passes over their "
                   "prefixes (two layers):")
          .c_str(),
      passes);
}

void PrintForms(const Json& results) {
  const Json& forms = results["forms"];
  Table table({"largest difference of an output", "float64", "float32"});
  const auto add = [&](const char* what, const char* member) {
    table.AddRow({what, Number(forms["float64"][member]),
                  Number(forms["float32"][member])});
  };
  add("boolean / -inf added", "boolean_against_added_minus_infinity");
  add("boolean / lowest finite number added",
      "boolean_against_added_lowest_finite");
  add("boolean / -1 added (no mask at all)", "boolean_against_added_minus_one");
  add("causal flag / boolean mask", "flag_against_boolean");
  PrintTable("The forms of one causal mask agree to the last bit:", table);

  Table skipped({"queries and keys per tile", "tiles per side", "scores taken",
                 "share skipped", "without a mask"});
  for (const Json& entry : results["skipped"]["tiles"]) {
    skipped.AddRow({Number(entry["tile"]), Number(entry["tiles_per_side"]),
                    Number(entry["scores_computed"]),
                    Number(entry["share_skipped"]),
                    Number(entry["share_skipped_without_mask"])});
  }
  PrintTable(
      "A streaming pass skips tiles that are masked whole: half of the "
      "work, as tiles get small:",
      skipped);

  Table fused({"", "difference", "bound from rounding"});
  for (const char* type : {"float64", "float32"}) {
    fused.AddRow({type, Number(results["fused"][type]["largest_difference"]),
                  Number(results["fused"][type]["bound"])});
  }
  PrintTable("Streaming (one pass, no row of scores stored) against by hand:",
             fused);
}

void PrintPadding(const Json& results) {
  Table table({"pads", "mask", "weight on pads", "tokens off by",
               "without padding mask", "rows without a key"});
  for (const char* side : {"right", "left"}) {
    for (const char* direction : {"causal", "bidirectional"}) {
      const Json& measured = results["padding"][side][direction];
      const Json& masked = measured["with_padding_mask"];
      table.AddRow(
          {side, direction, Number(masked["largest_weight_on_pads"]),
           Number(masked["difference_from_the_sequence_alone"]),
           Number(measured["without"]["difference_from_the_sequence_alone"]),
           Number(masked["rows_that_see_no_key"])});
    }
  }
  PrintTable("The short sequence, padded, against the same sequence alone:",
             table);

  Table loss({"pad targets", "positions counted", "gradient on pad logits",
              "loss changes with pad outputs by"});
  for (const char* pads : {"pads_ignored", "pads_counted"}) {
    const Json& measured = results["loss"][pads];
    loss.AddRow({std::string(pads) == "pads_ignored" ? "ignored" : "counted",
                 Number(measured["positions_counted"]),
                 Number(measured["largest_gradient_on_pad_logits"]),
                 Number(measured["change_when_pad_outputs_change"])});
  }
  PrintTable(
      "Pad queries have outputs too; only ignoring their targets keeps "
      "them out of the loss:",
      loss);
}

void PrintBlindRows(const Json& results) {
  const Json& rows = results["fully_masked"];
  Table table({"a row that sees no key", "NaN positions, by layer",
               "of them tokens", "row output, largest entry",
               "off the average of all values by"});
  const std::vector<std::pair<const char*, const char*>> names = {
      {"by_hand", "by hand: 0 / 0"},
      {"zero", "rule: zeros"},
      {"lowest_finite", "lowest finite number added"},
      {"remedy_pads_see_themselves", "remedy: pads see themselves"},
      {"remedy_rows_set_to_zero", "remedy: rows set to 0"}};
  for (const auto& [member, name] : names) {
    const Json& run = rows[member];
    table.AddRow({name, run["nan_positions_by_layer"].dump(),
                  run["nan_tokens_by_layer"].dump(),
                  Number(run["row_largest_magnitude"]),
                  Number(run["row_against_average_of_all_values"])});
  }
  PrintTable(
      "Left padding under a causal mask leaves rows that see no key; "
      "three answers and two remedies:",
      table);

  Table added({"masks of the lowest finite number", "scores at -inf",
               "weights of the first pad row"});
  const std::vector<std::pair<const char*, const char*>> sums = {
      {"one_combined_mask", "causal and padding as one mask"},
      {"causal_plus_padding", "causal mask plus padding mask"},
      {"combined_mask_added_twice", "the combined mask added twice"}};
  for (const auto& [member, name] : sums) {
    const Json& measured = results["added_masks"][member];
    added.AddRow({name, Number(measured["row_scores_at_minus_infinity"]),
                  List(measured["row_weights"])});
  }
  PrintTable(
      "Twice the lowest finite number is -inf, so that added masks are "
      "not the combined mask:",
      added);

  Table safety({"largest score", "float64 plain", "float64 stable",
                "float32 plain", "float32 stable"});
  const Json& wide = results["safety"]["float64"]["scores"];
  const Json& narrow = results["safety"]["float32"]["scores"];
  for (size_t n = 0; n < wide.size(); ++n) {
    safety.AddRow({Number(wide[n]["score"]),
                   Number(wide[n]["weights_not_finite_without"]),
                   Number(wide[n]["weights_not_finite_with"]),
                   Number(narrow[n]["weights_not_finite_without"]),
                   Number(narrow[n]["weights_not_finite_with"])});
  }
  PrintTable(
      absl::StrCat(
          "Weights of four keys that are not finite, without (plain) and with "
          "(stable) the\nlargest score subtracted; exp overflows beyond ",
          Fixed(results["safety"]["float64"]
                       ["largest_score_with_finite_exponential"]
                           .get<double>(),
                3),
          " (float64), ",
          Fixed(results["safety"]["float32"]
                       ["largest_score_with_finite_exponential"]
                           .get<double>(),
                3),
          " (float32):")
          .c_str(),
      safety);
}

void Print(const ExperimentRun<Json>& run) {
  PrintShapes(run.results["shapes"]);
  PrintCausal(run.results);
  PrintForms(run.results);
  PrintPadding(run.results);
  PrintBlindRows(run.results);
}

}  // namespace
}  // namespace softlookup

int main(int argc, char** argv) {
  return softlookup::ExperimentMain<softlookup::Json>(
      argc, argv,
      {.name = "masking",
       .question = "Which keys may a query see, and what happens at the edges?",
       .run = softlookup::Run,
       .print = softlookup::Print});
}
