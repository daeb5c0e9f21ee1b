#include "attention/cudnn/cudnn_library.h"

#include <dlfcn.h>

#include <string>

#include "absl/status/status.h"
#include "base/runfiles.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

TEST(CheckCudnnVersionTest, AcceptsNineteenToTen) {
  for (const size_t version : {91900, 91901, 92000, 99999}) {
    EXPECT_TRUE(CheckCudnnVersion(version).ok()) << version;
  }
}

TEST(CheckCudnnVersionTest, RefusesOthers) {
  const absl::Status old = CheckCudnnVersion(91002);
  EXPECT_EQ(old.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(old.message(),
            "cuDNN is 9.10.2; needed: 9.19.0 or later, below 10.0.0");
  EXPECT_FALSE(CheckCudnnVersion(91899).ok());
  EXPECT_FALSE(CheckCudnnVersion(100000).ok());
  EXPECT_FALSE(CheckCudnnVersion(0).ok());
}

TEST(OpenCudnnTest, NamesWhatIsMissing) {
  void* handle = nullptr;
  const absl::Status status = OpenCudnn({"/no/libcudnn.so.9", "none"}, &handle);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "no cuDNN: /no/libcudnn.so.9 or none cannot be opened; put its "
            "folder into LD_LIBRARY_PATH");
  EXPECT_EQ(handle, nullptr);
}

TEST(OpenCudnnTest, RefusesAnotherLibrary) {
  void* handle = nullptr;
  const absl::Status status = OpenCudnn({"libm.so.6"}, &handle);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "libm.so.6 has no cudnnGetVersion: not cuDNN");
  EXPECT_EQ(handle, nullptr);
}

TEST(OpenCudnnTest, TakesTheFirstThatOpens) {
  const auto shipped = RunfilePath("../cuda/lib/libcudnn.so.9");
  ASSERT_TRUE(shipped.ok()) << shipped.status();
  void* handle = nullptr;
  const absl::Status status =
      OpenCudnn({"/no/libcudnn.so.9", *shipped}, &handle);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_NE(handle, nullptr);
}

TEST(OpenCublasLtTest, NamesWhatIsMissing) {
  EXPECT_EQ(OpenCublasLt({"/no/"}, 99),
            absl::FailedPreconditionError(
                "no cuBLAS, which cuDNN needs: libcublasLt.so.99 cannot be "
                "opened; put its folder into LD_LIBRARY_PATH"));
}

// cuDNN asks for it by its bare name, which the loader knows once it is open.
TEST(OpenCublasLtTest, IsThereForWhoAsksByName) {
  const auto shipped = RunfilePath("../cuda/lib/libcudnn.so.9");
  ASSERT_TRUE(shipped.ok()) << shipped.status();
  const absl::Status status = LoadCudnn();
  ASSERT_TRUE(status.ok()) << status;
  void* found = ::dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(found, nullptr);
  // The shipped one, not another that the system has.
  Dl_info info;
  ASSERT_NE(::dladdr(::dlsym(found, "cublasLtGetVersion"), &info), 0);
  const std::string path = info.dli_fname;
  EXPECT_EQ(path.substr(0, path.rfind('/') + 1),
            shipped->substr(0, shipped->rfind('/') + 1));
}

}  // namespace
}  // namespace softlookup::cudnn
