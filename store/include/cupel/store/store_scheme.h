#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cupel {

class Store;

/// Opens the stores whose locations begin with one scheme, such as "s3://bucket/prefix".
struct StoreScheme {
  /// The text before "://" in a location: "s3".
  std::string name;
  /// Opens the store at a whole location, "s3://bucket/prefix", without blanks around it. Throws
  /// UsageError for a text that is no location of the scheme. Any thread may call it.
  std::function<std::unique_ptr<Store>(std::string_view location)> open;
};

/// The schemes that a function may open beside directories.
using StoreSchemes = std::vector<StoreScheme>;

/// The schemes of this program, which all functions that open a location use where `schemes` is
/// empty.
///
/// A program that links cupel::cupel has a definition that CMake generates: one scheme for each
/// store of the build. A program that links single components, and not cupel::cupel, has the
/// definition of the room `store`: no scheme. Such a program passes schemes of its own, for example
/// {s3_scheme()} of the component `s3`.
StoreSchemes built_in_schemes();

}  // namespace cupel
