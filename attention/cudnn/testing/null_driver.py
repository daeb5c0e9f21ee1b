"""Writes the C source of a CUDA driver library that drives nothing.

cuDNN plans attention for a GPU that is only described to it, as long as a
driver library is there to load the kernels into. This one has every function
that the header cuda.h declares, under each of its versioned names:

- those that load code answer "done" and keep nothing (they take more arguments
  than they look at, which the calling convention allows);
- the driver's version and the look-up of functions work;
- there are no devices, unless the environment variable NULL_DRIVER_DEVICES says
  1: then there is one whose memory is the host's, which copies and fills and
  computes nothing. The CUDA runtime that cuDNN has inside looks functions up by
  cuGetProcAddress, and sees no device even then: it would ask too much of one;
- everything else answers CUDA_ERROR_STUB_LIBRARY (34), as the toolkit's own
  stub does for all.

NULL_DRIVER_NAME ("null device"), NULL_DRIVER_VERSION (13000),
NULL_DRIVER_CAPABILITY (90) and NULL_DRIVER_MEMORY (bytes that can be allocated in
all, 2^30) change what it says of itself.

    null_driver.py path/to/cuda.h libcuda.c
"""

import re
import sys

# Functions that answer CUDA_SUCCESS and do nothing; of the first four, prefixes:
# cuDNN loads every kernel of a plan when it builds the plan.
DONE = re.compile("(cuLibrary|cuKernel|cuModule|cuFunc).*|cuCtxSetCurrent|"
                  "cuDevicePrimaryCtxRelease_v2|cuEventDestroy_v2|cuEventRecord|"
                  "cuEventSynchronize|cuStreamDestroy_v2|cuStreamSynchronize")
# Those that answer it and put something into their first argument: cuDNN looks
# whether it is there when there is a device.
MADE = ("cuDevicePrimaryCtxRetain", "cuEventCreate", "cuKernelGetFunction",
        "cuLibraryGetKernel", "cuLibraryGetModule", "cuLibraryLoadData",
        "cuModuleGetFunction", "cuModuleLoadData", "cuModuleLoadDataEx",
        "cuStreamCreate")

WRITTEN_OUT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef unsigned long long CUdeviceptr;
enum {
  kSuccess = 0,
  kOutOfMemory = 2,
  kStubLibrary = 34,
  kNoDevice = 100,
  kNotFound = 500
};

static long long Setting(const char* name, long long otherwise) {
  const char* text = getenv(name);
  return text == NULL ? otherwise : atoll(text);
}
static int HasDevice(void) { return Setting("NULL_DRIVER_DEVICES", 0) == 1; }
static long long Memory(void) {
  return Setting("NULL_DRIVER_MEMORY", 1LL << 30);
}
static long long allocated = 0;
static int somewhere;

CUresult cuDriverGetVersion(int* version) {
  *version = (int)Setting("NULL_DRIVER_VERSION", 13000);
  return kSuccess;
}
CUresult cuInit(unsigned flags) { return HasDevice() ? kSuccess : kNoDevice; }
CUresult cuDeviceGetCount(int* count) {
  *count = HasDevice();
  return kSuccess;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == kStubLibrary ? "stub library" : "null driver";
  return kSuccess;
}
CUresult cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return HasDevice() && ordinal == 0 ? kSuccess : kNoDevice;
}
CUresult cuDeviceGetName(char* name, int length, int device) {
  const char* set = getenv("NULL_DRIVER_NAME");
  strncpy(name, set == NULL ? "null device" : set, length);
  return kSuccess;
}
CUresult cuDeviceGetAttribute(int* value, int attribute, int device) {
  const int capability = (int)Setting("NULL_DRIVER_CAPABILITY", 90);
  /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR */
  if (attribute != 75 && attribute != 76) return kStubLibrary;
  *value = attribute == 75 ? capability / 10 : capability % 10;
  return kSuccess;
}
CUresult cuDeviceTotalMem_v2(size_t* bytes, int device) {
  *bytes = Memory();
  return kSuccess;
}
/* The size is kept in front of the memory. */
CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  char* memory;
  if (allocated + (long long)bytes > Memory()) return kOutOfMemory;
  memory = malloc(bytes + 64);
  if (memory == NULL) return kOutOfMemory;
  *(size_t*)memory = bytes;
  allocated += bytes;
  *pointer = (CUdeviceptr)(memory + 64);
  return kSuccess;
}
CUresult cuMemFree_v2(CUdeviceptr pointer) {
  char* memory = (char*)pointer - 64;
  allocated -= *(size_t*)memory;
  free(memory);
  return kSuccess;
}
CUresult cuMemGetInfo_v2(size_t* available, size_t* total) {
  *available = Memory() - allocated;
  *total = Memory();
  return kSuccess;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes,
                              void* stream) {
  memcpy((void*)to, from, bytes);
  return kSuccess;
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes,
                              void* stream) {
  memcpy(to, (void*)from, bytes);
  return kSuccess;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t bytes,
                         void* stream) {
  memset((void*)to, byte, bytes);
  return kSuccess;
}
CUresult cuEventElapsedTime_v2(float* milliseconds, void* before, void* after) {
  *milliseconds = 1;
  return kSuccess;
}
static CUresult InitWithoutDevice(unsigned flags) { return kNoDevice; }
CUresult cuGetProcAddress(const char* symbol, void** function, int version,
                          unsigned long long flags) {
  Dl_info info;
  void* self = NULL;
  if (strcmp(symbol, "cuInit") == 0) {
    *function = (void*)&InitWithoutDevice;
    return kSuccess;
  }
  if (dladdr((void*)&cuGetProcAddress, &info) != 0) {
    self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }
  *function = self == NULL ? NULL : dlsym(self, symbol);
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
    names |= set(re.findall(r"__CUDA_API_P\w+\((cu\w+)\)", header))
    return names


def source(header):
    names = function_names(header)
    if len(names) < 400:
        sys.exit("null_driver.py: %d functions in cuda.h; expected hundreds" %
                 len(names))
    written = set(re.findall(r"^CUresult (cu\w+)\(", WRITTEN_OUT, re.MULTILINE))
    lines = [WRITTEN_OUT]
    for name in sorted(names - written):
        if name in MADE:
            lines.append("CUresult %s(void** made) { *made = &somewhere; "
                         "return kSuccess; }" % name)
        else:
            lines.append("CUresult %s(void) { return %s; }" % (
                name, "kSuccess" if DONE.fullmatch(name) else "kStubLibrary"))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as header_file:
        text = source(header_file.read())
    with open(sys.argv[2], "w", encoding="utf-8") as source_file:
        source_file.write(text)
