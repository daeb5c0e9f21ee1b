#include "attention/textbook/streaming_attention.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/mask.h"
#include "attention/textbook/online_softmax.h"
#include "base/status.h"

namespace softlookup {
namespace {

// What one query carries along.
template <typename T>
struct Running {
  T maximum = -std::numeric_limits<T>::infinity();
  T sum = 0;
  std::vector<T> average;  // [Dv], times sum
};

// One head of one batch entry, and the queries and keys of one tile.
struct Tile {
  int64_t b, h;
  int64_t query_begin, query_end;
  int64_t key_begin, key_end;
};

bool AnyAllowed(const AttentionMask& mask, const AttentionSizes& sizes,
                const Tile& tile) {
  for (int64_t i = tile.query_begin; i < tile.query_end; ++i) {
    for (int64_t j = tile.key_begin; j < tile.key_end; ++j) {
      if (mask.Allows(tile.b, tile.h, i, j, sizes)) return true;
    }
  }
  return false;
}

template <typename T>
T Score(const AttentionInputs<T>& inputs, const AttentionSizes& sizes,
        const Tile& tile, int64_t i, int64_t j, T scale) {
  const int64_t key_head = sizes.KeyHead(tile.h);
  T sum = 0;
  for (int64_t c = 0; c < sizes.width; ++c) {
    sum +=
        inputs.query(tile.b, tile.h, i, c) * inputs.key(tile.b, key_head, j, c);
  }
  return sum * scale;
}

// The queries of one tile against all keys.
template <typename T>
void QueryTile(const AttentionInputs<T>& inputs, const AttentionSizes& sizes,
               const StreamingOptions& options, Tile tile,
               StreamingOutputs<T>& outputs) {
  const T scale = static_cast<T>(AttentionScale({}, sizes.width));
  std::vector<Running<T>> rows(tile.query_end - tile.query_begin);
  for (Running<T>& row : rows) row.average.assign(sizes.value_width, T(0));
  for (tile.key_begin = 0; tile.key_begin < sizes.keys;
       tile.key_begin += options.key_tile) {
    tile.key_end = std::min(tile.key_begin + options.key_tile, sizes.keys);
    ++outputs.tiles;
    if (!AnyAllowed(inputs.mask, sizes, tile)) {
      ++outputs.tiles_skipped;
      continue;
    }
    for (int64_t i = tile.query_begin; i < tile.query_end; ++i) {
      std::vector<T> scores;
      std::vector<int64_t> keys;  // that the query may see
      for (int64_t j = tile.key_begin; j < tile.key_end; ++j) {
        const T score = Score(inputs, sizes, tile, i, j, scale);
        ++outputs.scores_computed;
        if (!inputs.mask.Allows(tile.b, tile.h, i, j, sizes)) continue;
        scores.push_back(score);
        keys.push_back(j);
      }
      const auto value = [&](size_t j, size_t c) {
        return inputs.value(tile.b, sizes.KeyHead(tile.h), keys[j], c);
      };
      Running<T>& row = rows[i - tile.query_begin];
      TakeInKeys<T>(scores, value, row.maximum, row.sum,
                    absl::MakeSpan(row.average));
    }
  }
  for (int64_t i = tile.query_begin; i < tile.query_end; ++i) {
    const Running<T>& row = rows[i - tile.query_begin];
    if (row.sum == 0) continue;  // saw no key: zeros
    for (int64_t c = 0; c < sizes.value_width; ++c) {
      outputs.output(tile.b, tile.h, i, c) = row.average[c] / row.sum;
    }
  }
}

}  // namespace

template <typename T>
absl::StatusOr<StreamingOutputs<T>> StreamingAttention(
    const AttentionInputs<T>& inputs, const StreamingOptions& options) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionSizes sizes,
                              CheckAttention(inputs, {}));
  if (inputs.bias.has_value()) {
    return absl::InvalidArgumentError(
        "bias is given; allowed: none in streaming attention");
  }
  if (options.query_tile < 1 || options.key_tile < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("tiles are ", options.query_tile, " queries by ",
                     options.key_tile, " keys; allowed: at least 1 by 1"));
  }
  StreamingOutputs<T> outputs;
  outputs.output = Tensor<T>(
      {sizes.batch, sizes.query_heads, sizes.queries, sizes.value_width});
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.query_heads; ++h) {
      for (int64_t i = 0; i < sizes.queries; i += options.query_tile) {
        const Tile tile = {
            .b = b,
            .h = h,
            .query_begin = i,
            .query_end = std::min(i + options.query_tile, sizes.queries),
            .key_begin = 0,
            .key_end = 0};
        QueryTile(inputs, sizes, options, tile, outputs);
      }
    }
  }
  return outputs;
}

template absl::StatusOr<StreamingOutputs<float>> StreamingAttention(
    const AttentionInputs<float>& inputs, const StreamingOptions& options);
template absl::StatusOr<StreamingOutputs<double>> StreamingAttention(
    const AttentionInputs<double>& inputs, const StreamingOptions& options);

double StreamingErrorBound(double largest_score, int64_t keys,
                           double largest_value, double unit) {
  const double roundings =
      22 * largest_score + 10 * static_cast<double>(keys) + 2;
  return 1.01 * roundings * unit * largest_value;
}

}  // namespace softlookup
