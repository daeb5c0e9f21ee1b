#include "experiments/worked_example/geometry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "absl/status/status.h"
#include "attention/attention.h"
#include "attention/textbook/single_head.h"
#include "base/elementary.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/matrix.h"
#include "base/tensor/tensor.h"

namespace softlookup {
namespace {

// How many drawn outputs the results keep for the figure.
constexpr int64_t kSample = 400;

Point RowPoint(const Tensor<double>& matrix, int64_t row) {
  return {matrix(row, 0), matrix(row, 1)};
}

double Norm(const Point& point) { return Distance(point, {0, 0}); }

double Smallest(const std::array<double, 3>& coordinates) {
  return *std::min_element(coordinates.begin(), coordinates.end());
}

// A query and three keys whose scores have a drawn size, from nearly uniform
// weights to saturated ones.
struct DrawnScores {
  Tensor<double> query;  // [1, 2]
  Tensor<double> key;    // [3, 2]
};
DrawnScores Draw(RandomStream& stream) {
  const double size = Pow(10.0, 2 * stream.Uniform() - 1);
  DrawnScores drawn;
  drawn.query = GaussianMatrix(stream, 1, kExampleWidth, size);
  drawn.key = GaussianMatrix(stream, kExampleTokens, kExampleWidth, size);
  return drawn;
}

// W_2 relu(W_1 x + b_1) + b_2 on each row of x, [T, width].
class FeedForward {
 public:
  FeedForward(RandomStream& stream, int64_t width)
      : in_(GaussianMatrix(stream, width, kHidden, 1)),
        in_bias_(GaussianMatrix(stream, 1, kHidden, 1)),
        out_(GaussianMatrix(stream, kHidden, width, 1)),
        out_bias_(GaussianMatrix(stream, 1, width, 1)) {}

  Tensor<double> operator()(const Tensor<double>& x) const {
    Tensor<double> hidden = MatrixProduct(x, in_);
    for (int64_t i = 0; i < hidden.size(); ++i) {
      hidden[i] = std::max(0.0, hidden[i] + in_bias_[i % kHidden]);
    }
    Tensor<double> y = MatrixProduct(hidden, out_);
    for (int64_t i = 0; i < y.size(); ++i) {
      y[i] += out_bias_[i % out_bias_.size()];
    }
    return y;
  }

 private:
  static constexpr int64_t kHidden = 8;
  Tensor<double> in_;
  Tensor<double> in_bias_;
  Tensor<double> out_;
  Tensor<double> out_bias_;
};

Json MeasureFirstOutput(const BoardCase& board, const Triangle& triangle) {
  return {{"point", RowPoint(board.head.output, 0)},
          {"distance_from_value_1",
           Distance(RowPoint(board.head.output, 0), triangle[0])}};
}

// The second output on the way from v_1 to v_2.
Json MeasureSecondOutput(const BoardCase& scaled, const BoardCase& unscaled,
                         const Triangle& triangle) {
  const Point point = RowPoint(scaled.head.output, 1);
  return {
      {"point", point},
      {"weight_1", scaled.head.weights(1, 0)},
      {"weight_2", scaled.head.weights(1, 1)},
      {"position_from_1_to_2", PositionAlong(triangle[0], triangle[1], point)},
      {"position_without_scale",
       PositionAlong(triangle[0], triangle[1],
                     RowPoint(unscaled.head.output, 1))},
      {"position_of_plain_average",
       PositionAlong(triangle[0], triangle[1],
                     {(triangle[0][0] + triangle[1][0]) / 2,
                      (triangle[0][1] + triangle[1][1]) / 2})},
      {"distance_from_line",
       DistanceFromLine(triangle[0], triangle[1], point)}};
}

// Distances from the three values, and by how much the third is the nearest.
Json DistancesFromValues(const Point& point, const Triangle& triangle) {
  std::array<double, 3> distances;
  for (size_t j = 0; j < 3; ++j) distances[j] = Distance(point, triangle[j]);
  return {
      {"point", point},
      {"distances", distances},
      {"nearest_value", NearestCorner(triangle, point) + 1},
      {"lead_of_value_3", std::min(distances[0], distances[1]) - distances[2]}};
}

Json MeasureThirdOutput(const BoardCase& board, const Triangle& triangle) {
  const Point point = RowPoint(board.head.output, 2);
  const std::array<double, 3> coordinates = Barycentric(triangle, point);
  double deviation = 0;
  Point average = {0, 0};
  Point beyond = {0, 0};
  for (int j = 0; j < 3; ++j) {
    deviation = std::max(deviation,
                         std::abs(coordinates[j] - board.head.weights(2, j)));
    for (int c = 0; c < 2; ++c) {
      average[c] += triangle[j][c] / 3;
      // As far beyond v_3 as the output lies before it.
      beyond[c] = 2 * triangle[2][c] - point[c];
    }
  }
  Json third = DistancesFromValues(point, triangle);
  third["coordinates"] = coordinates;
  third["coordinates_from_weights"] = deviation;
  third["smallest_coordinate"] = Smallest(coordinates);
  third["plain_average"] = DistancesFromValues(average, triangle);
  third["beyond_value_3"] = {
      {"point", beyond},
      {"smallest_coordinate", Smallest(Barycentric(triangle, beyond))}};
  return third;
}

// Token 1 under the mask, whatever its query and key.
absl::StatusOr<Json> MeasureFirstToken(const WorkedExample& example,
                                       const GeometryDraws& draws) {
  RandomStream stream(draws.seed, "first token");
  double causal = 0;
  double unmasked = 0;
  const int64_t count = std::min<int64_t>(draws.draws, 1000);
  for (int64_t n = 0; n < count; ++n) {
    WorkedExample drawn = example;
    for (int64_t c = 0; c < kExampleWidth; ++c) {
      drawn.query(0, c) = 3 * stream.Gaussian();
      drawn.key(0, c) = 3 * stream.Gaussian();
    }
    for (const bool mask : {true, false}) {
      SOFTLOOKUP_ASSIGN_OR_RETURN(
          const HeadOutputs<double> head,
          HeadForward(drawn.query, drawn.key, drawn.value,
                      CaseOptions(mask, true)));
      double& largest = mask ? causal : unmasked;
      largest = std::max(largest, Distance(RowPoint(head.output, 0),
                                           RowPoint(example.value, 0)));
    }
  }
  return Json{{"draws", count},
              {"largest_distance_from_value_1", causal},
              {"largest_distance_without_mask", unmasked}};
}

// What a rule of mixing does over the draws.
struct HullCount {
  int64_t outside = 0;
  double smallest_coordinate = HUGE_VAL;
  double largest_length = 0;  // relative to the longest value
  std::vector<Point> sample;

