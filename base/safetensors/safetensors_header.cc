#include "base/safetensors/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/tensor/stored_tensor.h"
#include "nlohmann/json.hpp"

namespace softlookup {
namespace {

using Json = nlohmann::json;

constexpr char kMetadata[] = "__metadata__";

// Builds the header from the events of a JSON parse, without a tree between:
// what does not belong where it stands ends the parse at once, so that neither
// depth nor size of a hostile header costs more than its bytes.
class HeaderBuilder final : public nlohmann::json_sax<Json> {
 public:
  // InvalidArgument with what is wrong, or OK.
  const absl::Status& status() const { return status_; }
  SafetensorsHeader TakeHeader() { return std::move(header_); }

  bool null() override { return Unexpected("null"); }
  bool boolean(bool) override { return Unexpected("a boolean"); }
  bool number_integer(int64_t) override {
    return Unexpected("a negative number");
  }
  bool number_float(double, const std::string& text) override {
    return Unexpected(absl::StrCat("the number ", text.substr(0, 40)));
  }
  bool binary(Json::binary_t&) override { return Unexpected("binary data"); }

  bool number_unsigned(uint64_t number) override {
    if (place_ != Place::kShape && place_ != Place::kOffsets) {
      return Unexpected("a number");
    }
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Unexpected(absl::StrCat("the number ", number));
    }
    std::vector<int64_t>& numbers =
        place_ == Place::kShape ? entry_.shape : offsets_;
    if (place_ == Place::kShape && numbers.size() == kMaxSafetensorsRank) {
      return Fail(
          absl::StrCat("has more than ", kMaxSafetensorsRank, " dimensions"));
    }
    if (place_ == Place::kOffsets && numbers.size() == 2) {
      return Fail("has more than two data_offsets");
    }
    numbers.push_back(static_cast<int64_t>(number));
    return true;
  }

  bool string(std::string& text) override {
    if (place_ == Place::kMetadata) {
      header_.metadata[member_] = std::move(text);
      return true;
    }
    if (place_ != Place::kEntry || member_ != "dtype") {
      return Unexpected("a string");
    }
    const std::optional<Dtype> dtype = DtypeFromName(text);
    if (!dtype) {
      return Fail(absl::StrCat("has unknown dtype ", QuotedName(text),
                               "; allowed: ", AllDtypeNames()));
    }
    entry_.dtype = *dtype;
    return true;
  }

  bool start_object(size_t) override {
    if (place_ == Place::kStart) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop) {
      place_ = name_ == kMetadata ? Place::kMetadata : Place::kEntry;
      members_.clear();
      entry_ = SafetensorsEntry();
      offsets_.clear();
    } else {
      return Unexpected("an object");
    }
    return true;
  }

