#include "base/safetensors/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/safetensors/safetensors_header.h"
#include "base/status.h"

namespace softlookup {
namespace {

constexpr size_t kLengthBytes = 8;

absl::Status CheckTensor(const StoredTensor& tensor) {
  if (tensor.name == "__metadata__") {
    return absl::InvalidArgumentError(
        "tensor name \"__metadata__\" is reserved by the format");
  }
  if (TensorBytes(tensor.dtype, tensor.shape) !=
      static_cast<int64_t>(tensor.bytes.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor ", QuotedName(tensor.name), " has ", tensor.bytes.size(),
        " bytes, which do not fit shape ", ShapeString(tensor.shape), " of ",
        DtypeName(tensor.dtype)));
  }
  return absl::OkStatus();
}

// A file as the pieces that follow one another in it.
struct Pieces {
  std::string start;  // the header's length and the header
  std::vector<absl::string_view> data;
};

absl::StatusOr<Pieces> Layout(const SafetensorsFile& file) {
  std::vector<const StoredTensor*> order;
  for (const StoredTensor& tensor : file.tensors) {
    SOFTLOOKUP_RETURN_IF_ERROR(CheckTensor(tensor));
    order.push_back(&tensor);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const StoredTensor* a, const StoredTensor* b) {
                     return DtypeBits(a->dtype) > DtypeBits(b->dtype);
                   });
  Pieces pieces;
  SafetensorsHeader header;
  header.metadata = file.metadata;
  std::set<absl::string_view> names;
  int64_t offset = 0;
  for (const StoredTensor* tensor : order) {
    if (!names.insert(tensor->name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", QuotedName(tensor->name), " appears twice"));
    }
    const int64_t end = offset + static_cast<int64_t>(tensor->bytes.size());
    header.entries.push_back(
        {tensor->name, tensor->dtype, tensor->shape, offset, end});
    pieces.data.push_back(tensor->bytes);
    offset = end;
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::string json,
                              FormatSafetensorsHeader(header));
  const uint64_t length = json.size();
  pieces.start.resize(kLengthBytes);
  std::memcpy(pieces.start.data(), &length, kLengthBytes);
  pieces.start += json;
  return pieces;
}

absl::Status Invalid(const std::string& source, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(source, ": ", what));
}

}  // namespace

const StoredTensor* SafetensorsFile::Find(absl::string_view name) const {
  for (const StoredTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

absl::StatusOr<SafetensorsFile> ParseSafetensors(std::string bytes,
                                                 const std::string& source) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  const absl::string_view all = *owner;
  if (all.size() < kLengthBytes) {
    return Invalid(source, absl::StrCat("truncated: ", all.size(),
                                        " bytes are no safetensors file"));
  }
  uint64_t length;
  std::memcpy(&length, all.data(), kLengthBytes);
  if (length > static_cast<uint64_t>(kMaxSafetensorsHeader)) {
    return Invalid(source, absl::StrCat("not a safetensors file: a header of ",
                                        length, " bytes; the format allows ",
                                        kMaxSafetensorsHeader));
  }
  if (length > all.size() - kLengthBytes) {
    return Invalid(source, absl::StrCat("truncated: a header of ", length,
                                        " bytes in a file of ", all.size()));
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      SafetensorsHeader header,
      ParseSafetensorsHeader(all.substr(kLengthBytes, length), source));
  const absl::string_view data = all.substr(kLengthBytes + length);
  const int64_t have = static_cast<int64_t>(data.size());
  if (have < header.DataBytes()) {
    return Invalid(source,
                   absl::StrCat("truncated: ", have, " bytes of data, where ",
                                "the header describes ", header.DataBytes()));
  }
  if (have > header.DataBytes()) {
    return Invalid(source, absl::StrCat(have - header.DataBytes(),
                                        " trailing bytes after the data that "
                                        "the header describes"));
  }
  SafetensorsFile file;
  file.metadata = std::move(header.metadata);
  file.tensors.reserve(header.entries.size());
  for (SafetensorsEntry& entry : header.entries) {
    file.tensors.push_back(
        {std::move(entry.name), entry.dtype, std::move(entry.shape),
         data.substr(entry.begin, entry.end - entry.begin), owner});
  }
  return file;
}

absl::StatusOr<SafetensorsFile> ReadSafetensors(const std::string& path) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  return ParseSafetensors(std::move(bytes), path);
}

absl::StatusOr<std::string> SerializeSafetensors(const SafetensorsFile& file) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Pieces pieces, Layout(file));
  return absl::StrCat(pieces.start, absl::StrJoin(pieces.data, ""));
}

absl::Status WriteSafetensors(const std::string& path,
                              const SafetensorsFile& file) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(Pieces pieces, Layout(file));
  pieces.data.insert(pieces.data.begin(), pieces.start);
  return WriteFileAtomically(path, pieces.data);
}

}  // namespace softlookup
