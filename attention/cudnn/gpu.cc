#include "attention/cudnn/gpu.h"

#include <cuda.h>
#include <dlfcn.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status.h"

namespace softlookup::cudnn {

// The functions that are used, by the versioned names that cuda.h gives them.
#define SOFTLOOKUP_CUDA_FUNCTIONS(X) \
  X(cuCtxSetCurrent)                 \
  X(cuDeviceGet)                     \
  X(cuDeviceGetAttribute)            \
  X(cuDeviceGetCount)                \
  X(cuDeviceGetName)                 \
  X(cuDevicePrimaryCtxRelease)       \
  X(cuDevicePrimaryCtxRetain)        \
  X(cuDeviceTotalMem)                \
  X(cuEventCreate)                   \
  X(cuEventDestroy)                  \
  X(cuEventElapsedTime)              \
  X(cuEventRecord)                   \
  X(cuEventSynchronize)              \
  X(cuGetErrorString)                \
  X(cuInit)                          \
  X(cuMemAlloc)                      \
  X(cuMemFree)                       \
  X(cuMemGetInfo)                    \
  X(cuMemcpyDtoHAsync)               \
  X(cuMemcpyHtoDAsync)               \
  X(cuMemsetD8Async)                 \
  X(cuStreamCreate)                  \
  X(cuStreamDestroy)                 \
  X(cuStreamSynchronize)

struct GpuFunctions {
#define SOFTLOOKUP_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  SOFTLOOKUP_CUDA_FUNCTIONS(SOFTLOOKUP_CUDA_MEMBER)
#undef SOFTLOOKUP_CUDA_MEMBER

  absl::Status Check(CUresult result, absl::string_view what) const {
    if (result == CUDA_SUCCESS) return absl::OkStatus();
    const char* text = nullptr;
    if (cuGetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) {
      text = "unknown error";
    }
    return absl::InternalError(absl::StrCat("CUDA ", what, ": ", text, " (",
                                            static_cast<int>(result), ")"));
  }
};

namespace {

CUdeviceptr Pointer(const void* address) {
  return reinterpret_cast<CUdeviceptr>(address);
}

// The library stays open: driver libraries do not unload cleanly.
absl::StatusOr<std::unique_ptr<GpuFunctions>> OpenDriver(
    const std::string& path, int* version) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("no NVIDIA driver: ", path, " cannot be opened"));
  }
  const auto get_version = reinterpret_cast<decltype(&cuDriverGetVersion)>(
      ::dlsym(library, "cuDriverGetVersion"));
  if (get_version == nullptr || get_version(version) != CUDA_SUCCESS) {
    return absl::FailedPreconditionError(
        absl::StrCat("no NVIDIA driver: ", path, " does not say its version"));
  }
  // Before the functions: an old driver lacks the newest of them.
  if (*version < kMinDriverVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the NVIDIA driver is too old: it supports CUDA ",
        CudaVersionName(*version),
        "; needed: ", CudaVersionName(kMinDriverVersion), " or later"));
  }
  auto functions = std::make_unique<GpuFunctions>();
#define SOFTLOOKUP_CUDA_STRING(name) #name
#define SOFTLOOKUP_CUDA_LOOK_UP(name)                                 \
  functions->name = reinterpret_cast<decltype(functions->name)>(      \
      ::dlsym(library, SOFTLOOKUP_CUDA_STRING(name)));                \
  if (functions->name == nullptr) {                                   \
    return absl::FailedPreconditionError(                             \
        absl::StrCat("the NVIDIA driver ", path, " has no function ", \
                     SOFTLOOKUP_CUDA_STRING(name)));                  \
  }
  SOFTLOOKUP_CUDA_FUNCTIONS(SOFTLOOKUP_CUDA_LOOK_UP)
#undef SOFTLOOKUP_CUDA_LOOK_UP
#undef SOFTLOOKUP_CUDA_STRING
  return functions;
}

}  // namespace

