// Element types of stored tensors, by the names of the safetensors format.
//
//   DtypeName(Dtype::kBF16)               // "BF16"
//   DtypeFromName("F32")                  // Dtype::kF32
//   TensorBytes(Dtype::kF32, {2, 3})      // 24
//
// The names and sizes are those of the safetensors format
// (github.com/huggingface/safetensors). Types narrower than 8 bits, the 8-bit
// floats and complex numbers can be stored and carried along, but nothing here
// computes with them.
#ifndef SOFTLOOKUP_BASE_TENSOR_DTYPE_H_
#define SOFTLOOKUP_BASE_TENSOR_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/tensor/shape.h"

namespace softlookup {

enum class Dtype {
  kF64,
  kF32,
  kF16,
  kBF16,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool,  // one byte, 0 or 1
  kC64,   // two floats
  kF8E4M3,
  kF8E5M2,
  kF8E4M3FNUZ,
  kF8E5M2FNUZ,
  kF8E8M0,
  kF6E2M3,
  kF6E3M2,
  kF4,
};

// "F64", "BOOL", "F8_E4M3" and so on.
std::string DtypeName(Dtype dtype);

// nullopt if the format has no type of this name. Names are case-sensitive.
std::optional<Dtype> DtypeFromName(absl::string_view name);

// Every type's name, "F64, F32, ...", for messages.
std::string AllDtypeNames();

// Bits of one element.
int DtypeBits(Dtype dtype);

// The bytes that a tensor of this shape occupies; nullopt if a dimension is
// negative, the number does not fit in int64_t, or the last byte would be
// filled only in part (possible for types narrower than 8 bits).
std::optional<int64_t> TensorBytes(Dtype dtype, const Shape& shape);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_TENSOR_DTYPE_H_
