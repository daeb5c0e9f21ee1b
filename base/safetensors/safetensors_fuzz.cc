// Feeds arbitrary bytes to the safetensors reader, for libFuzzer:
//
//   bazel build --config=fuzz //base/safetensors:safetensors_fuzz
//   bazel-bin/base/safetensors/safetensors_fuzz -max_total_time=300 /tmp/found
//       base/safetensors/safetensors_corpus     # on one line; /tmp/found is a
//                                               # folder
//
// and, in safetensors_fuzz_test, the files of the corpus. Whatever is accepted
// must survive being written and read again, and whatever type a tensor has,
// asking for its elements gives them or an error.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/check.h"
#include "base/safetensors/safetensors.h"
#include "base/tensor/stored_tensor.h"

namespace softlookup {
namespace {

void CheckEqual(const SafetensorsFile& a, const SafetensorsFile& b) {
  SOFTLOOKUP_CHECK(a.metadata == b.metadata, "equal metadata");
  SOFTLOOKUP_CHECK(a.tensors.size() == b.tensors.size(), "as many tensors");
  for (const StoredTensor& tensor : a.tensors) {
    const StoredTensor* other = b.Find(tensor.name);
    SOFTLOOKUP_CHECK(other != nullptr, "the same names");
    SOFTLOOKUP_CHECK(tensor.dtype == other->dtype, "the same types");
    SOFTLOOKUP_CHECK(tensor.shape == other->shape, "the same shapes");
    SOFTLOOKUP_CHECK(tensor.bytes == other->bytes, "the same bytes");
  }
}

template <typename T>
void CheckLoad(const StoredTensor& stored) {
  const absl::StatusOr<Tensor<T>> tensor = LoadTensor<T>(stored);
  SOFTLOOKUP_CHECK(!tensor.ok() || tensor->shape() == stored.shape,
                   "the elements or an error");
}

}  // namespace
}  // namespace softlookup

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace softlookup;  // NOLINT
  const absl::StatusOr<SafetensorsFile> file = ParseSafetensors(
      std::string(reinterpret_cast<const char*>(data), size), "input");
  if (!file.ok()) return 0;
  for (const StoredTensor& tensor : file->tensors) {
    CheckLoad<double>(tensor);
    CheckLoad<float>(tensor);
    CheckLoad<int64_t>(tensor);
    CheckLoad<uint8_t>(tensor);
  }
  const absl::StatusOr<std::string> bytes = SerializeSafetensors(*file);
  SOFTLOOKUP_CHECK(bytes.ok(), "what was read can be written");
  const absl::StatusOr<SafetensorsFile> again =
      ParseSafetensors(*bytes, "again");
  SOFTLOOKUP_CHECK(again.ok(), "what was written can be read");
  CheckEqual(*file, *again);
  const absl::StatusOr<std::string> same = SerializeSafetensors(*again);
  SOFTLOOKUP_CHECK(same.ok() && *same == *bytes, "equal files, equal bytes");
  return 0;
}
