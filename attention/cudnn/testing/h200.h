// An H200, described for cuDNN: plans can be built for it where there is none.
//
//   GpuDescription::FromJson(kH200Json, kH200Capability)
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_TESTING_H200_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_TESTING_H200_H_

namespace softlookup::cudnn {

// With driver version 13.0, written by hand in the form of cuDNN's
// CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION.
inline constexpr const char* kH200Json = R"({
  "deviceVer": 900, "deviceName": "NVIDIA H200", "driverVer": 13000,
  "cudaDeviceId": 0, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1,
  "multiProcessorCount": 132, "warpSize": 32,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024,
  "maxRegistersPerSM": 65536, "regsPerBlock": 65536,
  "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
  "maxBlockSize": [1024, 1024, 64], "maxGridSize": [2147483647, 65535, 65535],
  "totalGlobalMem": 150754820096, "l2CacheSize": 62914560,
  "smClockRateKHz": 1980000, "memClockRateKHz": 3201000
})";
inline constexpr int kH200Capability = 90;

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_TESTING_H200_H_
