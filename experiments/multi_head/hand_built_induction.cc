#include "experiments/multi_head/hand_built_induction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/tensor.h"
#include "interpretability/hand_built_model.h"

namespace softlookup {
namespace {

constexpr int64_t kVocabulary = 16;
constexpr int64_t kPositions = 16;
constexpr StreamLayout kStream = {.vocabulary = kVocabulary,
                                  .positions = kPositions};

const std::vector<std::string>& Words() {
  static const auto& words = *new std::vector<std::string>{
      "<start>", "P-104", "pump",   "feeds", "tank",  "T-7", "then", "valve",
      "V-12",    "opens", "closes", "check", "level", "of",  "and",  "stop"};
  return words;
}

// "<start> P-104 pump feeds tank T-7 then check P-104"
const std::vector<int64_t>& Sentence() {
  static const auto& tokens =
      *new std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 11, 1};
  return tokens;
}
constexpr int64_t kRepeated = 1;    // P-104
constexpr int64_t kFollower = 2;    // pump
constexpr int64_t kFollowerAt = 2;  // its position in the sentence

// The ways to build the circuit, intact first.
struct Variant {
  std::string name;
  HandBuiltModel model;
  int64_t induction_layer;  // where the induction head sits, as head
  int64_t induction_head;   // number induction_head
};

std::vector<Variant> BuildVariants(double match_score) {
  const HandBuiltHead previous = PreviousTokenHead(kStream, match_score);
  const HandBuiltHead induction = InductionHead(kStream, match_score);
  const auto two_layers = [](const HandBuiltHead& first,
                             const HandBuiltHead& second) {
    HandBuiltModel model(kStream, /*layers=*/2, /*heads=*/1);
    model.SetHead(0, 0, first);
    model.SetHead(1, 0, second);
    return model;
  };
  std::vector<Variant> variants;
  variants.push_back({"intact", two_layers(previous, induction), 1, 0});
  variants.push_back(
      {"without_previous_token_head", two_layers(previous, induction), 1, 0});
  variants.back().model.Ablate(0, 0);
  variants.push_back(
      {"without_induction_head", two_layers(previous, induction), 1, 0});
  variants.back().model.Ablate(1, 0);
  HandBuiltModel one_layer(kStream, /*layers=*/1, /*heads=*/2);
  one_layer.SetHead(0, 0, previous);
  one_layer.SetHead(0, 1, induction);
  variants.push_back({"both_in_one_layer", std::move(one_layer), 0, 1});
  variants.push_back(
      {"in_the_wrong_order", two_layers(induction, previous), 0, 0});
  // The previous token goes where the token itself is.
  HandBuiltHead crowding = previous;
  crowding.output = kStream.token();
  HandBuiltHead reading = induction;
  reading.key = kStream.token();
  variants.push_back(
      {"writes_share_a_subspace", two_layers(crowding, reading), 1, 0});
  return variants;
}

// [rows, columns] of a [H, rows, columns] tensor, as nested lists.
Json HeadPattern(const Tensor<double>& patterns, int64_t head) {
  Json rows = Json::array();
  for (int64_t i = 0; i < patterns.dim(1); ++i) {
    Json row = Json::array();
    for (int64_t j = 0; j < patterns.dim(2); ++j) {
      row.push_back(patterns(head, i, j));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// The token of the largest entry of row t of a [T, V] matrix; -1 for a tie.
int64_t LargestToken(const Tensor<double>& rows, int64_t t) {
  int64_t best = 0;
  bool tie = false;
  for (int64_t v = 1; v < rows.dim(1); ++v) {
    if (rows(t, v) == rows(t, best)) tie = true;
    if (rows(t, v) > rows(t, best)) {
      best = v;
      tie = false;
    }
  }
  return tie ? -1 : best;
}

Tensor<double> Part(const Tensor<double>& stream, const Subspace& subspace) {
  return Copy(
      stream.view().Slice(1, subspace.begin, subspace.begin + subspace.size));
}

// A sequence of kPositions tokens: <start>, then drawn tokens, of which one,
// A, comes back at the very end. Returns the token after its first place.
int64_t DrawRepetition(RandomStream& stream, std::vector<int64_t>& tokens) {
  const auto draw_other_than = [&stream](int64_t token) {
    for (;;) {
      const int64_t drawn = 1 + stream.UniformInt(kVocabulary - 1);
      if (drawn != token) return drawn;
    }
  };
  const int64_t repeated = draw_other_than(0);
  tokens.assign(kPositions, 0);
  for (int64_t t = 1; t < kPositions; ++t) {
    tokens[t] = draw_other_than(repeated);
  }
  // From position 1, with at least one token between the two places.
  const int64_t first = 1 + stream.UniformInt(kPositions - 3);
  tokens[first] = tokens[kPositions - 1] = repeated;
  return tokens[first + 1];
}

// A score interval for a share of successes (Wilson 1927), 4 standard errors
// wide to either side.
Json ShareInterval(int64_t successes, int64_t trials) {
  constexpr double kMultiple = 4;
  const double n = static_cast<double>(trials);
  const double p = static_cast<double>(successes) / n;
  const double z2 = kMultiple * kMultiple;
  const double centre = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double reach =
      kMultiple * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  return {std::max(0.0, std::min(p, centre - reach)),
          std::min(1.0, std::max(p, centre + reach))};
}

struct Score {
  int64_t completed = 0;
  double smallest_margin = std::numeric_limits<double>::infinity();

  void Add(double margin) {
    completed += margin > 0;
    smallest_margin = std::min(smallest_margin, margin);
  }
  Json ToJson(int64_t trials) const {
    return {{"completed", completed},
            {"share_completed",
             static_cast<double>(completed) / static_cast<double>(trials)},
            {"share_interval", ShareInterval(completed, trials)},
            {"smallest_margin", smallest_margin}};
  }
};

absl::StatusOr<Json> MeasureSentence(const Variant& variant) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HandBuiltRun run,
                              variant.model.Run(Sentence()));
  const int64_t last = static_cast<int64_t>(Sentence().size()) - 1;
  const Tensor<double>& before = run.streams[variant.induction_layer];
  const int64_t predicted = LargestToken(run.logits, last);
  // The key of the induction head at the follower's position, matched with
  // the query that looks for the repeated token.
  const auto key_block = variant.model.layer(variant.induction_layer)
                             .KeyBlock(variant.induction_head);
  double key = 0;
  for (int64_t c = 0; c < before.dim(1); ++c) {
    key += before(kFollowerAt, c) * key_block(c, kRepeated);
  }
  Json measured;
  measured["predicted"] = predicted < 0 ? "(tie)" : Words()[predicted];
  measured["margin"] = LastLogitMargin(run, kFollower);
  measured["logit_before"] =
      run.streams.front()(last, kStream.next().begin + kFollower);
  measured["logit_after"] = run.logits(last, kFollower);
  measured["attention_to_follower"] = run.patterns[variant.induction_layer](
      variant.induction_head, last, kFollowerAt);
  measured["key_for_repeated_token_at_follower"] = key;
  return measured;
}

// What the previous-token head does at every position of a run.
Json MeasurePreviousToken(const HandBuiltRun& run,
                          absl::Span<const int64_t> tokens) {
  const Tensor<double> previous = Part(run.streams[1], kStream.previous());
  double smallest = 1;
  int64_t named = 0;
  const int64_t positions = static_cast<int64_t>(tokens.size());
  for (int64_t t = 1; t < positions; ++t) {
    smallest = std::min(smallest, run.patterns[0](0, t, t - 1));
    named += LargestToken(previous, t) == tokens[t - 1];
  }
  return {{"positions_with_a_previous_token", positions - 1},
          {"smallest_weight_on_previous_position", smallest},
          {"positions_that_name_their_previous_token", named}};
}

}  // namespace

absl::StatusOr<Json> MeasureIndependence(uint64_t seed, double match_score) {
  const HandBuiltHead base = PreviousTokenHead(kStream, match_score);
  HandBuiltHead other_ov = base;
  other_ov.writes_as = [](int64_t v) { return (v + 1) % kVocabulary; };
  HandBuiltHead other_qk = base;
  other_qk.looks_for = [](int64_t t) { return t / 2; };
  // Chooses by token instead: looks for its own token's neighbour.
  HandBuiltHead by_token = base;
  by_token.query = by_token.key = kStream.token();
  by_token.looks_for = [](int64_t v) { return (v + 1) % kVocabulary; };
  const auto run = [](const HandBuiltHead& head,
                      const std::vector<int64_t>& tokens) {
    HandBuiltModel model(kStream, /*layers=*/1, /*heads=*/1);
    model.SetHead(0, 0, head);
    return model.Run(tokens);
  };
  RandomStream stream(seed, "independence");
  std::vector<int64_t> tokens(kPositions);
  std::vector<int64_t> other_tokens(kPositions);
  for (int64_t t = 0; t < kPositions; ++t) {
    tokens[t] = stream.UniformInt(kVocabulary);
    other_tokens[t] =
        (tokens[t] + 1 + stream.UniformInt(kVocabulary - 1)) % kVocabulary;
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HandBuiltRun plain, run(base, tokens));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HandBuiltRun ov, run(other_ov, tokens));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HandBuiltRun qk, run(other_qk, tokens));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HandBuiltRun changed,
                              run(base, other_tokens));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HandBuiltRun token, run(by_token, tokens));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HandBuiltRun token_changed,
                              run(by_token, other_tokens));
  // Positions at which the token written is the one most attended to.
  const auto copies = [&tokens](const HandBuiltRun& of) {
    const Tensor<double> written = Part(of.streams[1], kStream.previous());
    int64_t count = 0;
    for (int64_t t = 0; t < kPositions; ++t) {
      int64_t attended = 0;
      for (int64_t s = 1; s <= t; ++s) {
        if (of.patterns[0](0, t, s) > of.patterns[0](0, t, attended)) {
          attended = s;
        }
      }
      count += LargestToken(written, t) == tokens[attended];
    }
    return count;
  };
  Json result;
  result["positions"] = kPositions;
  result["ov_exchanged"] = {
      {"pattern_change", LargestDifference(ov.patterns[0], plain.patterns[0])},
      {"write_change", LargestDifference(ov.writes[0], plain.writes[0])},
      {"positions_that_copy", copies(ov)}};
  result["qk_exchanged"] = {
      {"pattern_change", LargestDifference(qk.patterns[0], plain.patterns[0])},
      {"write_change", LargestDifference(qk.writes[0], plain.writes[0])},
      {"positions_that_copy", copies(qk)}};
  result["plain"] = {{"positions_that_copy", copies(plain)}};
  result["tokens_exchanged"] = {
      {"pattern_change",
       LargestDifference(changed.patterns[0], plain.patterns[0])},
      {"write_change", LargestDifference(changed.writes[0], plain.writes[0])},
      {"pattern_change_of_a_head_that_chooses_by_token",
       LargestDifference(token_changed.patterns[0], token.patterns[0])}};
  return result;
}

