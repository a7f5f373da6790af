// Methods that compute a number from a value, or a value with one axis less.
//
// With `axis`, each row along the axis is reduced. Without, the value's statistics are computed
// once and serve all further reductions. Work and memory go through the budget of the state.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "array_axis.h"
#include "array_reductions.h"
#include "cupel/core/reduction.h"
#include "sol_binding.h"
#include "value_binding.h"
#include "value_object.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::int64_t kMostBins = 10'000;

// {axis = 1, keepdims = true}, or nothing.
struct Along {
  std::size_t axis;
  bool keeps;
};

std::optional<Along> along_of(const Value& value, TableArgument table) {
  const NamedArguments options = table.read({"axis", "keepdims"});
  const std::optional<std::int64_t> axis = options.integer("axis");
  const bool keeps = options.boolean("keepdims").value_or(false);
  const std::string function(function_name(table.lua));
  if (axis) return Along{check_axis(value, *axis, function.c_str()), keeps};
  if (keeps) fail(function, "keepdims is for an axis, and there is none");
  return std::nullopt;
}

// What a reduction yields: a number, a boolean, an element, or a value of one axis less.
using Reduced = std::variant<double, std::int64_t, bool, Element, NewValue>;

// What is left of one axis is an element.
Reduced reduced(const Value& value, const Along& along, const Array& array,
                std::string_view function) {
  if (array.shape().rank() == 0 && !along.keeps) return Element{array, 0};
  std::vector<std::int64_t> extents(value.shape().begin(), value.shape().end());
  extents[along.axis] = 1;
  return NewValue{along.keeps ? array.reshaped(Shape(extents)) : array,
                  computed_name(function, value.name)};
}

Reduced reduce_value(Value& value, Reduction reduction, TableArgument table) {
  if (value.array.is_text())
    fail(to_string(reduction), value.name + " is utf8, which are no numbers");
  const auto along = along_of(value, table);
  const std::string name(to_string(reduction));
  reduction.abs = reduction.abs || value.magnitudes;
  LuaBudget budget(table.lua);
  if (!along) return reduce(budget, value.array, reduction, known_statistics(table.lua, value));
  return reduced(value, *along, reduce_axis(budget, value.array, along->axis, reduction), name);
}

// v:mean() and its like: the function's name is the reduction's.
Reduced named_reduction(Value& value, TableArgument table) {
  return reduce_value(value, require_reduction(function_name(table.lua)), table);
}

Reduced reduction_by_name(Value& value, Argument<std::string_view, "name"> name,
                          TableArgument table) {
  constexpr std::size_t kLongest = 64;
  return reduce_value(value, require_reduction((*name).substr(0, kLongest)), table);
}

std::int64_t nonzero_of(lua_State* lua, Value& value) {
  if (is_floating(value.array.dtype()))
    return value.array.elements() - known_statistics(lua, value).counts.zero;
  LuaBudget budget(lua);
  return count_nonzero(budget, value.array);
}

template <Counting kCounting>
Reduced count(Value& value, TableArgument table) {
  require_numbers(table.lua, value);
  if (const auto along = along_of(value, table)) {
    LuaBudget budget(table.lua);
    return reduced(value, *along, count_axis(budget, value.array, along->axis, kCounting),
                   function_name(table.lua));
  }
  const std::int64_t nonzero = nonzero_of(table.lua, value);
  if (kCounting == Counting::Nonzero) return nonzero;
  return kCounting == Counting::Any ? nonzero > 0 : nonzero == value.array.elements();
}

CountTable counts_of(Value& value, TableArgument table) {
  require_numbers(table.lua, value);
  table.read({});
  ValueCounts found = known_statistics(table.lua, value).counts;
  if (value.magnitudes) found.pos_inf += std::exchange(found.neg_inf, 0);
  return {found, value.array.elements() - nonzero_of(table.lua, value)};
}

// Indices of an axis are as those of the whole: from 1 on.
template <bool kLargest>
Reduced index_of(Value& value, TableArgument table) {
  const char* const name = kLargest ? "argmax" : "argmin";
  require_numbers(table.lua, value);
  const auto along = along_of(value, table);
  const Array& array = elements_of(table.lua, value);
  if (along ? value.shape()[along->axis] == 0 : array.elements() == 0)
    fail(name, value.name + " is empty; its shape is " + shape_text(value.shape()));
  LuaBudget budget(table.lua);
  if (!along) return index_of_extreme(budget, array, kLargest) + 1;
  return reduced(value, *along, index_of_extreme_axis(budget, array, along->axis, kLargest, 1),
                 name);
}

Reduced quantile_of(Value& value, Argument<double, "q"> q, TableArgument table) {
  require_numbers(table.lua, value);
  if (!(*q >= 0 && *q <= 1)) fail("quantile", "q is 0 to 1, not " + number_text(q));
  const auto along = along_of(value, table);
  LuaBudget budget(table.lua);
  const auto of = [&](const Array& array, const Statistics& known) {
    return quantile(budget, array, q, value.magnitudes, known);
  };
  if (!along) return of(value.array, known_statistics(table.lua, value));
  return reduced(value, *along,
                 map_axis(budget, value.array, along->axis,
                          [&](const Array& row) { return of(row, statistics_of(budget, row)); }),
                 "quantile");
}

