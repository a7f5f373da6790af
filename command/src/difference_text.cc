// A difference of two runs as text for people and as JSON. The text shows numbers with as many
// digits as their type holds, and long texts around the place where they differ, so that different
// values never look the same. All functions are pure; values of strangers are escaped.

#include "difference_text.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "amount_text.h"
#include "cupel/core/number_text.h"
#include "cupel/core/printable.h"
#include "cupel/core/utf8.h"
#include "value_text.h"

namespace cupel::command_detail {
namespace {

constexpr std::size_t kTextBefore =
    20;  // bytes of a text that are shown before the first difference
constexpr std::size_t kTextBehind = 40;

// Different elements never have the same text, and a narrow type has no digits that it does not
// hold.
std::string float_text(double number, DType dtype) {
  if (dtype == DType::F64 || !std::isfinite(number)) return shortest_text(number);
  return shortest_text(static_cast<float>(number));
}

// Reductions and counts are doubles and integers.
DType width_of(const RunDifference& difference, const DifferenceSide& side) {
  return difference.kind == DifferenceKind::Element ? side.dtype : DType::F64;
}

// Returns both texts around their first difference, so that long texts look different, too.
std::pair<std::string, std::string> text_pair(const std::string& a, const std::string& b) {
  const auto parted = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  auto at = static_cast<std::size_t>(parted - a.begin());
  std::size_t begin = at < kTextBefore ? 0 : at - kTextBefore;
  const auto continues = [](const std::string& text, std::size_t i) {
    return i < text.size() && is_continuation(text[i]);
  };
  while (begin > 0 && continues(a, begin)) --begin;
  const auto shown = [&](const std::string& text) {
    std::size_t end = std::min(text.size(), at + kTextBehind);
    while (end > at && continues(text, end)) --end;
    return (begin > 0 ? "…\"" : "\"") +
           printable(std::string_view(text).substr(begin, end - begin)) +
           (end < text.size() ? "\"…" : "\"");
  };
  return {shown(a), shown(b)};
}

std::string value_text(const ComparedNumber& value, DType dtype) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* natural = std::get_if<std::uint64_t>(&value)) return std::to_string(*natural);
  if (const auto* number = std::get_if<double>(&value)) return float_text(*number, dtype);
  return {};
}

std::string values_text(const RunDifference& difference) {
  const DifferenceSide &a = *difference.a, &b = *difference.b;
  const auto* text_a = std::get_if<std::string>(&a.value);
  const auto* text_b = std::get_if<std::string>(&b.value);
  auto [left, right] = text_a != nullptr && text_b != nullptr
                           ? text_pair(*text_a, *text_b)
                           : std::pair(value_text(a.value, width_of(difference, a)),
                                       value_text(b.value, width_of(difference, b)));
  return left + " in A, " + right + " in B";
}

// Returns the distance of the values, and the number of other differences in the tensor, in
// brackets.
std::string extent_text(const RunDifference& difference, const std::string& what) {
  std::string text;
  if (difference.difference) text = "differs by " + short_text(*difference.difference);
  if (difference.compared > 1) {
    text += (text.empty() ? "" : "; ") + std::to_string(difference.differing) + " of " +
            count_text(difference.compared, what) +
            (difference.differing == 1 ? " differs" : " differ");
    if (difference.differing > 1 && difference.greatest_difference)
      text += ", the greatest by " + short_text(*difference.greatest_difference);
  }
  return text.empty() ? text : " (" + text + ")";
}

std::string index_text(const std::vector<std::int64_t>& index) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < index.size(); ++axis)
    text += (axis == 0 ? "" : ", ") + std::to_string(index[axis]);
  return text + "]";
}

std::string mode_text(const DifferenceSide& side) {
  return std::string(to_string(side.mode)) + " " + std::to_string(side.mode_step);
}

std::string form_text(const DifferenceSide& side) {
  return std::string(to_string(side.dtype)) + " " +
         (side.shape ? to_string(*side.shape) : count_text(side.elements, "element"));
}

