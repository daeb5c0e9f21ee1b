// JSON as the project writes and reads it.
//
// Objects keep the order in which they were built. A double is written in the
// shortest form that reads back to the same bits; a non-finite one as the
// string "NaN", "Infinity" or "-Infinity" (JSON has no such numbers). Equal
// values therefore give equal bytes.
//
//   Json results;
//   results["weights"] = {0.25, 0.25, 0.5};
//   std::string text = DumpJson(results);
#ifndef SOFTLOOKUP_BASE_JSON_H_
#define SOFTLOOKUP_BASE_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace softlookup {

using Json = nlohmann::ordered_json;

// Indented by two spaces, arrays of scalars on one line, a final newline.
std::string DumpJson(const Json& json);

// InvalidArgument, naming `source` and the place, when `text` is not one JSON
// value, has a duplicate key, or is not UTF-8.
absl::StatusOr<Json> ParseJson(absl::string_view text,
                               const std::string& source);

// The value at an RFC 6901 pointer such as "/rows/0/mean". NotFound names the
// pointer when it resolves to nothing. `json` must outlive the result.
absl::StatusOr<const Json*> ResolvePointer(const Json& json,
                                           const std::string& pointer);

// A number as a double, also from "NaN", "Infinity" and "-Infinity".
// InvalidArgument for anything else.
absl::StatusOr<double> JsonNumber(const Json& json);

// The shortest decimal that reads back as `value`: "0.1", "1e-50", "3.0";
// "NaN", "Infinity", "-Infinity".
std::string ShortestDouble(double value);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_JSON_H_