  void Add(const Triangle& triangle, const Point& point) {
    const double smallest = Smallest(Barycentric(triangle, point));
    // Written so that a NaN is outside.
    if (!(smallest >= -HullTolerance(triangle))) ++outside;
    smallest_coordinate = std::min(smallest_coordinate, smallest);
    const double longest =
        std::max({Norm(triangle[0]), Norm(triangle[1]), Norm(triangle[2])});
    largest_length = std::max(largest_length, Norm(point) / longest);
    if (static_cast<int64_t>(sample.size()) < kSample) sample.push_back(point);
  }

  Json ToJson() const {
    return {{"outside", outside},
            {"smallest_coordinate", smallest_coordinate},
            {"largest_length", largest_length},
            {"sample", sample}};
  }
};

absl::StatusOr<Json> MeasureHull(const WorkedExample& example,
                                 const GeometryDraws& draws) {
  const Triangle triangle = ValueTriangle(example);
  RandomStream stream(draws.seed, "hull");
  RandomStream network_stream(draws.seed, "hull feed-forward");
  HullCount attention;
  HullCount linear;
  HullCount feed_forward;
  for (int64_t n = 0; n < draws.draws; ++n) {
    const DrawnScores drawn = Draw(stream);
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const HeadOutputs<double> head,
        HeadForward(drawn.query, drawn.key, example.value, {}));
    attention.Add(triangle, RowPoint(head.output, 0));
    // The scores themselves as weights: no softmax.
    Tensor<double> scores = MatrixProduct(drawn.query, Transposed(drawn.key));
    for (double& score : scores.elements()) {
      score *= AttentionScale({}, kExampleWidth);
    }
    linear.Add(triangle, RowPoint(MatrixProduct(scores, example.value), 0));
    const FeedForward network(network_stream, kExampleWidth);
    feed_forward.Add(triangle, RowPoint(network(head.output), 0));
  }
  return Json{{"draws", draws.draws},
              {"tolerance", HullTolerance(triangle)},
              {"attention", attention.ToJson()},
              {"scores_without_softmax", linear.ToJson()},
              {"feed_forward", feed_forward.ToJson()}};
}

// Values in a plane through the origin of three dimensions: the component of
// the output across the plane, relative to its length.
absl::StatusOr<Json> MeasureNewDirection(const GeometryDraws& draws) {
  RandomStream stream(draws.seed, "new direction");
  double attention = 0;
  std::vector<double> feed_forward;
  const int64_t count = std::min<int64_t>(draws.draws, 1000);
  for (int64_t n = 0; n < count; ++n) {
    const Tensor<double> plane = GaussianMatrix(stream, 2, 3, 1);
    std::array<double, 3> normal;
    double length = 0;
    for (int c = 0; c < 3; ++c) {
      const int a = (c + 1) % 3;
      const int b = (c + 2) % 3;
      normal[c] = plane(0, a) * plane(1, b) - plane(0, b) * plane(1, a);
      length += normal[c] * normal[c];
    }
    const auto across = [&normal, length](const Tensor<double>& x) {
      double product = 0;
      double size = 0;
      for (int c = 0; c < 3; ++c) {
        product += x(0, c) * normal[c];
        size += x(0, c) * x(0, c);
      }
      return std::abs(product) / std::sqrt(length * size);
    };
    const DrawnScores drawn = Draw(stream);
    const Tensor<double> value =
        MatrixProduct(GaussianMatrix(stream, kExampleTokens, 2, 1), plane);
    SOFTLOOKUP_ASSIGN_OR_RETURN(const HeadOutputs<double> head,
                                HeadForward(drawn.query, drawn.key, value, {}));
    attention = std::max(attention, across(head.output));
    const FeedForward network(stream, 3);
    feed_forward.push_back(across(network(head.output)));
  }
  std::sort(feed_forward.begin(), feed_forward.end());
  return Json{{"draws", count},
              {"attention_largest", attention},
              {"feed_forward_median", feed_forward[feed_forward.size() / 2]}};
}

// How much of a change in a token's own vector its output shows: through
// attention alone, and with the residual path that adds the vector itself.
absl::StatusOr<Json> MeasureOwnVector(const WorkedExample& example) {
  Json shares;
  double alone = HUGE_VAL;
  double residual = HUGE_VAL;
  SOFTLOOKUP_ASSIGN_OR_RETURN(const BoardCase before,
                              ComputeBoardCase(example, false, true));
  for (int64_t i = 0; i < kExampleTokens; ++i) {
    WorkedExample moved = example;
    moved.value(i, 0) += 1;
    SOFTLOOKUP_ASSIGN_OR_RETURN(const BoardCase after,
                                ComputeBoardCase(moved, false, true));
    const double change = after.head.output(i, 0) - before.head.output(i, 0);
    const double own_change = moved.value(i, 0) - example.value(i, 0);
    alone = std::min(alone, change);
    residual = std::min(residual, change + own_change);
  }
  return Json{{"smallest_share_attention_alone", alone},
              {"smallest_share_with_residual", residual}};
}

}  // namespace

