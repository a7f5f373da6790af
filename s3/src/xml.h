#pragma once

#include <functional>
#include <string_view>

namespace cupel::s3_detail {

/// Is called at the end of each element, with its path from the root on ("Error/Code") and the text
/// directly inside it, with entities resolved.
using XmlListener = std::function<void(std::string_view path, std::string_view text)>;

/// Reads an XML document of a service. Returns false for a document that is not well-formed, nests
/// deeper than 16 elements, or has declarations; the listener may have been called before. Prefixes
/// of names and attributes are skipped.
bool read_xml(std::string_view document, const XmlListener& listener);

}  // namespace cupel::s3_detail
