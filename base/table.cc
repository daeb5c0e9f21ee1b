#include "base/table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_format.h"
#include "base/check.h"

namespace softlookup {
namespace {

// Terminal columns of UTF-8 text: two for the wide East Asian blocks that the
// project uses (CJK ideographs and full-width forms), one for anything else.
int DisplayWidth(const std::string& text) {
  int width = 0;
  for (size_t i = 0; i < text.size();) {
    const unsigned char lead = text[i];
    const int length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    uint32_t point = length == 1 ? lead : lead & (0xFF >> (length + 1));
    for (int k = 1; k < length && i + k < text.size(); ++k) {
      point = point << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3F);
    }
    const bool wide = (point >= 0x2E80 && point <= 0x9FFF) ||
                      (point >= 0xF900 && point <= 0xFAFF) ||
                      (point >= 0xFF00 && point <= 0xFF60);
    width += wide ? 2 : 1;
    i += length;
  }
  return width;
}

bool IsNumber(const std::string& text) {
  if (text.empty()) return true;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return *end == '\0';
}

}  // namespace

Table::Table(std::vector<std::string> header) {
  rows_.push_back(std::move(header));
}

void Table::AddRow(std::vector<std::string> cells) {
  SOFTLOOKUP_CHECK(cells.size() == rows_.front().size(), "one cell per column");
  rows_.push_back(std::move(cells));
}

std::string Table::ToString() const {
  const size_t columns = rows_.front().size();
  std::vector<int> widths(columns, 0);
  std::vector<bool> numeric(columns, true);
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (size_t c = 0; c < columns; ++c) {
      widths[c] = std::max(widths[c], DisplayWidth(rows_[r][c]));
      if (r > 0 && !IsNumber(rows_[r][c])) numeric[c] = false;
    }
  }
  std::string out;
  const auto append_line = [&out](std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  for (size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    std::string rule;
    for (size_t c = 0; c < columns; ++c) {
      const std::string& cell = rows_[r][c];
      const std::string padding(widths[c] - DisplayWidth(cell), ' ');
      if (c > 0) {
        line += "  ";
        rule += "  ";
      }
      line += numeric[c] ? padding + cell : cell + padding;
      rule += std::string(widths[c], '-');
    }
    append_line(line);
    if (r == 0) append_line(rule);
  }
  return out;
}

std::string Fixed(double value, int decimals) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  value += 0.0;  // -0 becomes 0
  const std::string text = absl::StrFormat("%.*f", decimals, value);
  const bool only_zeros = text.find_first_not_of("-0.") == std::string::npos;
  if ((only_zeros && value != 0) || text.size() > 12) {
    return absl::StrFormat("%.*e", std::max(decimals - 1, 1), value);
  }
  return text;
}

std::string Tuple(absl::Span<const double> values, int decimals) {
  std::string text = "(";
  for (const double value : values) {
    if (text.size() > 1) text += ", ";
    text += Fixed(value == 0 ? 0.0 : value, decimals);
  }
  return text + ")";
}

}  // namespace softlookup
