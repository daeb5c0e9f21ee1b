// The JSON header of a safetensors file: which tensors it holds, and where.
//
//   {"__metadata__": {"made_by": "softlookup"},
//    "query": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
//
// Offsets are in bytes from the end of the header. The tensors cover the data
// without gap or overlap. Format: github.com/huggingface/safetensors.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(SafetensorsHeader header,
//                               ParseSafetensorsHeader(json, path));
#ifndef SOFTLOOKUP_BASE_SAFETENSORS_SAFETENSORS_HEADER_H_
#define SOFTLOOKUP_BASE_SAFETENSORS_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/tensor/dtype.h"
#include "base/tensor/shape.h"

namespace softlookup {

// The format's limit on the header, in bytes.
inline constexpr int64_t kMaxSafetensorsHeader = 100'000'000;

// The most dimensions that we accept. The format names no limit; without one
// a hostile header could make us hold a shape of millions.
inline constexpr int kMaxSafetensorsRank = 64;

struct SafetensorsEntry {
  std::string name;
  Dtype dtype = Dtype::kF32;
  Shape shape;
  int64_t begin = 0;  // bytes from the end of the header
  int64_t end = 0;

  bool operator==(const SafetensorsEntry&) const = default;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of the data
  std::map<std::string, std::string> metadata;

  // The bytes of data that follow the header.
  int64_t DataBytes() const { return entries.empty() ? 0 : entries.back().end; }
};

// InvalidArgument, naming `source` and the tensor, unless `json` is one JSON
// object in UTF-8 (spaces after it are padding) whose members are tensors of
// known element types with dimensions and offsets that are integers from 0 to
// 2^63 - 1, no name twice, each as large as its shape says and all together
// without gap or overlap from offset 0 on, and `__metadata__`, strings only.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(
    absl::string_view json, const std::string& source);

// The header as JSON, padded by spaces to a multiple of 8 bytes.
// InvalidArgument when a name or a metadata string is not UTF-8 or the text is
// over the format's limit.
absl::StatusOr<std::string> FormatSafetensorsHeader(
    const SafetensorsHeader& header);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_SAFETENSORS_SAFETENSORS_HEADER_H_
