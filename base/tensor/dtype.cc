#include "base/tensor/dtype.h"

#include "absl/strings/str_join.h"

namespace softlookup {
namespace {

struct DtypeInfo {
  Dtype dtype;
  const char* name;
  int bits;
};

// In the order of the enumeration.
constexpr DtypeInfo kDtypes[] = {
    {Dtype::kF64, "F64", 64},
    {Dtype::kF32, "F32", 32},
    {Dtype::kF16, "F16", 16},
    {Dtype::kBF16, "BF16", 16},
    {Dtype::kI64, "I64", 64},
    {Dtype::kI32, "I32", 32},
    {Dtype::kI16, "I16", 16},
    {Dtype::kI8, "I8", 8},
    {Dtype::kU64, "U64", 64},
    {Dtype::kU32, "U32", 32},
    {Dtype::kU16, "U16", 16},
    {Dtype::kU8, "U8", 8},
    {Dtype::kBool, "BOOL", 8},
    {Dtype::kC64, "C64", 64},
    {Dtype::kF8E4M3, "F8_E4M3", 8},
    {Dtype::kF8E5M2, "F8_E5M2", 8},
    {Dtype::kF8E4M3FNUZ, "F8_E4M3FNUZ", 8},
    {Dtype::kF8E5M2FNUZ, "F8_E5M2FNUZ", 8},
    {Dtype::kF8E8M0, "F8_E8M0", 8},
    {Dtype::kF6E2M3, "F6_E2M3", 6},
    {Dtype::kF6E3M2, "F6_E3M2", 6},
    {Dtype::kF4, "F4", 4},
};

const DtypeInfo& Info(Dtype dtype) {
  return kDtypes[static_cast<size_t>(dtype)];
}

}  // namespace

std::string DtypeName(Dtype dtype) { return Info(dtype).name; }

std::optional<Dtype> DtypeFromName(absl::string_view name) {
  for (const DtypeInfo& info : kDtypes) {
    if (name == info.name) return info.dtype;
  }
  return std::nullopt;
}

std::string AllDtypeNames() {
  return absl::StrJoin(
      kDtypes, ", ",
      [](std::string* out, const DtypeInfo& info) { out->append(info.name); });
}

int DtypeBits(Dtype dtype) { return Info(dtype).bits; }

std::optional<int64_t> TensorBytes(Dtype dtype, const Shape& shape) {
  const std::optional<int64_t> count = NumElements(shape);
  int64_t bits;
  if (!count || __builtin_mul_overflow(*count, DtypeBits(dtype), &bits) ||
      bits % 8 != 0) {
    return std::nullopt;
  }
  return bits / 8;
}

}  // namespace softlookup
