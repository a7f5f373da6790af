#pragma once

#include <cstdint>
#include <string>

#include "cupel/core/printer.h"
#include "cupel/trial/tensor_value.h"

namespace cupel {

/// One element as JSON: the shortest decimal text that reads back as the same element, or a string.
std::string element_json(const TensorValue& value, std::int64_t index);

/// All elements as nested JSON lists; a scalar is just its number. Throws Error before anything is
/// printed for an empty tensor whose shape makes more than a million lists.
void print_json(Printer out, const TensorValue& value);

/// What a person reads: nested brackets with aligned columns, the middle of large tensors left out.
/// Of an empty tensor, its shape.
void print_readable(Printer out, const TensorValue& value);

/// `text` as a JSON string, what is not UTF-8 replaced.
std::string json_string(std::string_view text);

/// A number as JSON; "NaN", "Infinity" and "-Infinity" as strings.
std::string json_number(double number);

}  // namespace cupel
