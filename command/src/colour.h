#pragma once

#include <ios>
#include <string>
#include <string_view>

#include "cupel/rules/verdict_line.h"

namespace cupel::command_detail {

enum class Colour { None, Alarm, Doubt, Fine };

/// Returns `text` in a colour where the terminal of the stream shows colours, else unchanged.
std::string painted(std::ios_base& stream, Colour colour, std::string_view text);

/// Returns the colour of a rule's status: Alarm for a rule that fired, Doubt for an error and for a
/// rule that had nothing to judge, Fine for a rule that found nothing.
Colour colour_of(RuleStatus status) noexcept;

/// Returns `text` with the first `name` of each of its lines in a colour. The text has the name as
/// printable() shows it.
std::string with_painted_name(std::ios_base& stream, Colour colour, std::string text,
                              std::string_view name);

/// Returns to_text() of a line for a stream. The name of a rule that fired has the colour Alarm.
std::string painted_text(std::ios_base& stream, const VerdictLine& line);

}  // namespace cupel::command_detail
