// A cuDNN that computes nothing, for tests: a program that uses one runs from
// end to end without a GPU, beside the driver that drives nothing
// (null_driver.py). It plans as the real library does, NULL_CUDNN_REAL, which
// it passes everything on to, but for
//
// - handles, which are of no device, and their streams;
// - the device, which is the H200 of h200.h;
// - execution, which succeeds and leaves the results as they were.
//
// It has the functions that cudnn-frontend calls.
#include <cudnn.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "attention/cudnn/testing/h200.h"

namespace {

void* Real(const char* name) {
  static void* const library = [] {
    const char* path = std::getenv("NULL_CUDNN_REAL");
    void* opened = path == nullptr ? nullptr : ::dlopen(path, RTLD_NOW);
    if (opened == nullptr) {
      std::fprintf(stderr, "null_cudnn: NULL_CUDNN_REAL: %s\n", ::dlerror());
      std::abort();
    }
    return opened;
  }();
  return ::dlsym(library, name);
}

// The real function of the same name and type.
#define NULL_CUDNN_REAL_OF(name) reinterpret_cast<decltype(&name)>(Real(#name))

cudnnStatus_t SetDescription(cudnnBackendDescriptor_t device) {
  const char* json = softlookup::cudnn::kH200Json;
  return NULL_CUDNN_REAL_OF(cudnnBackendSetAttribute)(
      device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
      static_cast<int64_t>(std::strlen(json)), json);
}

cudnnBackendDescriptor_t Device() {
  static const cudnnBackendDescriptor_t device = [] {
    cudnnBackendDescriptor_t made = nullptr;
    if (cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR,
                                     &made) != CUDNN_STATUS_SUCCESS ||
        SetDescription(made) != CUDNN_STATUS_SUCCESS ||
        cudnnBackendFinalize(made) != CUDNN_STATUS_SUCCESS) {
      std::abort();
    }
    return made;
  }();
  return device;
}

int somewhere;

}  // namespace

extern "C" {

// Of the real library as they are.
#define NULL_CUDNN_PASS_ON(type, name, parameters, arguments) \
  type name parameters { return NULL_CUDNN_REAL_OF(name) arguments; }
NULL_CUDNN_PASS_ON(size_t, cudnnGetVersion, (), ())
NULL_CUDNN_PASS_ON(size_t, cudnnGetCudartVersion, (), ())
NULL_CUDNN_PASS_ON(const char*, cudnnGetErrorString, (cudnnStatus_t status),
                   (status))
NULL_CUDNN_PASS_ON(void, cudnnGetLastErrorString, (char* message, size_t size),
                   (message, size))
NULL_CUDNN_PASS_ON(cudnnStatus_t, cudnnBackendCreateDescriptor,
                   (cudnnBackendDescriptorType_t type,
                    cudnnBackendDescriptor_t* made),
                   (type, made))
NULL_CUDNN_PASS_ON(cudnnStatus_t, cudnnBackendDestroyDescriptor,
                   (cudnnBackendDescriptor_t descriptor), (descriptor))
NULL_CUDNN_PASS_ON(cudnnStatus_t, cudnnBackendFinalize,
                   (cudnnBackendDescriptor_t descriptor), (descriptor))
NULL_CUDNN_PASS_ON(cudnnStatus_t, cudnnBackendGetAttribute,
                   (cudnnBackendDescriptor_t descriptor,
                    cudnnBackendAttributeName_t name,
                    cudnnBackendAttributeType_t type, int64_t asked,
                    int64_t* count, void* elements),
                   (descriptor, name, type, asked, count, elements))

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(&somewhere);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t) { return CUDNN_STATUS_SUCCESS; }

cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) {
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t, cudaStream_t* stream) {
  *stream = nullptr;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type,
                                       int64_t count, const void* elements) {
  if (name == CUDNN_ATTR_DEVICEPROP_DEVICE_ID) {
    return SetDescription(descriptor);
  }
  const auto set = NULL_CUDNN_REAL_OF(cudnnBackendSetAttribute);
  if (name == CUDNN_ATTR_EXECUTION_PLAN_HANDLE) {
    const cudnnBackendDescriptor_t device = Device();
    return set(descriptor, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &device);
  }
  return set(descriptor, name, type, count, elements);
}

// What is bound must at least be there.
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle,
                                  cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t variant_pack) {
  return handle == reinterpret_cast<cudnnHandle_t>(&somewhere) &&
                 plan != nullptr && variant_pack != nullptr
             ? CUDNN_STATUS_SUCCESS
             : CUDNN_STATUS_BAD_PARAM;
}

}  // extern "C"
