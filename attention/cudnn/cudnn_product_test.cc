#include "attention/cudnn/cudnn_product.h"

#include <vector>

#include "base/tensor/dtype.h"
#include "base/tensor/shape.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

TEST(MatrixProductTest, CountsMultiplicationsAndAdditions) {
  EXPECT_EQ((MatrixProduct{.rows = 3, .columns = 5, .inner = 7}).Operations(),
            210);
  // 2^40: more than an int holds.
  EXPECT_EQ((MatrixProduct{.rows = 8192, .columns = 8192, .inner = 8192})
                .Operations(),
            1099511627776.0);
}

TEST(MatrixProductTest, TensorsAreRowByRow) {
  const std::vector<CudnnTensor> tensors =
      ProductTensors({.rows = 3, .columns = 5, .inner = 7});
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[0], (CudnnTensor{CudnnTensorId::kFactorA, "a", Dtype::kBF16,
                                     Shape{1, 3, 7}, Shape{21, 7, 1}, false}));
  EXPECT_EQ(tensors[1], (CudnnTensor{CudnnTensorId::kFactorB, "b", Dtype::kBF16,
                                     Shape{1, 7, 5}, Shape{35, 5, 1}, false}));
  EXPECT_EQ(tensors[2], (CudnnTensor{CudnnTensorId::kProduct, "c", Dtype::kBF16,
                                     Shape{1, 3, 5}, Shape{15, 5, 1}, true}));
}

}  // namespace
}  // namespace softlookup::cudnn
