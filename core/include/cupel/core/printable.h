#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cupel {

/// `text` with control characters (C0, DEL, and C1 as UTF-8) and bytes that are no UTF-8 as \x1b
/// and the like, so that no name of a tensor moves a terminal's cursor.
///
/// The result has at most `most` bytes, and "..." behind them where that is not the whole text.
std::string printable(std::string_view text, std::size_t most = std::string::npos);

}  // namespace cupel
