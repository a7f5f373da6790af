#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include "cupel/core/error.h"
#include "object_text.h"
#include "seconds.h"
#include "type_error.h"

namespace cupel::python {

/// One field of a struct of options: its name in Python, and how a value gets there.
template <class Options>
struct OptionField {
  std::string_view name;
  void (*set)(Options&, nanobind::handle);
};

template <auto kMember, class Options>
void set_member(Options& options, nanobind::handle value) {
  using Value = std::remove_reference_t<decltype(options.*kMember)>;
  options.*kMember = nanobind::cast<Value>(value);
}

template <auto kMember, class Options>
void set_seconds(Options& options, nanobind::handle value) {
  options.*kMember = whole_milliseconds(nanobind::cast<double>(value));
}

/// Reads a dictionary of options; a value of None keeps the default. Throws UsageError for an
/// unknown name, and raises SMDebugTypeError for a value of the wrong type.
template <class Options, std::size_t kFields>
Options read_options(const nanobind::dict& values,
                     const std::array<OptionField<Options>, kFields>& fields) {
  Options options;
  for (const auto& [key, value] : values) {
    const auto name = nanobind::cast<std::string>(key);
    const auto field =
        std::ranges::find(fields, std::string_view(name), &OptionField<Options>::name);
    if (field == fields.end()) throw UsageError("there is no option " + name);
    if (value.is_none()) continue;
    try {
      field->set(options, value);
    } catch (const nanobind::cast_error&) {
      raise_type_error("the option " + name + " has a value of the wrong type: " + repr_of(value));
    }
  }
  return options;
}

}  // namespace cupel::python
