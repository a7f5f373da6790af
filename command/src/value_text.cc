// Elements and values of tensors as text: for people, with aligned columns, and as JSON. Numbers
// have the shortest text that reads back as the same element of their type. Large tensors are
// walked index by index, so that only the printed text takes memory. All functions are for one
// thread.

#include "value_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "cupel/core/printable.h"
#include "terminal.h"

namespace cupel::command_detail {
namespace {

constexpr std::int64_t kMostElementsWhole = 1000;
constexpr std::int64_t kEdge = 3;  // elements that are shown on each side of a gap
constexpr std::size_t kDefaultLineWidth = 100;
constexpr std::int64_t kMostEmptyLists = 1'000'000;

// Returns the shortest text of a finite float or double, with a point or an exponent.
template <class T>
std::string fraction_text(T number) {
  std::string digits = shortest_text(number);
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return digits;
}

template <class T>
std::string float_json(T number) {
  if (!std::isfinite(number)) return '"' + shortest_text(static_cast<double>(number)) + '"';
  return fraction_text(number);
}

template <class T>
std::string integer_json(const TensorValue& value, std::int64_t index) {
  return std::to_string(value.as<T>()[static_cast<std::size_t>(index)]);
}

std::string element_json(const TensorValue& value, const std::vector<std::string>& strings,
                         std::int64_t index) {
  const auto i = static_cast<std::size_t>(index);
  switch (value.dtype()) {
    case DType::Bool:
      return value.at(index) != 0 ? "true" : "false";
    case DType::I8:
      return integer_json<std::int8_t>(value, index);
    case DType::I16:
      return integer_json<std::int16_t>(value, index);
    case DType::I32:
      return integer_json<std::int32_t>(value, index);
    case DType::I64:
      return integer_json<std::int64_t>(value, index);
    case DType::U8:
      return integer_json<std::uint8_t>(value, index);
    case DType::U16:
      return integer_json<std::uint16_t>(value, index);
    case DType::U32:
      return integer_json<std::uint32_t>(value, index);
    case DType::U64:
      return integer_json<std::uint64_t>(value, index);
    case DType::F16:
    case DType::BF16:
    case DType::F32:
      return float_json(static_cast<float>(value.at(index)));
    case DType::F64:
      return float_json(value.at(index));
    case DType::Utf8:
      return json_string(strings[i]);
  }
  return "null";
}

std::string readable_float(double number, int digits) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return rounded_text(number, digits);
}

// Walks a tensor's elements as nested brackets.
class Brackets {
 public:
  Brackets(Printer out, const TensorValue& value)
      : out_(out),
        value_(value),
        whole_(value.elements() <= kMostElementsWhole),
        line_width_(columns_of(out, kDefaultLineWidth + value.shape().rank()) -
                    value.shape().rank()) {
    if (value.dtype() == DType::Utf8) strings_ = value.strings();
  }

  void print() {
    if (value_.elements() == 0) {
      out_ << "[]";
      if (value_.shape().rank() > 1) out_ << "  shape " << to_string(value_.shape());
      out_ << '\n';
      return;
    }
    if (value_.shape().rank() == 0) {
      out_ << element(0) << '\n';
      return;
    }
    for_each_shown(
        0, 0, [this](std::int64_t index) { width_ = std::max(width_, element(index).size()); });
    print_axis(0, 0);
    out_ << '\n';
  }

 private:
  std::string element(std::int64_t index) const {
    // The digits of a float; a scalar has all its digits.
    const int digits = value_.dtype() == DType::F64 && value_.shape().rank() == 0 ? 17 : 8;
    if (!is_floating(value_.dtype()))
      return printable(element_json(value_, strings_, index), std::string_view::npos);
    const double number = value_.at(index);
    if (digits == 17 && std::isfinite(number)) return shortest_text(number);
    return readable_float(number, digits);
  }

  std::int64_t extent(std::size_t axis) const { return value_.shape()[axis]; }
  bool cut(std::size_t axis) const { return !whole_ && extent(axis) > 2 * kEdge; }

