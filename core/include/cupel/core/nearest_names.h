#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupel {

/// Returns the candidates that `text` may be a misspelling of, nearest first, at most three; none
/// if none is near. Case and underscores count little.
std::vector<std::string> nearest_names(std::string_view text,
                                       std::span<const std::string> candidates);

/// Returns the candidate that is nearest to `text`, at any distance; the first one of several.
/// There must be a candidate.
std::string_view nearest_name(std::string_view text, std::span<const std::string_view> candidates);

/// "; did you mean threshold or threshold_layer?", or nothing: the end of a message about an
/// unknown name.
std::string did_you_mean(std::string_view text, std::span<const std::string> candidates);

}  // namespace cupel
