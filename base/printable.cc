#include "base/printable.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace softlookup {
namespace {

// The length of the UTF-8 character that `text` begins with; 0 if it begins
// with none. By RFC 3629 a character takes its shortest form, is no surrogate
// and is at most U+10FFFF.
size_t CharacterLength(absl::string_view text) {
  const uint8_t lead = static_cast<uint8_t>(text[0]);
  size_t length;
  uint32_t smallest;
  uint32_t character;
  if (lead < 0x80) {
    return 1;
  } else if (lead >= 0xc0 && lead < 0xe0) {
    length = 2;
    smallest = 0x80;
    character = lead & 0x1f;
  } else if (lead >= 0xe0 && lead < 0xf0) {
    length = 3;
    smallest = 0x800;
    character = lead & 0x0f;
  } else if (lead >= 0xf0 && lead < 0xf8) {
    length = 4;
    smallest = 0x10000;
    character = lead & 0x07;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (size_t n = 1; n < length; ++n) {
    const uint8_t byte = static_cast<uint8_t>(text[n]);
    if ((byte & 0xc0) != 0x80) return 0;
    character = character << 6 | (byte & 0x3f);
  }
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  if (character < smallest || character > 0x10ffff || surrogate) return 0;
  return length;
}

bool IsWhiteSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Of what is one byte long. The second control range of Latin-1, U+0080 to
// U+009F, takes two bytes.
bool IsControl(absl::string_view character) {
  const uint8_t first = static_cast<uint8_t>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && static_cast<uint8_t>(character[1]) < 0xa0;
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    const absl::string_view character =
        text.substr(0, length == 0 ? 1 : length);
    if (IsWhiteSpace(character[0])) {
      printable += ' ';
    } else if (length == 0 || IsControl(character)) {
      for (const char byte : character) {
        absl::StrAppend(&printable, "\\x",
                        absl::Hex(static_cast<uint8_t>(byte), absl::kZeroPad2));
      }
    } else {
      printable.append(character.data(), character.size());
    }
    text.remove_prefix(character.size());
  }
  return printable;
}

}  // namespace softlookup
