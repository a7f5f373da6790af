#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupel {

/// The candidates that somebody who wrote `text` may have meant, nearest first, at most three; none
/// if nothing comes near. Case and underscores count little.
std::vector<std::string> nearest_names(std::string_view text,
                                       std::span<const std::string> candidates);

/// The candidate that is nearest to `text`, however far away; the first one of several. There must
/// be a candidate.
std::string_view nearest_name(std::string_view text, std::span<const std::string_view> candidates);

/// "; did you mean threshold or threshold_layer?", or nothing: the end of a message about an
/// unknown name.
std::string did_you_mean(std::string_view text, std::span<const std::string> candidates);

}  // namespace cupel