Triangle ValueTriangle(const WorkedExample& example) {
  return {RowPoint(example.value, 0), RowPoint(example.value, 1),
          RowPoint(example.value, 2)};
}

double HullTolerance(const Triangle& triangle) {
  double largest = 0;
  for (const Point& corner : triangle) {
    for (const double x : corner) largest = std::max(largest, std::abs(x));
  }
  // A coordinate is a product of two differences over the area. The point
  // carries some 8 roundings of numbers up to `largest`, each multiplied by a
  // difference of up to twice that; the products round 3 times at up to
  // 8 largest^2. Together below 64 rounding units of largest^2 / area.
  return 64 * 0x1p-53 * largest * largest / std::abs(TwiceSignedArea(triangle));
}

absl::StatusOr<Json> MeasureGeometry(const WorkedExample& example,
                                     const GeometryDraws& draws) {
  const Triangle triangle = ValueTriangle(example);
  if (!(std::abs(TwiceSignedArea(triangle)) > 0)) {
    return absl::InvalidArgumentError(
        "--values are three points on one line; allowed: the corners of a "
        "triangle");
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(const BoardCase scaled,
                              ComputeBoardCase(example, true, true));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const BoardCase unscaled,
                              ComputeBoardCase(example, true, false));
  Json geometry;
  geometry["values"] = triangle;
  geometry["output_1"] = MeasureFirstOutput(scaled, triangle);
  geometry["output_2"] = MeasureSecondOutput(scaled, unscaled, triangle);
  geometry["output_3"] = MeasureThirdOutput(scaled, triangle);
  SOFTLOOKUP_ASSIGN_OR_RETURN(geometry["first_token"],
                              MeasureFirstToken(example, draws));
  SOFTLOOKUP_ASSIGN_OR_RETURN(geometry["hull"], MeasureHull(example, draws));
  SOFTLOOKUP_ASSIGN_OR_RETURN(geometry["new_direction"],
                              MeasureNewDirection(draws));
  SOFTLOOKUP_ASSIGN_OR_RETURN(geometry["own_vector"],
                              MeasureOwnVector(example));
  return geometry;
}

}  // namespace softlookup
