// Measured speeds as lines of a table and as JSON.
//
//   std::printf("%s", SpeedHeader().c_str());
//   const SpeedRow row = {speed_case, samples};
//   std::printf("%s", SpeedLine(row, product.Best()).c_str());
//   report.json()["speed"].push_back(SpeedJson(row, product.Best()));
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_SPEED_TABLE_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_SPEED_TABLE_H_

#include <optional>
#include <string>

#include "attention/cudnn/cudnn_product.h"
#include "attention/cudnn/speed_cases.h"
#include "attention/cudnn/speed_samples.h"
#include "base/json.h"

namespace softlookup::cudnn {

// A matrix product's speed, by whoever can compute it.
struct ProductSpeed {
  MatrixProduct product;
  SpeedSamples samples = {};  // `ours` may be empty too
  absl::Status ours_status = absl::OkStatus();

  // TFLOP/s at the median.
  std::optional<double> Ours() const;
  std::optional<double> Theirs() const;
  // The faster of them, against which attention is held.
  std::optional<double> Best() const;
};

// "matrix product 8192 x 8192 x 8192, bfloat16: cuDNN 780 TFLOP/s, PyTorch 790;
// % of PyTorch's below".
std::string ProductLine(const ProductSpeed& product);
Json ProductJson(const ProductSpeed& product);

struct SpeedRow {
  SpeedCase speed_case;
  SpeedSamples samples = {};
};

// Ours and PyTorch's TFLOP/s at the median; the ratio of the medians with the
// middle half of the rounds; whether ours is within 3 %; and our share of the
// matrix product's speed, if that is known. "-" for what is not there.
std::string SpeedHeader();
std::string SpeedLine(const SpeedRow& row, std::optional<double> product);
Json SpeedJson(const SpeedRow& row, std::optional<double> product);

// What a call costs the host, and the target that it should be below.
inline constexpr double kHostMicroseconds = 10;
// "host: 6.3 us a forward call; target below 10: met".
std::string HostLine(const std::string& pass, double microseconds);
Json HostJson(double microseconds);

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_SPEED_TABLE_H_
