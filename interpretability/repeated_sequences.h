// Sequences that repeat a block of random tokens, with a period of their own:
// what an induction head can continue and nothing else can. Beside them, as a
// control, sequences that any layer can continue: every token comes twice.
//
//   RandomStream stream(seed, "induction data");
//   SOFTLOOKUP_RETURN_IF_ERROR(CheckRepeats(options));
//   const RepeatedSequences drawn = DrawRepeats(stream, options);
//
// The period is drawn anew for every sequence: a fixed one is learned by
// position alone, without looking at a token.
#ifndef SOFTLOOKUP_INTERPRETABILITY_REPEATED_SEQUENCES_H_
#define SOFTLOOKUP_INTERPRETABILITY_REPEATED_SEQUENCES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "base/random/random.h"
#include "base/tensor/tensor.h"

namespace softlookup {

struct RepeatOptions {
  int64_t batch = 32;        // B
  int64_t positions = 64;    // T
  int64_t vocabulary = 64;   // V
  int64_t min_period = 8;    // drawn uniformly from here
  int64_t max_period = 32;   // to here
  bool replacement = false;  // whether a block may hold a token twice
};

struct RepeatedSequences {
  Tensor<int32_t> tokens;        // [B, T]
  std::vector<int32_t> targets;  // [B T], the token after each
  std::vector<int64_t> periods;  // [B]; of doubled tokens 1
  // [B T], 1 where what has come so far says what follows: from the second
  // block on, and at the first of two equal tokens.
  std::vector<uint8_t> predictable;

  bool Predictable(int64_t b, int64_t t) const {
    return predictable[b * tokens.dim(1) + t] != 0;
  }
};

// InvalidArgument, naming the option, for sizes below 1, periods out of order,
// a longest period of which fewer than two fit, and more tokens in a block
// without replacement than there are.
absl::Status CheckRepeats(const RepeatOptions& options);

// `options` must pass CheckRepeats.
RepeatedSequences DrawRepeats(RandomStream& stream,
                              const RepeatOptions& options);

// A A B B C C ...: independent tokens, each twice. Copying the current token
// continues every other position. Of `options` the periods and the replacement
// do not count.
RepeatedSequences DrawDoubled(RandomStream& stream,
                              const RepeatOptions& options);

}  // namespace softlookup

#endif  // SOFTLOOKUP_INTERPRETABILITY_REPEATED_SEQUENCES_H_