  // The number of elements for one index of the axis.
  std::int64_t stride(std::size_t axis) const {
    std::int64_t elements = 1;
    for (std::size_t i = axis + 1; i < value_.shape().rank(); ++i) elements *= extent(i);
    return elements;
  }

  template <class F>
  void for_each_index(std::size_t axis, F&& f) const {
    for (std::int64_t i = 0; i < extent(axis); ++i) {
      if (cut(axis) && i == kEdge) i = extent(axis) - kEdge;
      f(i);
    }
  }

  void for_each_shown(std::size_t axis, std::int64_t offset,
                      const std::function<void(std::int64_t)>& f) const {
    for_each_index(axis, [&](std::int64_t i) {
      const std::int64_t at = offset + i * stride(axis);
      if (axis + 1 == value_.shape().rank()) {
        f(at);
      } else {
        for_each_shown(axis + 1, at, f);
      }
    });
  }

  void print_axis(std::size_t axis, std::int64_t offset) {
    out_ << '[';
    if (axis + 1 == value_.shape().rank()) {
      print_row(axis, offset);
    } else {
      const std::size_t line_breaks = value_.shape().rank() - axis - 1;
      const std::string between = std::string(line_breaks, '\n') + std::string(axis + 1, ' ');
      for_each_index(axis, [&](std::int64_t i) {
        if (i > 0) out_ << Composed{between};
        if (cut(axis) && i == extent(axis) - kEdge) out_ << "..." << Composed{between};
        print_axis(axis + 1, offset + i * stride(axis));
      });
    }
    out_ << ']';
  }

  void print_row(std::size_t axis, std::int64_t offset) {
    std::size_t column = axis + 1;
    const auto put = [&](const std::string& text) {
      if (column > axis + 1) {
        if (column + 1 + text.size() > line_width_) {
          out_ << '\n' << std::string(axis + 1, ' ');
          column = axis + 1;
        } else {
          out_ << ' ';
          ++column;
        }
      }
      out_ << text;
      column += text.size();
    };
    for_each_index(axis, [&](std::int64_t i) {
      if (cut(axis) && i == extent(axis) - kEdge) put("...");
      std::string text = element(offset + i);
      put(std::string(width_ - std::min(width_, text.size()), ' ') + text);
    });
  }

  Printer out_;
  const TensorValue& value_;
  const bool whole_;
  const std::size_t line_width_;
  std::vector<std::string> strings_;
  std::size_t width_ = 0;
};

// The lists around the elements of an empty tensor take no space on the disk, and any amount in
// JSON.
void require_listable(const Shape& shape) {
  if (shape.elements() != 0) return;
  std::int64_t lists = 1;
  for (const std::int64_t extent : shape) {
    if (extent == 0) return;
    if (lists > kMostEmptyLists / extent)
      throw Error("an empty tensor of shape " + to_string(shape) +
                  " has too many lists for JSON: --npy FILE writes it");
    lists *= extent;
  }
}

}  // namespace

std::string element_json(const TensorValue& value, std::int64_t index) {
  return element_json(
      value, value.dtype() == DType::Utf8 ? value.strings() : std::vector<std::string>(), index);
}

void print_json(Printer out, const TensorValue& value) {
  require_listable(value.shape());
  std::vector<std::string> strings;
  if (value.dtype() == DType::Utf8) strings = value.strings();
  const std::size_t rank = value.shape().rank();
  std::int64_t next = 0;
  const std::function<void(std::size_t)> print_axis = [&](std::size_t axis) {
    if (axis == rank) {
      out << element_json(value, strings, next++);
      return;
    }
    out << '[';
    for (std::int64_t i = 0; i < value.shape()[axis]; ++i) {
      if (i > 0) out << ',';
      print_axis(axis + 1);
    }
    out << ']';
  };
  print_axis(0);
}

void print_readable(Printer out, const TensorValue& value) { Brackets(out, value).print(); }

std::string json_string(std::string_view text) { return json_text(nlohmann::json(text)); }

std::string json_number(double number) { return float_json(number); }

}  // namespace cupel::command_detail
