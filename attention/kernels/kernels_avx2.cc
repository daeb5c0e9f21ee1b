// The kernels for one instruction set; see kernel_table.h.
#include "attention/kernels/kernel_table.h"
#include "attention/kernels/kernel_table_of.h"
#include "attention/kernels/simd_avx2.h"

namespace softlookup::kernels {

constexpr KernelTable kAvx2Kernels = KernelTableOf<SimdAvx2>();

}  // namespace softlookup::kernels
