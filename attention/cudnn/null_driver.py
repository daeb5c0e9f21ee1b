"""Writes the C source of a CUDA driver library that drives nothing.

cuDNN plans attention for a GPU that is only described to it, as long as a
driver library is there to load the kernels into. This one has every function
that the header cuda.h declares, under each of its versioned names. Those that
load code answer "done" and keep nothing; the driver's version and symbol look-up
work; there are no devices; and everything else answers CUDA_ERROR_STUB_LIBRARY
(34), as the toolkit's own stub does for all.

    null_driver.py path/to/cuda.h libcuda.c
"""

import re
import sys

# The prefixes of functions that answer CUDA_SUCCESS: cuDNN loads every kernel
# of a plan when it builds the plan.
DONE = ("cuLibrary", "cuKernel", "cuModule", "cuFunc")

WRITTEN_OUT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

typedef int CUresult;
enum { kSuccess = 0, kStubLibrary = 34, kNoDevice = 100, kNotFound = 500 };

CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
CUresult cuInit(unsigned flags) {
  (void)flags;
  return kNoDevice;
}
CUresult cuDeviceGetCount(int* count) {
  *count = 0;
  return kSuccess;
}
CUresult cuGetProcAddress(const char* symbol, void** function, int version,
                          unsigned long long flags) {
  (void)version;
  (void)flags;
  *function = dlsym(RTLD_DEFAULT, symbol);
  if (*function == NULL) {
    Dl_info info;
    dladdr((void*)&cuGetProcAddress, &info);
    void* self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (self != NULL) *function = dlsym(self, symbol);
  }
  return *function == NULL ? kNotFound : kSuccess;
}
CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version,
                             unsigned long long flags, int* status) {
  const CUresult result = cuGetProcAddress(symbol, function, version, flags);
  /* CU_GET_PROC_ADDRESS_SUCCESS or _SYMBOL_NOT_FOUND */
  if (status != NULL) *status = result == kSuccess ? 0 : 1;
  return kSuccess;
}
"""


def function_names(header):
    """Every function of cuda.h, and every versioned name that it maps one to."""
    names = set(re.findall(r"\bCUresult\s+CUDAAPI\s+(cu\w+)\s*\(", header))
    names |= set(re.findall(r"#\s*define\s+cu\w+\s+(cu\w+_v\d+)\b", header))
    names |= set(
        re.findall(r"__CUDA_API_P\w+\((cu\w+)\)", header))
    return names


def source(header):
    names = function_names(header)
    if len(names) < 400:
        sys.exit("null_driver.py: %d functions in cuda.h; expected hundreds" %
                 len(names))
    written = set(re.findall(r"^CUresult (cu\w+)\(", WRITTEN_OUT, re.MULTILINE))
    lines = [WRITTEN_OUT]
    for name in sorted(names - written):
        result = "kSuccess" if name.startswith(DONE) else "kStubLibrary"
        lines.append("CUresult %s(void) { return %s; }" % (name, result))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as header_file:
        text = source(header_file.read())
    with open(sys.argv[2], "w", encoding="utf-8") as source_file:
        source_file.write(text)
