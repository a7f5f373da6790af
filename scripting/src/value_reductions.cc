// Methods that make a number of a value, or a value of one axis less.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "array_axis.h"
#include "array_reductions.h"
#include "cupel/core/reduction.h"
#include "value_binding.h"

namespace cupel::lua {
namespace {

constexpr std::int64_t kMostBins = 10'000;

// {axis = 1, keepdims = true}, or nothing.
struct Along {
  std::size_t axis;
  bool keeps;
};

std::optional<Along> optional_axis(lua_State* lua, int argument, const Value& value,
                                   const char* function) {
  const Options options(lua, argument, function, {"axis", "keepdims"});
  const std::optional<std::int64_t> axis = options.integer("axis");
  const bool keeps = options.flag("keepdims");
  if (axis) return Along{check_axis(value, *axis, function), keeps};
  if (keeps) fail(function, "keepdims is for an axis, and there is none");
  return std::nullopt;
}

// What is left of one axis is an element.
void push_reduced(lua_State* lua, const Value& value, const Along& along, const Array& array,
                  const char* function) {
  if (array.shape().rank() == 0 && !along.keeps) return push_element(lua, array, 0);
  std::vector<std::int64_t> extents(value.shape().begin(), value.shape().end());
  extents[along.axis] = 1;
  push(lua, along.keeps ? array.reshaped(Shape(extents)) : array,
       computed_name(function, value.name));
}

int reduce_value(lua_State* lua, Value& value, Reduction reduction, int options) {
  const std::string name(to_string(reduction));
  require_numbers(value, name.c_str());
  const auto along = optional_axis(lua, options, value, name.c_str());
  reduction.abs = reduction.abs || value.magnitudes;
  LuaBudget budget(lua);
  if (along)
    push_reduced(lua, value, *along, reduce_axis(budget, value.array, along->axis, reduction),
                 name.c_str());
  else
    lua_pushnumber(lua, reduce(budget, value.array, reduction, known_statistics(lua, value)));
  return 1;
}

// Upvalue: the reduction's index.
int named_reduction(lua_State* lua) {
  const auto reduction =
      Reduction::at(static_cast<std::size_t>(lua_tointeger(lua, lua_upvalueindex(1))));
  Value& value = check_value(lua, 1, std::string(to_string(reduction)).c_str());
  return reduce_value(lua, value, reduction, 2);
}

int reduction_by_name(lua_State* lua) {
  Value& value = check_value(lua, 1, "reduction");
  if (lua_type(lua, 2) != LUA_TSTRING)
    fail("reduction", std::string("a name is expected, not ") + luaL_typename(lua, 2));
  constexpr std::size_t kLongest = 64;
  const std::string name = std::string(lua_tostring(lua, 2)).substr(0, kLongest);
  return reduce_value(lua, value, require_reduction(name), 3);
}

std::int64_t nonzero_of(lua_State* lua, Value& value) {
  if (is_floating(value.array.dtype()))
    return value.array.elements() - known_statistics(lua, value).counts.zero;
  LuaBudget budget(lua);
  return count_nonzero(budget, value.array);
}

template <Counting kCounting>
int count(lua_State* lua) {
  const char* const name = kCounting == Counting::Any   ? "any"
                           : kCounting == Counting::All ? "all"
                                                        : "count_nonzero";
  Value& value = check_value(lua, 1, name);
  require_numbers(value, name);
  if (const auto along = optional_axis(lua, 2, value, name)) {
    LuaBudget budget(lua);
    push_reduced(lua, value, *along, count_axis(budget, value.array, along->axis, kCounting), name);
    return 1;
  }
  const std::int64_t nonzero = nonzero_of(lua, value);
  if (kCounting == Counting::Nonzero)
    lua_pushinteger(lua, nonzero);
  else
    lua_pushboolean(lua,
                    kCounting == Counting::Any ? nonzero > 0 : nonzero == value.array.elements());
  return 1;
}

void set_integer(lua_State* lua, const char* name, std::int64_t integer) {
  lua_pushinteger(lua, integer);
  lua_setfield(lua, -2, name);
}

int counts(lua_State* lua) {
  Value& value = check_value(lua, 1, "counts");
  require_numbers(value, "counts");
  Options(lua, 2, "counts", {});
  ValueCounts found = known_statistics(lua, value).counts;
  if (value.magnitudes) found.pos_inf += std::exchange(found.neg_inf, 0);
  lua_createtable(lua, 0, 4);
  set_integer(lua, "nan", found.nan);
  set_integer(lua, "pos_inf", found.pos_inf);
  set_integer(lua, "neg_inf", found.neg_inf);
  set_integer(lua, "zero", value.array.elements() - nonzero_of(lua, value));
  return 1;
}

// Indices of an axis are as those of the whole: from 1 on.
template <bool kLargest>
int index_of(lua_State* lua) {
  const char* const name = kLargest ? "argmax" : "argmin";
  Value& value = check_value(lua, 1, name);
  require_numbers(value, name);
  const auto along = optional_axis(lua, 2, value, name);
  const Array& array = elements_of(lua, value);
  if (along ? value.shape()[along->axis] == 0 : array.elements() == 0)
    fail(name, value.name + " is empty; its shape is " + shape_text(value.shape()));
  LuaBudget budget(lua);
  if (along)
    push_reduced(lua, value, *along, index_of_extreme_axis(budget, array, along->axis, kLargest, 1),
                 name);
  else
    lua_pushinteger(lua, index_of_extreme(budget, array, kLargest) + 1);
  return 1;
}

double check_number(lua_State* lua, int argument, const char* function, const char* what) {
  if (lua_type(lua, argument) != LUA_TNUMBER)
    fail(function, std::string(what) + " is a number, not " + luaL_typename(lua, argument));
  return lua_tonumber(lua, argument);
}

int quantile_of(lua_State* lua) {
  Value& value = check_value(lua, 1, "quantile");
  require_numbers(value, "quantile");
  const double q = check_number(lua, 2, "quantile", "q");
  if (!(q >= 0 && q <= 1)) fail("quantile", "q is 0 to 1, not " + number_text(q));
  const auto along = optional_axis(lua, 3, value, "quantile");
  LuaBudget budget(lua);
  const auto of = [&](const Array& array, const Statistics& known) {
    return quantile(budget, array, q, value.magnitudes, known);
  };
  if (along)
    push_reduced(lua, value, *along,
                 map_axis(budget, value.array, along->axis,
                          [&](const Array& row) { return of(row, statistics_of(budget, row)); }),
                 "quantile");
  else
    lua_pushnumber(lua, of(value.array, known_statistics(lua, value)));
  return 1;
}

int norm_of(lua_State* lua) {
  Value& value = check_value(lua, 1, "norm");
  require_numbers(value, "norm");
  const double p = lua_isnoneornil(lua, 2) ? 2 : check_number(lua, 2, "norm", "p");
  if (!(p > 0)) fail("norm", "p is more than 0, not " + number_text(p));
  const auto along = optional_axis(lua, 3, value, "norm");
  LuaBudget budget(lua);
  if (along)
    push_reduced(lua, value, *along,
                 map_axis(budget, value.array, along->axis,
                          [&](const Array& row) {
                            return norm(budget, row, p, statistics_of(budget, row));
                          }),
                 "norm");
  else
    lua_pushnumber(lua, norm(budget, value.array, p, known_statistics(lua, value)));
  return 1;
}

// A table of two numbers on top.
std::pair<double, double> check_range(lua_State* lua) {
  if (!lua_istable(lua, -1)) fail("histogram", "range is a table of two numbers");
  const int range = lua_gettop(lua);
  lua_rawgeti(lua, range, 1);
  lua_rawgeti(lua, range, 2);
  const double least = check_number(lua, range + 1, "histogram", "the range's begin");
  const double most = check_number(lua, range + 2, "histogram", "the range's end");
  if (!(std::isfinite(least) && std::isfinite(most) && least <= most))
    fail("histogram", "a range is of finite numbers, the lower one first");
  lua_settop(lua, range - 1);
  return {least, most};
}

int histogram_of(lua_State* lua) {
  Value& value = check_value(lua, 1, "histogram");
  const Array& array = numbers_of(lua, value, "histogram");
  const Options options(lua, 2, "histogram", {"bins", "range"});
  const std::int64_t bins = options.integer("bins").value_or(10);
  if (bins < 1 || bins > kMostBins)
    fail("histogram",
         "there are 1 to " + std::to_string(kMostBins) + " bins, not " + std::to_string(bins));
  std::optional<std::pair<double, double>> range;
  if (options.push("range")) range = check_range(lua);
  LuaBudget budget(lua);
  budget.charge(bins);
  const Histogram result = histogram(budget, array, bins, range);
  lua_createtable(lua, 0, 5);
  lua_createtable(lua, static_cast<int>(bins), 0);
  for (std::int64_t i = 0; i < bins; ++i) {
    lua_pushinteger(lua, result.counts[static_cast<std::size_t>(i)]);
    lua_rawseti(lua, -2, i + 1);
  }
  lua_setfield(lua, -2, "counts");
  lua_createtable(lua, static_cast<int>(bins) + 1, 0);
  for (std::int64_t i = 0; i <= bins; ++i) {
    lua_pushnumber(lua, result.edges[static_cast<std::size_t>(i)]);
    lua_rawseti(lua, -2, i + 1);
  }
  lua_setfield(lua, -2, "edges");
  set_integer(lua, "nan", result.nan);
  set_integer(lua, "below", result.below);
  set_integer(lua, "above", result.above);
  return 1;
}

// Two values of one shape.
struct Pair {
  const Array& a;
  const Array& b;
};

Pair check_pair(lua_State* lua, const char* function) {
  Options(lua, 3, function, {});
  Value& a = check_value(lua, 1, function);
  Value& b = check_value(lua, 2, function);
  if (a.shape() != b.shape())
    fail(function, "shapes " + shape_text(a.shape()) + " of " + a.name + " and " +
                       shape_text(b.shape()) + " of " + b.name + " are not the same");
  return {numbers_of(lua, a, function), numbers_of(lua, b, function)};
}

int dot_of(lua_State* lua) {
  const Pair pair = check_pair(lua, "dot");
  LuaBudget budget(lua);
  lua_pushnumber(lua, dot(budget, pair.a, pair.b));
  return 1;
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
int cosine_similarity(lua_State* lua) {
  const Pair pair = check_pair(lua, "cosine_similarity");
  const Statistics& of_a = known_statistics(lua, check_value(lua, 1, "cosine_similarity"));
  const Statistics& of_b = known_statistics(lua, check_value(lua, 2, "cosine_similarity"));
  LuaBudget budget(lua);
  const double product = dot(budget, pair.a, pair.b, of_a.abs_max, of_b.abs_max);
  const double cosine =
      product / scaled_norm(budget, pair.a, of_a) / scaled_norm(budget, pair.b, of_b);
  lua_pushnumber(lua, std::isnan(cosine) ? cosine : std::clamp(cosine, -1.0, 1.0));
  return 1;
}

}  // namespace

void add_value_reductions(lua_State* lua) {
  for (std::size_t i = 0; i < Reduction::kCount; ++i) {
    lua_pushinteger(lua, static_cast<lua_Integer>(i));
    push_function<named_reduction>(lua, 1);
    lua_setfield(lua, -2, std::string(to_string(Reduction::at(i))).c_str());
  }
  set_function<reduction_by_name>(lua, "reduction");
  set_function<count<Counting::Any>>(lua, "any");
  set_function<count<Counting::All>>(lua, "all");
  set_function<count<Counting::Nonzero>>(lua, "count_nonzero");
  set_function<counts>(lua, "counts");
  set_function<index_of<true>>(lua, "argmax");
  set_function<index_of<false>>(lua, "argmin");
  set_function<quantile_of>(lua, "quantile");
  set_function<norm_of>(lua, "norm");
  set_function<histogram_of>(lua, "histogram");
  set_function<dot_of>(lua, "dot");
  set_function<cosine_similarity>(lua, "cosine_similarity");
}

}  // namespace cupel::lua
