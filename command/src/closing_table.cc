#include "closing_table.h"

#include <algorithm>
#include <utility>

#include "colour.h"
#include "cupel/core/printable.h"
#include "table.h"

namespace cupel::command_detail {

void print_closing_table(const std::vector<VerdictLine>& closing,
                         const std::map<std::string, std::int64_t>& fired,
                         std::string_view printed_elsewhere, Printer out) {
  using enum Table::Align;
  Table table({"RULE", "STATUS", "FIRST STEP", "STEPS FIRED", "EVALUATED", "SKIPPED"},
              {Left, Left, Right, Right, Right, Right});
  std::vector<std::pair<std::string_view, std::string>>
      reasons;  // a message, and the names of its rules
  for (const VerdictLine& line : closing) {
    const auto steps = fired.find(line.name);
    table.add({line.name, std::string(to_string(line.status)),
               line.first_step ? std::to_string(*line.first_step) : "-",
               std::to_string(steps == fired.end() ? 0 : steps->second),
               std::to_string(line.steps_evaluated), std::to_string(line.steps_skipped)});
    table.paint(1, colour_of(line.status));
    // The message of an error begins with the name of its class.
    const bool is_printed = !printed_elsewhere.empty() && line.message.ends_with(printed_elsewhere);
    if (line.message.empty() || is_printed) continue;
    const auto same = std::ranges::find(reasons, std::string_view(line.message),
                                        [](const auto& reason) { return reason.first; });
    if (same == reasons.end()) {
      reasons.emplace_back(line.message, line.name);
    } else {
      same->second += ", " + line.name;
    }
  }
  table.print(out);
  if (!reasons.empty()) out << '\n';
  for (const auto& [message, rules] : reasons) {
    out << printable(rules) << ": ";
    for (std::size_t begin = 0; begin <= message.size();) {
      const std::size_t end = std::min(message.find('\n', begin), message.size());
      out << (begin == 0 ? "" : "  ") << printable(message.substr(begin, end - begin)) << '\n';
      begin = end + 1;
    }
  }
}

}  // namespace cupel::command_detail
