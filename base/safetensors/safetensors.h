// Files of named tensors in the safetensors format.
//
//   8 bytes     the header's length, little-endian
//   header      JSON: see base/safetensors/safetensors_header.h
//   data        the tensors' bytes
//
//   SafetensorsFile file;
//   file.tensors.push_back(StoreTensor("output", std::move(output)));
//   file.metadata["made_by"] = "softlookup";
//   SOFTLOOKUP_RETURN_IF_ERROR(WriteSafetensors(path, file));
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(SafetensorsFile file, ReadSafetensors(path));
//   const StoredTensor* query = file.Find("query");    // or nullptr
//
// A file is read into memory once and its tensors are views of that; writing
// copies nothing. Equal files give equal bytes.
#ifndef SOFTLOOKUP_BASE_SAFETENSORS_SAFETENSORS_H_
#define SOFTLOOKUP_BASE_SAFETENSORS_SAFETENSORS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/tensor/stored_tensor.h"

namespace softlookup {

struct SafetensorsFile {
  std::vector<StoredTensor> tensors;
  std::map<std::string, std::string> metadata;

  // The tensor of this name, or nullptr.
  const StoredTensor* Find(absl::string_view name) const;
};

// The tensors in the order of their data. InvalidArgument, naming `source` and
// what is wrong, for bytes that are not exactly one such file: see
// ParseSafetensorsHeader for what is checked of the header; the data must be
// all that it describes, and nothing more.
absl::StatusOr<SafetensorsFile> ParseSafetensors(std::string bytes,
                                                 const std::string& source);

// Parses the file at `path`. Also the errors of ReadFile.
absl::StatusOr<SafetensorsFile> ReadSafetensors(const std::string& path);

// The bytes of a file. Data is laid out by decreasing element size, in the
// given order within one size, so that every element is aligned to its size.
// InvalidArgument for a name that is given twice, reserved ("__metadata__") or
// not UTF-8, and for bytes that do not fit their shape.
absl::StatusOr<std::string> SerializeSafetensors(const SafetensorsFile& file);

// Writes a file at once or not at all. Also the errors of WriteFileAtomically.
absl::Status WriteSafetensors(const std::string& path,
                              const SafetensorsFile& file);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_SAFETENSORS_SAFETENSORS_H_