std::string what_text(const RunDifference& difference) {
  const std::string only = difference.b ? "only in B" : "only in A";
  const DifferenceSide& one = difference.a ? *difference.a : *difference.b;
  switch (difference.kind) {
    case DifferenceKind::Step:
      return "the step is " + only;
    case DifferenceKind::Mode:
      return "the step is " + mode_text(*difference.a) + " in A, " + mode_text(*difference.b) +
             " in B";
    case DifferenceKind::Worker:
      return "the worker saved something " + only;
    case DifferenceKind::Tensor:
      return "the tensor is " + only + ": " + form_text(one);
    case DifferenceKind::DType:
    case DifferenceKind::Shape:
      return form_text(*difference.a) + " in A, " + form_text(*difference.b) + " in B";
    case DifferenceKind::Element:
      return (difference.index.empty()
                  ? "value"
                  : "element " + index_text(difference.index) + " of " + to_string(*one.shape)) +
             ": " + values_text(difference) + extent_text(difference, "element");
    case DifferenceKind::Count:
      return "count of " + difference.statistic + ": " + values_text(difference) +
             extent_text(difference, "count");
    case DifferenceKind::Reduction:
      return difference.statistic + ": " + values_text(difference) +
             extent_text(difference, "reduction");
  }
  return {};
}

std::string json_of(const ComparedNumber& value, DType dtype) {
  if (const auto* text = std::get_if<std::string>(&value)) return json_string(*text);
  if (const auto* number = std::get_if<double>(&value))
    return std::isfinite(*number) ? float_text(*number, dtype) : json_number(*number);
  const std::string text = value_text(value, dtype);
  return text.empty() ? "null" : text;
}

std::string json_of(const std::optional<double>& number) {
  return number ? json_number(*number) : "null";
}

template <class List>
std::string json_list(const List& numbers) {
  std::string text;
  for (const std::int64_t number : numbers)
    text += (text.empty() ? "" : ",") + std::to_string(number);
  return "[" + text + "]";
}

std::string json_of(const RunDifference& difference, const std::optional<DifferenceSide>& side) {
  if (!side) return "null";
  const bool has_tensor = difference.kind >= DifferenceKind::Tensor;
  std::string text = "{\"mode\":\"" + std::string(to_string(side->mode)) +
                     "\",\"mode_step\":" + std::to_string(side->mode_step);
  text += ",\"dtype\":" + (has_tensor ? json_string(to_string(side->dtype)) : "null");
  text += ",\"elements\":" + (has_tensor ? std::to_string(side->elements) : "null");
  text += ",\"shape\":" + (side->shape ? json_list(*side->shape) : "null");
  return text + ",\"value\":" + json_of(side->value, width_of(difference, *side)) + "}";
}

}  // namespace

void print_difference(Printer out, const RunDifference& difference) {
  out << "runs part at step " << difference.step;
  if (difference.kind != DifferenceKind::Mode)
    out << " (" << mode_text(difference.a ? *difference.a : *difference.b) << ')';
  if (!difference.tensor.empty() || !difference.worker.empty()) {
    out << ": " << printable(difference.tensor) << (difference.tensor.empty() ? "" : ", ")
        << printable(difference.worker);
  }
  out << "\n  " << what_text(difference) << '\n';
}

std::string difference_json(const RunDifference& difference) {
  const auto name = [](const std::string& text) {
    return text.empty() ? std::string("null") : json_string(text);
  };
  std::string text = "{\"kind\":\"" + std::string(to_string(difference.kind)) +
                     "\",\"step\":" + std::to_string(difference.step);
  // The empty string is a legal name of a tensor.
  text += ",\"tensor\":" +
          (difference.kind >= DifferenceKind::Tensor ? json_string(difference.tensor) : "null");
  text += ",\"worker\":" + name(difference.worker);
  text += ",\"a\":" + json_of(difference, difference.a);
  text += ",\"b\":" + json_of(difference, difference.b);
  text += ",\"index\":" +
          (difference.kind == DifferenceKind::Element ? json_list(difference.index) : "null");
  text += ",\"statistic\":" + name(difference.statistic);
  text += ",\"compared\":" + std::to_string(difference.compared);
  text += ",\"differing\":" + std::to_string(difference.differing);
  text += ",\"difference\":" + json_of(difference.difference);
  return text + ",\"greatest_difference\":" + json_of(difference.greatest_difference) + "}";
}

}  // namespace cupel::command_detail
