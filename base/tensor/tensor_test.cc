#include "base/tensor/tensor.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using Elements = std::vector<double>;

TEST(Tensor, StartsEmptyOrAtZero) {
  const Tensor<double> none;
  EXPECT_EQ(none.size(), 0);
  EXPECT_EQ(none.shape(), Shape{});
  const Tensor<double> zeros({2, 3});
  EXPECT_EQ(zeros.size(), 6);
  EXPECT_EQ(zeros.dim(0), 2);
  EXPECT_EQ(zeros.dim(1), 3);
  EXPECT_EQ(zeros.elements(), Elements(6, 0.0));
  EXPECT_EQ(Tensor<double>({4, 0}).size(), 0);
  EXPECT_EQ(Tensor<double>(Shape{}).size(), 1);
}

TEST(Tensor, IndexesInRowMajorOrder) {
  Tensor<int> tensor({2, 3, 4});
  int count = 0;
  for (int& element : tensor.elements()) element = count++;
  EXPECT_EQ(tensor(0, 0, 0), 0);
  EXPECT_EQ(tensor(0, 0, 3), 3);
  EXPECT_EQ(tensor(0, 2, 1), 9);
  EXPECT_EQ(tensor(1, 0, 0), 12);
  EXPECT_EQ(tensor(1, 2, 3), 23);
  EXPECT_EQ(tensor[17], 17);
  tensor(1, 1, 1) = -1;
  EXPECT_EQ(tensor[17], -1);
  tensor[17] = -2;
  const Tensor<int>& constant = tensor;
  EXPECT_EQ(constant(1, 1, 1), -2);
  EXPECT_EQ(constant[17], -2);
  EXPECT_EQ(constant.data()[17], -2);
}

TEST(Tensor, ViewsShareTheElements) {
  Tensor<double> tensor({2, 2}, {1, 2, 3, 4});
  tensor.view()(1, 0) = 7;
  tensor.data()[1] = 8;
  EXPECT_EQ(tensor.elements(), (Elements{1, 8, 7, 4}));
  const Tensor<double>& constant = tensor;
  const StridedView<const double> view = constant.view();
  EXPECT_EQ(view.data(), tensor.data());
  EXPECT_EQ(view.shape(), tensor.shape());
  EXPECT_EQ(view.stride(0), 2);
}

TEST(Copy, PutsAViewInOrder) {
  const Tensor<double> tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor<double> transposed = Copy(tensor.view().Transpose(0, 1));
  EXPECT_EQ(transposed.shape(), (Shape{3, 2}));
  EXPECT_EQ(transposed.elements(), (Elements{1, 4, 2, 5, 3, 6}));
  EXPECT_NE(transposed.data(), tensor.data());
}

TEST(TensorDeathTest, ShapeAndElementsMustAgree) {
  EXPECT_DEATH(Tensor<double>({2, 2}, {1, 2, 3}),
               "one element per position of the shape");
  EXPECT_DEATH(Tensor<double>({2, -1}), "a valid shape");
  EXPECT_DEATH(Tensor<double>({std::numeric_limits<int64_t>::max(), 2}, {1.0}),
               "a valid shape");
}

}  // namespace
}  // namespace softlookup
