#include "base/json.h"

#include <charconv>
#include <cmath>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace softlookup {
namespace {

constexpr int kMaxLineWidth = 100;

// Whether an array fits on one line: no structure inside but scalars.
bool IsFlat(const Json& array) {
  for (const Json& element : array) {
    if (element.is_structured()) return false;
  }
  return true;
}

// Writes `json` as it stands after `indent` spaces of indentation.
void Append(const Json& json, int indent, std::string& out) {
  const std::string margin(indent + 2, ' ');
  switch (json.type()) {
    case Json::value_t::number_float: {
      const double value = json.get<double>();
      const std::string text = ShortestDouble(value);
      out += std::isfinite(value) ? text : absl::StrCat("\"", text, "\"");
      return;
    }
    case Json::value_t::object: {
      if (json.empty()) break;
      out += "{";
      const char* separator = "\n";
      for (const auto& [key, value] : json.items()) {
        absl::StrAppend(&out, separator, margin, Json(key).dump(), ": ");
        Append(value, indent + 2, out);
        separator = ",\n";
      }
      absl::StrAppend(&out, "\n", margin.substr(2), "}");
      return;
    }
    case Json::value_t::array: {
      if (json.empty()) break;
      const bool flat = IsFlat(json);
      out += "[";
      size_t line_start = out.size();
      bool first = true;
      for (const Json& element : json) {
        if (!first) out += ",";
        if (!flat) {
          absl::StrAppend(&out, "\n", margin);
        } else if (out.size() - line_start > kMaxLineWidth) {
          absl::StrAppend(&out, "\n", margin);
          line_start = out.size();
        } else if (!first) {
          out += " ";
        }
        Append(element, indent + 2, out);
        first = false;
      }
      if (!flat) absl::StrAppend(&out, "\n", margin.substr(2));
      out += "]";
      return;
    }
    default:
      break;
  }
  out += json.dump();
}

// Rejects duplicate keys, which nlohmann-json would silently resolve to one.
class DuplicateKeyGuard {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
        keys_.resize(depth + 2);
        keys_[depth + 1].clear();
        break;
      case Json::parse_event_t::key:
        if (!keys_[depth].insert(parsed.get<std::string>()).second &&
            duplicate_.empty()) {
          duplicate_ = parsed.get<std::string>();
        }
        break;
      default:
        break;
    }
    return true;
  }
  const std::string& duplicate() const { return duplicate_; }

 private:
  std::vector<std::set<std::string>> keys_;
  std::string duplicate_;
};

}  // namespace

std::string ShortestDouble(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char buffer[32];
  const std::to_chars_result end =
      std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, end.ptr);
  // A double stays one when it is read back.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string DumpJson(const Json& json) {
  std::string out;
  Append(json, 0, out);
  out += "\n";
  return out;
}

absl::StatusOr<Json> ParseJson(absl::string_view text,
                               const std::string& source) {
  // The JSON library would take a NUL for the end of the text.
  if (const size_t nul = text.find('\0'); nul != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": not valid JSON: NUL at byte ", nul));
  }
  DuplicateKeyGuard guard;
  try {
    Json json = Json::parse(
        text.begin(), text.end(),
        [&guard](int depth, Json::parse_event_t event, Json& parsed) {
          return guard(depth, event, parsed);
        });
    if (!guard.duplicate().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(source, ": duplicate key \"", guard.duplicate(), "\""));
    }
    return json;
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": not valid JSON: ", error.what()));
  }
}

absl::StatusOr<const Json*> ResolvePointer(const Json& json,
                                           const std::string& pointer) {
  try {
    return &json.at(Json::json_pointer(pointer));
  } catch (const Json::exception& error) {
    return absl::NotFoundError(absl::StrCat(
        "pointer \"", pointer, "\" resolves to nothing: ", error.what()));
  }
}

absl::StatusOr<double> JsonNumber(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json == "NaN") return std::nan("");
  if (json == "Infinity") return HUGE_VAL;
  if (json == "-Infinity") return -HUGE_VAL;
  const std::string found =
      json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return absl::InvalidArgumentError(
      absl::StrCat("expected a number, found ", found.substr(0, 80)));
}

}  // namespace softlookup
