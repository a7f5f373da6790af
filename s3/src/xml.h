#pragma once

#include <functional>
#include <string_view>

namespace cupel::s3 {

/// Hears of every element when it ends: its path from the root on ("Error/Code"), and the text
/// directly inside it, with entities resolved.
using XmlListener = std::function<void(std::string_view path, std::string_view text)>;

/// Reads a document as services answer it. False when it is not well-formed, nests deeper than 16
/// elements, or declares anything of its own; the listener may have heard of elements before.
/// Prefixes of names and attributes are passed over.
bool read_xml(std::string_view document, const XmlListener& listener);

}  // namespace cupel::s3
