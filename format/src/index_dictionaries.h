#pragma once

#include <arrow/array/builder_binary.h>
#include <arrow/type.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "arrow_support.h"
#include "cupel/core/dtype.h"
#include "cupel/core/mode.h"

namespace cupel::format_detail {

// The dictionaries of an index file, which are complete and the same in every file.

inline const std::shared_ptr<arrow::DataType>& code_type() {
  static const auto type = arrow::dictionary(arrow::int8(), arrow::utf8());
  return type;
}

template <class Texts>
std::shared_ptr<arrow::Array> dictionary_of(const Texts& texts) {
  arrow::StringBuilder builder;
  for (const auto& text : texts) require(builder.Append(text));
  return require(builder.Finish());
}

inline std::shared_ptr<arrow::Array> mode_dictionary() {
  std::array<std::string_view, kAllModes.size()> names;
  std::ranges::transform(kAllModes, names.begin(), [](Mode mode) { return to_string(mode); });
  return dictionary_of(names);
}

inline std::shared_ptr<arrow::Array> dtype_dictionary() {
  std::array<std::string_view, kAllDTypes.size()> names;
  std::ranges::transform(kAllDTypes, names.begin(), [](DType dtype) { return to_string(dtype); });
  return dictionary_of(names);
}

}  // namespace cupel::format_detail