Reduced norm_of(Value& value, Argument<std::optional<double>, "p"> given, TableArgument table) {
  require_numbers(table.lua, value);
  const double p = (*given).value_or(2);
  if (!(p > 0)) fail("norm", "p is more than 0, not " + number_text(p));
  const auto along = along_of(value, table);
  LuaBudget budget(table.lua);
  if (!along) return norm(budget, value.array, p, known_statistics(table.lua, value));
  return reduced(
      value, *along,
      map_axis(budget, value.array, along->axis,
               [&](const Array& row) { return norm(budget, row, p, statistics_of(budget, row)); }),
      "norm");
}

// {counts, edges, nan, below, above}
struct HistogramTable {
  Histogram histogram;
  int push(lua_State* lua) {
    const NewTable record(lua, 5);
    record.set("counts", IntegerList{std::move(histogram.counts)});
    record.set("edges", List<double>{std::move(histogram.edges)});
    record.set("nan", histogram.nan);
    record.set("below", histogram.below);
    record.set("above", histogram.above);
    return 1;
  }
};

// Two numbers in a table: {least, most}.
std::optional<std::pair<double, double>> range_of(const NamedArguments& options) {
  const std::vector<double> ends = options.numbers("range");
  if (!options.has("range")) return std::nullopt;
  if (ends.size() != 2) options.fail("range", "is a table of two numbers");
  if (!(std::isfinite(ends[0]) && std::isfinite(ends[1]) && ends[0] <= ends[1]))
    fail("histogram", "a range is of finite numbers, the lower one first");
  return std::pair(ends[0], ends[1]);
}

HistogramTable histogram_of(Value& value, TableArgument table) {
  const Array& array = numbers_of(table.lua, value);
  const NamedArguments options = table.read({"bins", "range"});
  const std::int64_t bins = options.integer("bins").value_or(10);
  if (bins < 1 || bins > kMostBins)
    fail("histogram",
         "there are 1 to " + std::to_string(kMostBins) + " bins, not " + std::to_string(bins));
  const auto range = range_of(options);
  LuaBudget budget(table.lua);
  budget.charge(bins);
  return {histogram(budget, array, bins, range)};
}

// The second of two values of one shape, whose methods take no options.
void check_pair(Value& a, Value& b, TableArgument table) {
  table.read({});
  if (a.shape() != b.shape())
    fail(function_name(table.lua), "shapes " + shape_text(a.shape()) + " of " + a.name + " and " +
                                       shape_text(b.shape()) + " of " + b.name +
                                       " are not the same");
}

double dot_of(Value& a, Value& b, TableArgument table) {
  check_pair(a, b, table);
  LuaBudget budget(table.lua);
  const Array& first = numbers_of(table.lua, a);
  return dot(budget, first, numbers_of(table.lua, b));
}

// The l2 norm in units of the largest magnitude, also where the norm itself is beyond what doubles
// hold, or is rounded because it is so small.
double scaled_norm(Budget& budget, const Array& array, const Statistics& known) {
  constexpr double kSmall =
      std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon();
  if (std::isfinite(known.l2) && known.l2 > kSmall) return known.l2 / known.abs_max;
  return std::sqrt(dot(budget, array, array, known.abs_max, known.abs_max));
}

// Both in units of their largest magnitudes, so that nothing overflows.
double cosine_similarity(Value& a, Value& b, TableArgument table) {
  check_pair(a, b, table);
  const Array& first = numbers_of(table.lua, a);
  const Array& second = numbers_of(table.lua, b);
  const Statistics& of_a = known_statistics(table.lua, a);
  const Statistics& of_b = known_statistics(table.lua, b);
  LuaBudget budget(table.lua);
  const double product = dot(budget, first, second, of_a.abs_max, of_b.abs_max);
  const double cosine =
      product / scaled_norm(budget, first, of_a) / scaled_norm(budget, second, of_b);
  return std::isnan(cosine) ? cosine : std::clamp(cosine, -1.0, 1.0);
}

}  // namespace

int CountTable::push(lua_State* lua) const {
  const NewTable record(lua, 4);
  record.set("nan", counts.nan);
  record.set("pos_inf", counts.pos_inf);
  record.set("neg_inf", counts.neg_inf);
  record.set("zero", zero);
  return 1;
}

std::vector<Method> reduction_methods() {
  std::vector<Method> methods = {method<&reduction_by_name>("reduction"),
                                 method<&count<Counting::Any>>("any"),
                                 method<&count<Counting::All>>("all"),
                                 method<&count<Counting::Nonzero>>("count_nonzero"),
                                 method<&counts_of>("counts"),
                                 method<&index_of<true>>("argmax"),
                                 method<&index_of<false>>("argmin"),
                                 method<&quantile_of>("quantile"),
                                 method<&norm_of>("norm"),
                                 method<&histogram_of>("histogram"),
                                 method<&dot_of>("dot"),
                                 method<&cosine_similarity>("cosine_similarity")};
  // The names of reductions are literals.
  for (std::size_t i = 0; i < Reduction::kCount; ++i)
    methods.push_back(method<&named_reduction>(to_string(Reduction::at(i)).data()));
  return methods;
}

}  // namespace cupel::scripting_detail
