// The kernels for one instruction set; see kernel_table.h.
#include "attention/kernels/kernel_table.h"
#include "attention/kernels/kernel_table_of.h"
#include "attention/kernels/simd_avx512.h"

namespace softlookup::kernels {

constexpr KernelTable kAvx512Kernels = KernelTableOf<SimdAvx512>();

}  // namespace softlookup::kernels
