// One query's softmax over keys that come by in runs: the online softmax
// (Milakov and Gimelshein 2018).
//
// The query keeps the largest score so far m, the sum l of the exponentials
// exp(s_j - m) and the sum a of these times the values. A run of keys with a
// larger score first rescales l and a by exp(m_old - m_new). In the end the
// output is a / l.
//
//   T maximum = -infinity, sum = 0;
//   std::vector<T> weighted(d_v, T(0));
//   for (each run of keys) {
//     TakeInKeys<T>(scores, value, maximum, sum, absl::MakeSpan(weighted));
//   }
//   output[c] = weighted[c] / sum;
//
// Streaming attention and attention in blocks whose work is counted are this
// step in different loops. T is float, double, or a number that counts what is
// done with it, with Exp, +=, *=, - and > of its own.
#ifndef SOFTLOOKUP_ATTENTION_TEXTBOOK_ONLINE_SOFTMAX_H_
#define SOFTLOOKUP_ATTENTION_TEXTBOOK_ONLINE_SOFTMAX_H_

#include <cstddef>

#include "absl/types/span.h"
#include "base/elementary.h"

namespace softlookup {

// Takes in a run of keys with these scores; value(j, c) is component c of the
// value of the j-th of them. `weighted` is a, [d_v]. A run of no keys changes
// nothing.
template <typename T, typename Value>
void TakeInKeys(absl::Span<const T> scores, const Value& value, T& maximum,
                T& sum, absl::Span<T> weighted) {
  if (scores.empty()) return;
  T largest = maximum;
  for (const T& score : scores) {
    if (score > largest) largest = score;
  }
  const T rescale = Exp(maximum - largest);
  maximum = largest;
  sum *= rescale;
  for (T& element : weighted) element *= rescale;
  for (size_t j = 0; j < scores.size(); ++j) {
    const T exponential = Exp(scores[j] - maximum);
    sum += exponential;
    for (size_t c = 0; c < weighted.size(); ++c) {
      weighted[c] += exponential * value(j, c);
    }
  }
}

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_TEXTBOOK_ONLINE_SOFTMAX_H_
