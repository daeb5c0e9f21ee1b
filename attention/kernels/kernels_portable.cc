// The kernels for one instruction set; see kernel_table.h.
#include "attention/kernels/kernel_table.h"
#include "attention/kernels/kernel_table_of.h"
#include "attention/kernels/simd_portable.h"

namespace softlookup::kernels {

constexpr KernelTable kPortableKernels = KernelTableOf<SimdPortable>();

}  // namespace softlookup::kernels
