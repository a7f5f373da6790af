#pragma once

#include <ios>
#include <string>
#include <string_view>

#include "cupel/rules/verdict_line.h"

namespace cupel {

enum class Colour { None, Alarm, Doubt, Fine };

/// `text` in a colour, where the stream's terminal shows colours; else as it is.
std::string painted(std::ios_base& stream, Colour colour, std::string_view text);

/// The colour of a rule's status: Alarm for what fired, Doubt for an error and for a rule that had
/// nothing to judge, Fine for a rule that
/// found nothing.
Colour colour_of(RuleStatus status) noexcept;

/// `text` with the first `name` of each of its lines in a colour. The name stands in the text as
/// printable() shows it.
std::string with_painted_name(std::ios_base& stream, Colour colour, std::string text,
                              std::string_view name);

/// to_text() of a line, for a stream: the rule's name in Alarm where the rule fired.
std::string painted_text(std::ios_base& stream, const VerdictLine& line);

}  // namespace cupel
