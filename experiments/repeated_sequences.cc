#include "experiments/repeated_sequences.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/check.h"

namespace softlookup {

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
  RepeatedSequences drawn;
  drawn.tokens = Tensor<int32_t>({options.batch, options.positions});
  drawn.targets.resize(options.batch * options.positions);
  std::vector<int32_t> block(options.vocabulary);
  for (int64_t b = 0; b < options.batch; ++b) {
    const int64_t period =
        options.min_period + stream.UniformInt(static_cast<uint32_t>(
                                 options.max_period - options.min_period + 1));
    drawn.periods.push_back(period);
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
    }
  }
  return drawn;
}

}  // namespace softlookup
