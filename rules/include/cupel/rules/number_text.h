#pragma once

#include <string>
#include <string_view>

namespace cupel {

/// The shortest decimal text that reads back as the same number; "NaN", "Infinity", "-Infinity".
std::string shortest_text(double number);

/// Six significant digits at most: for people.
std::string short_text(double number);

/// "3.1e-09 < 1e-07": short, unless both sides would then look the same.
std::string comparison_text(double value, std::string_view sign, double threshold);

}  // namespace cupel
