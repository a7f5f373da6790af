#pragma once

#include <exception>
#include <string>
#include <typeinfo>

namespace cupel::rules_detail {

/// A type's name without its namespaces: "FormatError", "TooLarge".
std::string class_name(const std::type_info& type);

/// "FormatError: damaged index/…": what became of a rule that threw.
std::string exception_text(const std::exception& error);

}  // namespace cupel::rules_detail
