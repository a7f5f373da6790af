#pragma once

#include <cstdint>
#include <string>

#include "cupel/core/printer.h"
#include "cupel/trial/tensor_value.h"

namespace cupel::command_detail {

/// Returns an element as JSON: the shortest decimal text that reads back as the same element, or a
/// string.
std::string element_json(const TensorValue& value, std::int64_t index);

/// Prints all elements as nested JSON lists; a scalar is a number. Throws Error, and prints
/// nothing, for an empty tensor whose shape makes more than a million lists.
void print_json(Printer out, const TensorValue& value);

/// Prints a value for people: nested brackets with aligned columns, without the middle of large
/// tensors. Of an empty tensor, prints its shape.
void print_readable(Printer out, const TensorValue& value);

/// Returns `text` as a JSON string; bytes that are no UTF-8 are replaced.
std::string json_string(std::string_view text);

/// Returns a number as JSON; "NaN", "Infinity" and "-Infinity" are strings.
std::string json_number(double number);

}  // namespace cupel::command_detail
