#include "experiments/frame/experiment_parameters.h"

#include <filesystem>
#include <map>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/str_cat.h"

namespace softlookup {
namespace {

// The flags of one source file, by name.
std::map<std::string, const absl::CommandLineFlag*> ParameterFlags(
    const std::string& source_stem) {
  std::map<std::string, const absl::CommandLineFlag*> parameters;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    if (std::filesystem::path(flag->Filename()).stem() == source_stem) {
      parameters.emplace(std::string(name), flag);
    }
  }
  return parameters;
}

Json FlagValue(const absl::CommandLineFlag& flag) {
  if (const auto value = flag.TryGet<bool>()) return *value;
  if (const auto value = flag.TryGet<int32_t>()) return *value;
  if (const auto value = flag.TryGet<int64_t>()) return *value;
  if (const auto value = flag.TryGet<uint32_t>()) return *value;
  if (const auto value = flag.TryGet<uint64_t>()) return *value;
  if (const auto value = flag.TryGet<double>()) return *value;
  return flag.CurrentValue();
}

absl::Status OutOfRange(const std::string& flag, const std::string& value,
                        const std::string& low, const std::string& high) {
  return absl::InvalidArgumentError(absl::StrCat(
      "--", flag, " is ", value, "; allowed: ", low, " to ", high));
}

}  // namespace

Json ParameterValues(const std::string& source_stem) {
  Json values = Json::object();
  for (const auto& [name, flag] : ParameterFlags(source_stem)) {
    values[name] = FlagValue(*flag);
  }
  return values;
}

std::vector<std::string> ChangedParameters(const std::string& source_stem) {
  std::vector<std::string> changed;
  for (const auto& [name, flag] : ParameterFlags(source_stem)) {
    const std::string value = flag->CurrentValue();
    if (value != flag->DefaultValue()) {
      changed.push_back(absl::StrCat("--", name, "=", value));
    }
  }
  return changed;
}

absl::Status CheckParameter(const std::string& flag, int64_t value, int64_t low,
                            int64_t high) {
  if (value < low || value > high) {
    return OutOfRange(flag, absl::StrCat(value), absl::StrCat(low),
                      absl::StrCat(high));
  }
  return absl::OkStatus();
}

absl::Status CheckParameter(const std::string& flag, double value, double low,
                            double high) {
  // Written so that a NaN is out of range too.
  if (!(value >= low && value <= high)) {
    // In full: 1.0000001 must not be told that it is 1 and 1 is allowed.
    return OutOfRange(flag, ShortestDouble(value), ShortestDouble(low),
                      ShortestDouble(high));
  }
  return absl::OkStatus();
}

}  // namespace softlookup
