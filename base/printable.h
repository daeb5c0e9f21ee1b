// Text that is safe to print on one line of a terminal.
//
//   Printable("a\tb\xff")      // "a b\\xff"
#ifndef SOFTLOOKUP_BASE_PRINTABLE_H_
#define SOFTLOOKUP_BASE_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace softlookup {

// The text with white space as spaces, and with other control characters and
// bytes that are not UTF-8 (RFC 3629) as \xNN. Text from files gets into
// messages, and neither breaks the line nor drives the terminal.
std::string Printable(absl::string_view text);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_PRINTABLE_H_