std::string CudaVersionName(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

GpuMemory& GpuMemory::operator=(GpuMemory&& other) noexcept {
  std::swap(functions_, other.functions_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

GpuMemory::~GpuMemory() {
  if (address_ != nullptr) functions_->cuMemFree(Pointer(address_));
}

Gpu::Gpu(std::unique_ptr<GpuFunctions> functions)
    : functions_(std::move(functions)) {}

Gpu::~Gpu() {
  if (stream_ != nullptr) {
    functions_->cuStreamDestroy(static_cast<CUstream>(stream_));
  }
  if (context_retained_) functions_->cuDevicePrimaryCtxRelease(device_);
}

absl::StatusOr<std::unique_ptr<Gpu>> Gpu::Open(const std::string& driver) {
  int version = 0;
  SOFTLOOKUP_ASSIGN_OR_RETURN(std::unique_ptr<GpuFunctions> functions,
                              OpenDriver(driver, &version));
  std::unique_ptr<Gpu> gpu(new Gpu(std::move(functions)));
  gpu->info_.driver_version = version;
  SOFTLOOKUP_RETURN_IF_ERROR(gpu->Initialise());
  return gpu;
}

absl::Status Gpu::Initialise() {
  const GpuFunctions& cuda = *functions_;
  const CUresult initialised = cuda.cuInit(0);
  int devices = 0;
  if (initialised == CUDA_SUCCESS) {
    SOFTLOOKUP_RETURN_IF_ERROR(
        cuda.Check(cuda.cuDeviceGetCount(&devices), "counts devices"));
  }
  if (initialised == CUDA_ERROR_NO_DEVICE ||
      (initialised == CUDA_SUCCESS && devices == 0)) {
    return absl::FailedPreconditionError(
        "no CUDA device: the NVIDIA driver sees none");
  }
  const absl::Status started = cuda.Check(initialised, "starts");
  if (!started.ok()) {
    return absl::FailedPreconditionError(started.message());
  }
  CUdevice device;
  SOFTLOOKUP_RETURN_IF_ERROR(
      cuda.Check(cuda.cuDeviceGet(&device, 0), "finds device 0"));
  device_ = device;
  char name[256] = {};
  SOFTLOOKUP_RETURN_IF_ERROR(
      cuda.Check(cuda.cuDeviceGetName(name, sizeof(name) - 1, device),
                 "names the device"));
  info_.name = name;
  int major = 0;
  int minor = 0;
  for (const auto& [value, attribute] :
       {std::pair(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        std::pair(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)}) {
    SOFTLOOKUP_RETURN_IF_ERROR(
        cuda.Check(cuda.cuDeviceGetAttribute(value, attribute, device),
                   "says the compute capability"));
  }
  info_.capability = 10 * major + minor;
  if (info_.capability < kMinCapability || info_.capability >= kCapabilityEnd) {
    return absl::FailedPreconditionError(
        absl::StrCat(info_.name, " has compute capability ", major, ".", minor,
                     "; needed: ", kMinCapability / 10, ".x"));
  }
  size_t memory = 0;
  SOFTLOOKUP_RETURN_IF_ERROR(
      cuda.Check(cuda.cuDeviceTotalMem(&memory, device), "says the memory"));
  info_.memory_bytes = static_cast<int64_t>(memory);
  CUcontext context;
  SOFTLOOKUP_RETURN_IF_ERROR(cuda.Check(
      cuda.cuDevicePrimaryCtxRetain(&context, device), "makes a context"));
  context_retained_ = true;
  SOFTLOOKUP_RETURN_IF_ERROR(
      cuda.Check(cuda.cuCtxSetCurrent(context), "takes the context"));
  CUstream stream;
  SOFTLOOKUP_RETURN_IF_ERROR(cuda.Check(
      cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "makes a stream"));
  stream_ = stream;
  return absl::OkStatus();
}

absl::StatusOr<GpuMemory> Gpu::Allocate(int64_t bytes,
                                        const std::string& what) {
  CUdeviceptr pointer = 0;
  // CUDA refuses to allocate nothing.
  const CUresult result =
      functions_->cuMemAlloc(&pointer, bytes == 0 ? 1 : bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    size_t available = 0;
    size_t total = 0;
    if (functions_->cuMemGetInfo(&available, &total) != CUDA_SUCCESS) {
      available = 0;
    }
    return absl::FailedPreconditionError(
        absl::StrCat("out of GPU memory: ", what, " needs ", bytes, " bytes; ",
                     available, " of ", total, " are free"));
  }
  SOFTLOOKUP_RETURN_IF_ERROR(
      functions_->Check(result, absl::StrCat("allocates ", what)));
  return GpuMemory(functions_.get(), reinterpret_cast<void*>(pointer), bytes);
}

absl::Status Gpu::CopyToGpu(const void* from, int64_t bytes, void* to) {
  return functions_->Check(
      functions_->cuMemcpyHtoDAsync(Pointer(to), from, bytes,
                                    static_cast<CUstream>(stream_)),
      "copies to the GPU");
}

absl::Status Gpu::CopyFromGpu(const void* from, int64_t bytes, void* to) {
  return functions_->Check(
      functions_->cuMemcpyDtoHAsync(to, Pointer(from), bytes,
                                    static_cast<CUstream>(stream_)),
      "copies from the GPU");
}

absl::Status Gpu::Fill(void* address, uint8_t byte, int64_t bytes) {
  return functions_->Check(
      functions_->cuMemsetD8Async(Pointer(address), byte, bytes,
                                  static_cast<CUstream>(stream_)),
      "fills memory");
}

absl::Status Gpu::Synchronize() {
  return functions_->Check(
      functions_->cuStreamSynchronize(static_cast<CUstream>(stream_)),
      "finishes");
}

absl::StatusOr<double> Gpu::Time(const std::function<absl::Status()>& start) {
  const GpuFunctions& cuda = *functions_;
  const auto stream = static_cast<CUstream>(stream_);
  struct Event {
    const GpuFunctions& cuda;
    CUevent event = nullptr;
    ~Event() {
      if (event != nullptr) cuda.cuEventDestroy(event);
    }
  };
  Event before{cuda};
  Event after{cuda};
  for (Event* event : {&before, &after}) {
    SOFTLOOKUP_RETURN_IF_ERROR(cuda.Check(
        cuda.cuEventCreate(&event->event, CU_EVENT_DEFAULT), "makes an event"));
  }
  SOFTLOOKUP_RETURN_IF_ERROR(
      cuda.Check(cuda.cuEventRecord(before.event, stream), "records an event"));
  SOFTLOOKUP_RETURN_IF_ERROR(start());
  SOFTLOOKUP_RETURN_IF_ERROR(
      cuda.Check(cuda.cuEventRecord(after.event, stream), "records an event"));
  SOFTLOOKUP_RETURN_IF_ERROR(
      cuda.Check(cuda.cuEventSynchronize(after.event), "finishes"));
  float milliseconds = 0;
  SOFTLOOKUP_RETURN_IF_ERROR(cuda.Check(
      cuda.cuEventElapsedTime(&milliseconds, before.event, after.event),
      "measures time"));
  return milliseconds * 1e-3;
}

}  // namespace softlookup::cudnn
