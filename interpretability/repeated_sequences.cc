#include "interpretability/repeated_sequences.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/check.h"

namespace softlookup {
namespace {

RepeatedSequences Empty(const RepeatOptions& options) {
  RepeatedSequences drawn;
  drawn.tokens = Tensor<int32_t>({options.batch, options.positions});
  drawn.targets.resize(drawn.tokens.size());
  drawn.predictable.resize(drawn.tokens.size());
  drawn.periods.resize(options.batch);
  return drawn;
}

}  // namespace

absl::Status CheckRepeats(const RepeatOptions& options) {
  for (const auto& [name, size] :
       {std::pair("batch", options.batch),
        std::pair("positions", options.positions),
        std::pair("vocabulary", options.vocabulary),
        std::pair("min_period", options.min_period)}) {
    constexpr int64_t kMost = int64_t{1} << 24;
    if (size < 1 || size > kMost) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is ", size, "; allowed: 1 to ", kMost));
    }
  }
  if (options.max_period < options.min_period) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_period is ", options.max_period,
        "; allowed: min_period = ", options.min_period, " or more"));
  }
  if (options.max_period > options.positions / 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_period is ", options.max_period, "; allowed: up to half of the ",
        options.positions, " positions, so that a block comes twice"));
  }
  if (!options.replacement && options.max_period > options.vocabulary) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_period is ", options.max_period,
                     " without replacement; allowed: up to the vocabulary of ",
                     options.vocabulary));
  }
  return absl::OkStatus();
}

RepeatedSequences DrawRepeats(RandomStream& stream,
                              const RepeatOptions& options) {
  SOFTLOOKUP_CHECK(CheckRepeats(options).ok(), "valid options");
  RepeatedSequences drawn = Empty(options);
  std::vector<int32_t> block(options.vocabulary);
  for (int64_t b = 0; b < options.batch; ++b) {
    const int64_t period =
        options.min_period + stream.UniformInt(static_cast<uint32_t>(
                                 options.max_period - options.min_period + 1));
    drawn.periods[b] = period;
    if (options.replacement) {
      block.resize(period);
      for (int32_t& token : block) {
        token = static_cast<int32_t>(
            stream.UniformInt(static_cast<uint32_t>(options.vocabulary)));
      }
    } else {
      // The first tokens of a random order of all.
      std::iota(block.begin(), block.end(), 0);
      stream.Shuffle(absl::MakeSpan(block));
    }
    for (int64_t t = 0; t < options.positions; ++t) {
      drawn.tokens(b, t) = block[t % period];
      drawn.targets[b * options.positions + t] = block[(t + 1) % period];
      drawn.predictable[b * options.positions + t] = t >= period ? 1 : 0;
    }
  }
  return drawn;
}

RepeatedSequences DrawDoubled(RandomStream& stream,
                              const RepeatOptions& options) {
  RepeatedSequences drawn = Empty(options);
  for (int64_t b = 0; b < options.batch; ++b) {
    drawn.periods[b] = 1;
    int32_t token = 0;
    for (int64_t t = 0; t <= options.positions; ++t) {
      if (t % 2 == 0) {
        token = static_cast<int32_t>(
            stream.UniformInt(static_cast<uint32_t>(options.vocabulary)));
      }
      const int64_t n = b * options.positions + t;
      if (t > 0) drawn.targets[n - 1] = token;
      if (t == options.positions) break;
      drawn.tokens(b, t) = token;
      drawn.predictable[n] = t % 2 == 0 ? 1 : 0;
    }
  }
  return drawn;
}

}  // namespace softlookup