  bool key(std::string& text) override {
    if (place_ == Place::kTop) {
      name_ = std::move(text);
      return names_.insert(name_).second || Fail("appears twice");
    }
    member_ = std::move(text);
    if (!members_.insert(member_).second) {
      return Fail(absl::StrCat("has ", QuotedName(member_), " twice"));
    }
    if (place_ == Place::kEntry && member_ != "dtype" && member_ != "shape" &&
        member_ != "data_offsets") {
      return Fail(absl::StrCat("has the unknown member ", QuotedName(member_),
                               "; allowed: dtype, shape, data_offsets"));
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kEntry && !FinishEntry()) return false;
    place_ = Place::kTop;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ == Place::kEntry && member_ == "shape") {
      place_ = Place::kShape;
    } else if (place_ == Place::kEntry && member_ == "data_offsets") {
      place_ = Place::kOffsets;
    } else {
      return Unexpected("an array");
    }
    return true;
  }

  bool end_array() override {
    place_ = Place::kEntry;
    return true;
  }

  bool parse_error(size_t, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // The message may quote a token of any length.
    status_ = absl::InvalidArgumentError(
        absl::StrCat("the header is not valid JSON: ",
                     absl::string_view(error.what()).substr(0, 300)));
    return false;
  }

 private:
  enum class Place { kStart, kTop, kMetadata, kEntry, kShape, kOffsets };

  bool Fail(const std::string& what) {
    const std::string subject =
        name_ == kMetadata ? kMetadata
                           : absl::StrCat("tensor ", QuotedName(name_));
    status_ = absl::InvalidArgumentError(absl::StrCat(subject, " ", what));
    return false;
  }

  // A value of the wrong kind for its place.
  bool Unexpected(const std::string& found) {
    switch (place_) {
      case Place::kStart:
        status_ = absl::InvalidArgumentError(
            absl::StrCat("the header must be an object, found ", found));
        return false;
      case Place::kTop:
        return Fail(absl::StrCat("must be an object, found ", found));
      case Place::kMetadata:
        return Fail(absl::StrCat("must hold strings, found ", found, " at ",
                                 QuotedName(member_)));
      case Place::kEntry:
        return Fail(absl::StrCat(
            member_ == "dtype" ? "needs a string" : "needs an array", " as ",
            member_, ", found ", found));
      case Place::kShape:
        return Fail(absl::StrCat(
            "has ", found,
            " in its shape; allowed: integers from 0 to 2^63 - 1"));
      case Place::kOffsets:
        return Fail(absl::StrCat(
            "has ", found,
            " in its data_offsets; allowed: integers from 0 to 2^63 - 1"));
    }
    return false;
  }

  bool FinishEntry() {
    for (const char* member : {"dtype", "shape", "data_offsets"}) {
      if (members_.count(member) == 0) {
        return Fail(absl::StrCat("has no ", member));
      }
    }
    if (offsets_.size() != 2) {
      return Fail("needs two data_offsets, begin and end");
    }
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    const std::optional<int64_t> bytes =
        TensorBytes(entry_.dtype, entry_.shape);
    if (!bytes) {
      return Fail(absl::StrCat("has shape ", ShapeString(entry_.shape), " of ",
                               DtypeName(entry_.dtype),
                               ", which is no whole number of bytes below "
                               "2^60"));
    }
    if (entry_.begin > entry_.end || entry_.end - entry_.begin != *bytes) {
      return Fail(absl::StrCat("has data_offsets ", ShapeString(offsets_),
                               "; shape ", ShapeString(entry_.shape), " of ",
                               DtypeName(entry_.dtype), " needs ", *bytes,
                               " bytes"));
    }
    entry_.name = name_;
    header_.entries.push_back(std::move(entry_));
    return true;
  }

  absl::Status status_;
  SafetensorsHeader header_;
  Place place_ = Place::kStart;
  std::string name_;               // the current member of the top object
  std::string member_;             // the current member of an object in it
  std::set<std::string> names_;    // seen in the top object
  std::set<std::string> members_;  // seen in the current object in it
  SafetensorsEntry entry_;
  std::vector<int64_t> offsets_;
};

// Orders the entries by their data, and checks that they cover it.
absl::Status CheckCoverage(SafetensorsHeader& header) {
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
                     return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
                   });
  int64_t covered = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.begin != covered) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor ", QuotedName(entry.name), " begins at byte ", entry.begin,
          entry.begin < covered ? ", inside the tensor before it: expected "
                                : ", after a gap: expected ",
          covered));
    }
    covered = entry.end;
  }
  return absl::OkStatus();
}

absl::StatusOr<SafetensorsHeader> Parse(absl::string_view json) {
  // The JSON library takes a NUL for the end of the text.
  if (const size_t nul = json.find('\0'); nul != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("the header has a NUL at byte ", nul));
  }
  if (json.empty() || json.front() != '{') {
    return absl::InvalidArgumentError("the header must begin with {");
  }
  HeaderBuilder builder;
  Json::sax_parse(json.begin(), json.end(), &builder);
  SOFTLOOKUP_RETURN_IF_ERROR(builder.status());
  SafetensorsHeader header = builder.TakeHeader();
  SOFTLOOKUP_RETURN_IF_ERROR(CheckCoverage(header));
  return header;
}

}  // namespace

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(
    absl::string_view json, const std::string& source) {
  absl::StatusOr<SafetensorsHeader> header = Parse(json);
  if (!header.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": ", header.status().message()));
  }
  return header;
}

absl::StatusOr<std::string> FormatSafetensorsHeader(
    const SafetensorsHeader& header) {
  std::string text = "{";
  const auto append = [&text](const std::string& name,
                              const std::string& value) {
    absl::StrAppend(&text, text.size() > 1 ? "," : "", Json(name).dump(), ":",
                    value);
  };
  try {
    if (!header.metadata.empty()) {
      append(kMetadata, Json(header.metadata).dump());
    }
    for (const SafetensorsEntry& entry : header.entries) {
      append(entry.name, absl::StrCat("{\"dtype\":\"", DtypeName(entry.dtype),
                                      "\",\"shape\":", Json(entry.shape).dump(),
                                      ",\"data_offsets\":[", entry.begin, ",",
                                      entry.end, "]}"));
    }
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a tensor's name or the metadata is not UTF-8: ", error.what()));
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (static_cast<int64_t>(text.size()) > kMaxSafetensorsHeader) {
    return absl::InvalidArgumentError(
        absl::StrCat("the header would have ", text.size(),
                     " bytes; the format allows ", kMaxSafetensorsHeader));
  }
  return text;
}

}  // namespace softlookup