absl::StatusOr<Json> MeasureInduction(uint64_t seed, double match_score,
                                      int64_t sequences) {
  const std::vector<Variant> variants = BuildVariants(match_score);
  Json result;
  Json words = Json::array();
  for (const int64_t token : Sentence()) words.push_back(Words()[token]);
  result["sentence"] = std::move(words);
  result["stream"] = {{"width", kStream.width()},
                      {"vocabulary", kVocabulary},
                      {"positions", kPositions}};
  for (const Variant& variant : variants) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(result["variants"][variant.name],
                                MeasureSentence(variant));
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HandBuiltRun intact,
                              variants.front().model.Run(Sentence()));
  result["patterns"] = {
      {"previous_token_head", HeadPattern(intact.patterns[0], 0)},
      {"induction_head", HeadPattern(intact.patterns[1], 0)}};
  result["previous_token_head"] = MeasurePreviousToken(intact, Sentence());
  // The same head with every score 0 instead.
  HandBuiltModel indifferent(kStream, /*layers=*/1, /*heads=*/1);
  indifferent.SetHead(0, 0, PreviousTokenHead(kStream, 0));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HandBuiltRun uniform,
                              indifferent.Run(Sentence()));
  result["previous_token_head"]["without_scores"] =
      MeasurePreviousToken(uniform, Sentence());

  // Drawn sequences.
  RandomStream stream(seed, "repetitions");
  std::vector<Score> scores(variants.size());
  HandBuiltHead copying = PreviousTokenHead(kStream, match_score);
  copying.output = kStream.next();
  HandBuiltModel copier(kStream, /*layers=*/1, /*heads=*/1);
  copier.SetHead(0, 0, copying);
  HandBuiltModel silent = copier;
  silent.Ablate(0, 0);
  Score copies;
  Score copies_ablated;
  std::vector<int64_t> tokens;
  for (int64_t n = 0; n < sequences; ++n) {
    const int64_t follower = DrawRepetition(stream, tokens);
    for (size_t v = 0; v < variants.size(); ++v) {
      SOFTLOOKUP_ASSIGN_OR_RETURN(const HandBuiltRun run,
                                  variants[v].model.Run(tokens));
      scores[v].Add(LastLogitMargin(run, follower));
    }
    // One layer that copies the token before the last.
    const int64_t before_last = tokens[kPositions - 2];
    SOFTLOOKUP_ASSIGN_OR_RETURN(const HandBuiltRun copied, copier.Run(tokens));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const HandBuiltRun none, silent.Run(tokens));
    copies.Add(LastLogitMargin(copied, before_last));
    copies_ablated.Add(LastLogitMargin(none, before_last));
  }
  result["drawn"]["sequences"] = sequences;
  for (size_t v = 0; v < variants.size(); ++v) {
    result["drawn"]["variants"][variants[v].name] = scores[v].ToJson(sequences);
  }
  result["drawn"]["one_layer_copy"] = copies.ToJson(sequences);
  result["drawn"]["one_layer_copy_ablated"] = copies_ablated.ToJson(sequences);
  return result;
}

}  // namespace softlookup
