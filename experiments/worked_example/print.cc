#include "experiments/worked_example/print.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/table.h"
#include "experiments/frame/json_text.h"

namespace softlookup {
namespace {

constexpr int kTokens = 3;

std::string Number(const Json& number) { return NumberText(number); }

// One cell per column, "-" where a score is masked.
std::string Visible(const Json& number, const Json& score) {
  return NumberText(score) == "-inf" ? "-" : NumberText(number);
}

void Line(std::string& out, const std::vector<std::string>& pieces) {
  absl::StrAppend(&out, absl::StrJoin(pieces, ""), "\n");
}

void Heading(std::string& out, const std::string& text) {
  Line(out, {"\n", text, "\n", std::string(text.size(), '=')});
}

void DescribeInputs(const Json& results, std::string& out) {
  const Json& inputs = results["inputs"];
  Line(out, {"Three tokens; queries, keys and values of width 2."});
  Table table({"token", "query q", "key k", "value v"});
  for (int i = 0; i < kTokens; ++i) {
    table.AddRow({absl::StrCat(i + 1), TupleText(inputs["queries"][i], 0),
                  TupleText(inputs["keys"][i], 0),
                  TupleText(inputs["values"][i], 0)});
  }
  out += table.ToString();
}

void DescribeScores(const Json& results, std::string& out) {
  const Json& scores = results["scores"];
  Heading(out, "Scores");
  Line(out, {"Each query times each key, then divided by sqrt(2) = ",
             Number(scores["root_of_width"]), ":"});
  Table table({"", "q.k1", "q.k2", "q.k3", "scaled 1", "scaled 2", "scaled 3"});
  for (int i = 0; i < kTokens; ++i) {
    std::vector<std::string> row = {absl::StrCat("query ", i + 1)};
    for (const Json& score : scores["raw"][i]) {
      row.push_back(NumberText(score));
    }
    for (const Json& score : scores["scaled"][i]) row.push_back(Number(score));
    table.AddRow(row);
  }
  out += table.ToString();
  Line(out,
       {"\nDifferent scaled scores: ", Number(scores["distinct_scaled_count"]),
        ", so that many exponentials serve every scaled case:"});
  Table exponentials({"score s", "e^s"});
  for (size_t n = 0; n < scores["distinct_scaled"].size(); ++n) {
    exponentials.AddRow({Number(scores["distinct_scaled"][n]),
                         Number(scores["exponentials_of_distinct_scaled"][n])});
  }
  out += exponentials.ToString();
  Line(out, {"Counting the unscaled scores too there are ",
             Number(scores["distinct_scaled_or_unscaled_count"]), "."});
}

void DescribeCase(const Json& board, const std::string& title,
                  const std::string& remark, std::string& out) {
  Heading(out, title);
  Table scores({"row", "sees", "score 1", "score 2", "score 3", "e^1", "e^2",
                "e^3", "sum"});
  Table weights({"row", "weight 1", "weight 2", "weight 3", "entropy",
                 "output = sum of weight x value"});
  for (int i = 0; i < kTokens; ++i) {
    std::vector<std::string> row = {absl::StrCat(i + 1),
                                    Number(board["visible_keys"][i])};
    for (int j = 0; j < kTokens; ++j) {
      row.push_back(Number(board["scores"][i][j]));
    }
    for (int j = 0; j < kTokens; ++j) {
      row.push_back(
          Visible(board["exponentials"][i][j], board["scores"][i][j]));
    }
    row.push_back(Number(board["row_sums"][i]));
    scores.AddRow(row);
    std::vector<std::string> weight_row = {absl::StrCat(i + 1)};
    for (int j = 0; j < kTokens; ++j) {
      weight_row.push_back(Number(board["weights"][i][j]));
    }
    weight_row.push_back(Number(board["entropies"][i]));
    weight_row.push_back(TupleText(board["outputs"][i]));
    weights.AddRow(weight_row);
  }
  out += scores.ToString();
  Line(out, {"\nWeight = exponential / sum of its row:"});
  out += weights.ToString();
  if (!remark.empty()) Line(out, {remark});
}

// Row 2 of a case, written out: two keys under the mask, three without.
std::string WriteOutRow2(const Json& board) {
  std::vector<std::string> quotients;
  std::vector<std::string> terms;
  for (int j = 0; j < board["visible_keys"][1].get<int>(); ++j) {
    quotients.push_back(absl::StrCat(Number(board["exponentials"][1][j]), " / ",
                                     Number(board["row_sums"][1]), " = ",
                                     Number(board["weights"][1][j])));
    terms.push_back(absl::StrCat(Number(board["weights"][1][j]), " v", j + 1));
  }
  return absl::StrCat("Row 2 written out: ", absl::StrJoin(quotients, ", "),
                      "; ", absl::StrJoin(terms, " + "), " = ",
                      TupleText(board["outputs"][1]), ".");
}

void DescribeCases(const Json& results, std::string& out) {
  const Json& cases = results["cases"];
  DescribeCase(
      cases["causal_scaled"], "With the causal mask, scaled",
      absl::StrCat(WriteOutRow2(cases["causal_scaled"]),
                   "\nRow i sees keys 1 to i; a masked key has weight exactly "
                   "0. Token 1 can only copy its value."),
      out);
  DescribeCase(
      cases["unmasked_scaled"], "Without the mask, scaled",
      absl::StrCat(WriteOutRow2(cases["unmasked_scaled"]),
                   "\nRow 3 is unchanged: the mask had nothing to take from "
                   "it."),
      out);
  DescribeCase(cases["causal_unscaled"], "With the causal mask, unscaled", "",
               out);
  DescribeCase(cases["unmasked_unscaled"], "Without the mask, unscaled", "",
               out);
}

void DescribeComparisons(const Json& results, std::string& out) {
  const Json& mirror = results["mirror"];
  const Json& masking = results["masking"];
  const Json& scaling = results["scaling"];
  Heading(out, "What the mask changes (scaled)");
  Table mask({"row", "largest change of a weight", "move of the output"});
  for (int i = 0; i < kTokens; ++i) {
    mask.AddRow({absl::StrCat(i + 1),
                 Number(masking["weight_change_by_row"][i]),
                 Number(masking["output_change_by_row"][i])});
  }
  out += mask.ToString();

  Heading(out, "Do rows 1 and 2 mirror each other? (unmasked, scaled)");
  Table mirrored({"products", "row 1", "row 2 swapped", "weight of row 1",
                  "of row 2 swapped"});
  const char* const pairs[] = {"q1.k1 and q2.k2", "q1.k2 and q2.k1",
                               "q1.k3 and q2.k3"};
  for (int j = 0; j < kTokens; ++j) {
    mirrored.AddRow({pairs[j], Number(mirror["row_1_products"][j]),
                     Number(mirror["row_2_products_swapped"][j]),
                     Number(mirror["row_1_weights"][j]),
                     Number(mirror["row_2_weights_swapped"][j])});
  }
  out += mirrored.ToString();
  Line(out, {"Without the swap the weights differ by up to ",
             Number(mirror["largest_weight_difference_without_swap"]), "."});
  Line(out, {"The outputs lie ", Number(mirror["output_distance"]),
             " apart, because v1 and v2 differ; with v2 = v1 they would lie ",
             Number(mirror["output_distance_with_equal_values"]), " apart."});

  Heading(out, "What the scale changes (row 3, causal)");
  const Json& last = scaling["last_row"];
  Table scale({"row 3", "scaled", "unscaled"});
  scale.AddRow({"score of key 3 above keys 1 and 2",
                TupleText(scaling["last_row_lead_scaled"]),
                TupleText(scaling["last_row_lead_unscaled"])});
  scale.AddRow({"weight of key 3", Number(last["weight_scaled"]),
                Number(last["weight_unscaled"])});
  scale.AddRow({"entropy, nats", Number(last["entropy_scaled"]),
                Number(last["entropy_unscaled"])});
  scale.AddRow({"output",
                TupleText(results["cases"]["causal_scaled"]["outputs"][2]),
                TupleText(results["cases"]["causal_unscaled"]["outputs"][2])});
  scale.AddRow({"its distance from v3",
                Number(last["distance_to_best_value_scaled"]),
                Number(last["distance_to_best_value_unscaled"])});
  out += scale.ToString();
  const Json& spread = results["score_spread"];
  Line(out, {"\nUnscaled scores of drawn queries and keys (standard "
             "deviation, standard error):"});
  Table widths({"width", "standard deviation", "standard error"});
  for (const char* which : {"narrow", "wide"}) {
    widths.AddRow({Number(spread[which]["width"]),
                   Number(spread[which]["standard_deviation"]),
                   Number(spread[which]["standard_error"])});
  }
  out += widths.ToString();
  Line(out, {"Ratio ", Number(spread["wide_over_narrow"]["ratio"]), " +- ",
             Number(spread["wide_over_narrow"]["standard_error"]), "."});
}

void DescribeGeometry(const Json& results, std::string& out) {
  const Json& geometry = results["geometry"];
  const Json& second = geometry["output_2"];
  const Json& third = geometry["output_3"];
  Heading(out, "Geometry: outputs among the values (causal, scaled)");
  Line(out,
       {"o1 = ", TupleText(geometry["output_1"]["point"]), " lies at distance ",
        Number(geometry["output_1"]["distance_from_value_1"]), " from v1."});
  Line(out, {"o2 = ", TupleText(second["point"]), " = ",
             Number(second["weight_1"]), " v1 + ", Number(second["weight_2"]),
             " v2 lies ", Number(second["position_from_1_to_2"]),
             " of the way from v1 to v2 (unscaled: ",
             Number(second["position_without_scale"]), "), ",
             Number(second["distance_from_line"]), " off the line."});
  Line(out, {"o3 = ", TupleText(third["point"]),
             " has barycentric coordinates ", TupleText(third["coordinates"]),
             ", its weights: inside the triangle."});
  Line(out, {"   Its distances from v1, v2, v3 are ",
             TupleText(third["distances"]), ": nearest is v",
             Number(third["nearest_value"]), ". (The plain average ",
             TupleText(third["plain_average"]["point"]), " is nearest to v",
             Number(third["plain_average"]["nearest_value"]), ".)"});
  Line(out,
       {"   As far beyond v3 as o3 lies before it, at ",
        TupleText(third["beyond_value_3"]["point"]), ", a coordinate is ",
        Number(third["beyond_value_3"]["smallest_coordinate"]), ": outside."});
  const Json& hull = geometry["hull"];
  Line(out, {"\nCan it be left? ", Number(hull["draws"]),
             " drawn queries and keys on the same values:"});
  Table table({"mixing by", "outside the triangle", "smallest coordinate",
               "longest, of the longest value"});
  const std::pair<const char*, const char*> rows[] = {
      {"attention", "attention"},
      {"scores without softmax", "scores_without_softmax"},
      {"attention, then a feed-forward network", "feed_forward"}};
  for (const auto& [title, name] : rows) {
    table.AddRow({title, Number(hull[name]["outside"]),
                  Number(hull[name]["smallest_coordinate"]),
                  Number(hull[name]["largest_length"])});
  }
  out += table.ToString();
  const Json& direction = geometry["new_direction"];
  Line(out,
       {"Values in a plane of three dimensions: attention leaves it by ",
        Number(direction["attention_largest"]), " of its length at most,"});
  Line(out, {"a feed-forward network by ",
             Number(direction["feed_forward_median"]), " in the median."});
  const Json& own = geometry["own_vector"];
  Line(out, {"Of a change in a token's own vector its output shows at least ",
             Number(own["smallest_share_attention_alone"])});
  Line(out, {"through attention alone, and at least ",
             Number(own["smallest_share_with_residual"]),
             " with the residual path."});
  const Json& first = geometry["first_token"];
  Line(out, {"Token 1 under the mask, ", Number(first["draws"]),
             " drawn queries and keys: its output is v1 within ",
             Number(first["largest_distance_from_value_1"])});
  Line(out, {"(without the mask it moves by up to ",
             Number(first["largest_distance_without_mask"]), ")."});
}

void DescribeBackward(const Json& results, std::string& out) {
  const Json& backward = results["backward"];
  const int row = backward["loss"]["token"].get<int>() - 1;
  const std::string token = absl::StrCat(row + 1);
  Heading(out,
          absl::StrCat("Backward by hand: L = o_", token, ",",
                       Number(backward["loss"]["component"]), " = ",
                       Number(backward["loss"]["value"]), " (causal, scaled)"));
  Line(out, {"dL/dO is 0 but for a 1 at (", token, ", ",
             Number(backward["loss"]["component"]), "), so only row ", token,
             " has gradients."});
  Line(out, {"\nRow ", token,
             ", with g_j = dL/do . v_j and mean = sum of "
             "p_j g_j = ",
             Number(backward["mean_weight_gradients"][row]), ":"});
  const std::string nudge_size = NumberText(backward["nudges"]["size"], 1);
  Table scores({"key", "p", "g", "g - mean", "dS = p (g - mean)",
                absl::StrCat("score + ", nudge_size, ": L changes by")});
  const Json& nudges = backward["nudges"]["scores"];
  for (int j = 0; j <= row; ++j) {
    scores.AddRow({absl::StrCat(j + 1),
                   Number(results["cases"]["causal_scaled"]["weights"][row][j]),
                   Number(backward["weight_gradients"][row][j]),
                   Number(backward["row"]["above_mean"][j]),
                   NumberText(backward["score_gradients"][row][j], 4),
                   NumberText(nudges[j]["loss_change"], 4)});
  }
  out += scores.ToString();
  Line(out, {"\nThe query gets dq = (sum of dS_j k_j) / sqrt(2):"});
  Table pulls(
      {"component", "from key 1", "from key 2", "from key 3", "sum / sqrt(2)"});
  for (int c = 0; c < 2; ++c) {
    std::vector<std::string> cells = {absl::StrCat(c + 1)};
    for (const Json& pull : backward["query_pulls"][c]) {
      cells.push_back(NumberText(pull, 4));
    }
    cells.push_back(NumberText(backward["query_gradients"][row][c], 4));
    pulls.AddRow(cells);
  }
  out += pulls.ToString();
  Line(out,
       {"\nWhat raising a component of the query by ", nudge_size, " does:"});
  Table components(
      {"component", "scores change by", "weights change by", "L changes by"});
  for (int c = 0; c < 2; ++c) {
    const Json& nudge = backward["nudges"]["query_components"][c];
    components.AddRow({absl::StrCat(c + 1), TupleText(nudge["score_changes"]),
                       TupleText(nudge["weight_changes"]),
                       NumberText(nudge["loss_change"], 4)});
  }
  out += components.ToString();
  Line(out, {"\nAll gradients (dK_j = dS_j q / sqrt(2), dV_j = p_j dL/do):"});
  Table all({"token", "dS 1", "dS 2", "dS 3", "dQ 1", "dQ 2", "dK 1", "dK 2",
             "dV 1", "dV 2"});
  for (int i = 0; i < kTokens; ++i) {
    std::vector<std::string> cells = {absl::StrCat(i + 1)};
    for (const char* name : {"score_gradients", "query_gradients",
                             "key_gradients", "value_gradients"}) {
      for (const Json& number : backward[name][i]) {
        cells.push_back(Number(number));
      }
    }
    all.AddRow(cells);
  }
  out += all.ToString();

  const Json& deviations = backward["deviations"];
  Line(out, {"\nThe largest difference of the hand values from:"});
  Table confirmations({"", "g", "dS", "dQ", "dK", "dV"});
  const auto add = [&](const std::string& title, const Json& member) {
    std::vector<std::string> cells = {title};
    for (const char* name : {"weights", "scores", "query", "key", "value"}) {
      cells.push_back(member.contains(name) ? NumberText(member[name], 2) : "");
    }
    confirmations.AddRow(cells);
  };
  add("the reference implementation", deviations["reference"]);
  add("complex step", deviations["complex_step"]);
  add("central difference", deviations["central_difference"]);
  if (deviations["pytorch"].is_object()) {
    add(absl::StrCat("PyTorch ",
                     deviations["pytorch"]["version"].get<std::string>(),
                     ", autograd"),
        deviations["pytorch"]["gradients"]);
  }
  out += confirmations.ToString();
  if (deviations["pytorch"].is_null()) {
    Line(out, {"(PyTorch's values are for the published example only.)"});
  } else {
    std::vector<std::string> forward;
    for (const Json& difference : deviations["pytorch"]["forward"]) {
      forward.push_back(NumberText(difference, 2));
    }
    Line(out, {"PyTorch's weights and outputs in the four cases differ by at "
               "most ",
               absl::StrJoin(forward, ", "), "."});
  }
  const Json& masked = backward["masked_entries"];
  Line(out, {"With L summed over all rows, the largest dS at a masked entry "
             "is ",
             Number(masked["causal"]["largest_above_diagonal"]),
             "; without the mask"});
  Line(out, {"the same entries get ",
             Number(masked["unmasked"]["smallest_above_diagonal"]), " to ",
             Number(masked["unmasked"]["largest_above_diagonal"]), "."});
}

void DescribeRules(const Json& results, std::string& out) {
  const Json& rule = results["row_rule"];
  Heading(out, absl::StrCat("The row rule dS = p (g - mean) on ",
                            Number(rule["rows"]), " drawn rows, ",
                            Number(rule["keys"]), " keys"));
  Table table({"", "deviation, of the largest g"});
  table.AddRow({"g against the complex step in the weights",
                NumberText(rule["weight_gradient_deviation"], 2)});
  table.AddRow({"mean of g against the step along the mixture",
                NumberText(rule["mean_deviation"], 2)});
  table.AddRow({"rule against the Jacobian times g",
                NumberText(rule["rule_from_jacobian"], 2)});
  table.AddRow({"rule against the complex step in the scores",
                NumberText(rule["rule_from_complex_step"], 2)});
  table.AddRow({"p g without the mean (must fail)",
                NumberText(rule["without_mean_from_complex_step"], 2)});
  out += table.ToString();
  Line(out, {"Scores that move against the sign of g - mean: ",
             Number(rule["moves_against_g_minus_mean"]),
             "; against the sign of g alone: ",
             Number(rule["moves_against_g_alone"]), "."});
  Line(out, {"Largest gradient of a score, of the range of g: ",
             Number(rule["largest_move_of_any_weight"]),
             "; where the weight is below ",
             NumberText(rule["small_weight_limit"], 2), ": ",
             NumberText(rule["largest_move_of_small_weight"], 4), "."});

  const Json& projections = results["projections"];
  const Json& formulas = projections["formulas"];
  const Json& roles = projections["roles"];
  Heading(out, absl::StrCat("Three projections, ", Number(projections["draws"]),
                            " drawn"));
  Table shapes({"X", "Q", "K", "V", "P", "O"});
  std::vector<std::string> cells;
  for (const char* name :
       {"tokens", "queries", "keys", "values", "weights", "outputs"}) {
    cells.push_back(TupleText(projections["shapes"][name]));
  }
  shapes.AddRow(cells);
  out += shapes.ToString();
  Line(out,
       {"Row sums of P are 1 within ", Number(formulas["row_sum_from_1"]),
        "; the smallest weight is ", Number(formulas["smallest_weight"]), "."});
  Table role({"what changes", "mean", "smallest", "largest"});
  const std::pair<const char*, const char*> effects[] = {
      {"score (i, j) against (j, i)", "asymmetry_of_scores"},
      {"the same with W_K = W_Q", "asymmetry_with_one_matrix"},
      {"weights, by another W_K", "weight_change_by_key_matrix"},
      {"weights, by another W_V", "weight_change_by_value_matrix"},
      {"outputs, by another W_V", "output_change_by_value_matrix"}};
  for (const auto& [title, name] : effects) {
    role.AddRow({title, Number(roles[name]["mean"]),
                 Number(roles[name]["range"][0]),
                 Number(roles[name]["range"][1])});
  }
  out += role.ToString();
}

}  // namespace

std::string DescribeWorkedExample(const Json& results) {
  std::string out;
  DescribeInputs(results, out);
  DescribeScores(results, out);
  DescribeCases(results, out);
  DescribeComparisons(results, out);
  DescribeGeometry(results, out);
  DescribeBackward(results, out);
  DescribeRules(results, out);
  return out;
}

}  // namespace softlookup
