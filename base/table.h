// Aligned tables for terminals.
//
//   Table table({"d_k", "standard deviation"});
//   table.AddRow({"128", Fixed(11.3137, 3)});
//   std::fputs(table.ToString().c_str(), stdout);
//
// Columns whose cells are all numbers are aligned right. Widths count Unicode
// code points; Chinese characters count as two columns.
#ifndef SOFTLOOKUP_BASE_TABLE_H_
#define SOFTLOOKUP_BASE_TABLE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace softlookup {

class Table {
 public:
  explicit Table(std::vector<std::string> header);
  // As many cells as the header has.
  void AddRow(std::vector<std::string> cells);
  // Header, a rule, one line per row.
  std::string ToString() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the first is the header
};

// `value` with a fixed number of decimals, or in scientific form where that
// would show only zeros or be over 12 characters; "NaN", "inf", "-inf".
std::string Fixed(double value, int decimals);

// The same for each of `values`, in parentheses: "(1.759, 2.007)". Zeros have
// no sign.
std::string Tuple(absl::Span<const double> values, int decimals = 3);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_TABLE_H_
