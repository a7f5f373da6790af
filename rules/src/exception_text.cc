#include "exception_text.h"

#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace cupel::rules_detail {

std::string class_name(const std::type_info& type) {
  int failure = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &failure), &std::free);
  const std::string name = failure == 0 && demangled ? demangled.get() : type.name();
  // Namespaces end at the last "::" outside of template arguments and of "(anonymous namespace)".
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<' || name[i] == '(') ++depth;
    if (name[i] == '>' || name[i] == ')') --depth;
    if (depth == 0 && name[i] == ':') begin = i + 1;
  }
  return name.substr(begin);
}

std::string exception_text(const std::exception& error) {
  return class_name(typeid(error)) + ": " + error.what();
}

}  // namespace cupel::rules_detail
