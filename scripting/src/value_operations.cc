// Operators and methods that make a value element by element.

#include <limits>

#include "value_binding.h"

namespace cupel::lua {
namespace {

// By their enumerators, in order.
constexpr const char* kUnaryNames[] = {"negative", "abs", "sqrt", "exp", "log", "sign", "floor"};
constexpr const char* kBinaryNames[] = {"add",    "subtract", "multiply", "divide", "floor_divide",
                                        "modulo", "power",    "minimum",  "maximum"};
constexpr const char* kComparisonNames[] = {"lt", "le", "gt", "ge", "eq", "ne"};
constexpr const char* kTestNames[] = {"isnan", "isinf", "isfinite"};
constexpr const char* kLogicNames[] = {"and", "or", "exclusive_or"};

constexpr const char* name_of(Unary one) { return kUnaryNames[static_cast<std::size_t>(one)]; }
constexpr const char* name_of(Binary one) { return kBinaryNames[static_cast<std::size_t>(one)]; }
constexpr const char* name_of(Comparison one) {
  return kComparisonNames[static_cast<std::size_t>(one)];
}
constexpr const char* name_of(Test one) { return kTestNames[static_cast<std::size_t>(one)]; }
constexpr const char* name_of(Logic one) { return kLogicNames[static_cast<std::size_t>(one)]; }

template <Unary kOperation>
int unary(lua_State* lua) {
  const char* const name = name_of(kOperation);
  Value& value = check_value(lua, 1, name);
  LuaBudget budget(lua);
  push(lua, apply(budget, kOperation, numbers_of(lua, value, name)),
       computed_name(name, value.name));
  return 1;
}

int magnitudes(lua_State* lua) {
  const Value& value = check_value(lua, 1, "abs");
  require_numbers(value, "abs");
  push(lua, value.array, computed_name("abs", value.name), value.known, true);
  return 1;
}

// Either operand of an operator may be a number.
template <Binary kOperation>
int operate(lua_State* lua) {
  const char* const name = name_of(kOperation);
  const Argument a = check_operand(lua, 1, name);
  const Argument b = check_operand(lua, 2, name);
  require_common_shape(a, b, name);
  LuaBudget budget(lua);
  push(lua, apply(budget, kOperation, a.operand, b.operand), computed_name(name, a.name, b.name));
  return 1;
}

template <Binary kOperation>
int binary(lua_State* lua) {
  check_value(lua, 1, name_of(kOperation));
  return operate<kOperation>(lua);
}

// Texts are equal to texts or are not; they have no other order.
bool compare_texts(lua_State* lua, const Value& value, bool invert, const char* name) {
  LuaBudget budget(lua);
  if (lua_type(lua, 2) == LUA_TSTRING) {
    std::size_t size = 0;
    const char* const text = lua_tolstring(lua, 2, &size);
    push(lua, is_text(budget, value.array, {text, size}, invert),
         computed_name(name, value.name, {text, std::min<std::size_t>(size, 40)}));
    return true;
  }
  const Value* const other = to_value(lua, 2);
  if (other == nullptr || !other->array.is_text()) return false;
  if (other->shape() != value.shape())
    fail(name, "shapes " + shape_text(value.shape()) + " of " + value.name + " and " +
                   shape_text(other->shape()) + " of " + other->name + " are not the same");
  push(lua, is_text(budget, value.array, other->array, invert),
       computed_name(name, value.name, other->name));
  return true;
}

template <Comparison kComparison>
int compare(lua_State* lua) {
  const char* const name = name_of(kComparison);
  const Value& value = check_value(lua, 1, name);
  constexpr bool kForTexts = kComparison == Comparison::Eq || kComparison == Comparison::Ne;
  if (kForTexts && value.array.is_text() &&
      compare_texts(lua, value, kComparison == Comparison::Ne, name))
    return 1;
  const Argument a = check_operand(lua, 1, name);
  const Argument b = check_operand(lua, 2, name);
  require_common_shape(a, b, name);
  LuaBudget budget(lua);
  push(lua, apply(budget, kComparison, a.operand, b.operand), computed_name(name, a.name, b.name));
  return 1;
}

template <Test kTest>
int test(lua_State* lua) {
  const char* const name = name_of(kTest);
  Value& value = check_value(lua, 1, name);
  LuaBudget budget(lua);
  push(lua, apply(budget, kTest, numbers_of(lua, value, name)), computed_name(name, value.name));
  return 1;
}

Closeness closeness_of(lua_State* lua, const char* function) {
  const Options options(lua, 3, function, {"rtol", "atol", "equal_nan"});
  Closeness closeness;
  closeness.relative = options.number("rtol").value_or(closeness.relative);
  closeness.absolute = options.number("atol").value_or(closeness.absolute);
  closeness.equal_nan = options.flag("equal_nan");
  if (!(closeness.relative >= 0) || !(closeness.absolute >= 0))
    fail(function, "rtol and atol are 0 or more");
  return closeness;
}

int is_close(lua_State* lua) {
  check_value(lua, 1, "isclose");
  const Argument a = check_operand(lua, 1, "isclose");
  const Argument b = check_operand(lua, 2, "isclose");
  const Closeness closeness = closeness_of(lua, "isclose");
  require_common_shape(a, b, "isclose");
  LuaBudget budget(lua);
  push(lua, is_close(budget, a.operand, b.operand, closeness),
       computed_name("isclose", a.name, b.name));
  return 1;
}

int all_close(lua_State* lua) {
  check_value(lua, 1, "allclose");
  const Argument a = check_operand(lua, 1, "allclose");
  const Argument b = check_operand(lua, 2, "allclose");
  const Closeness closeness = closeness_of(lua, "allclose");
  require_common_shape(a, b, "allclose");
  LuaBudget budget(lua);
  lua_pushboolean(lua, all_close(budget, a.operand, b.operand, closeness) ? 1 : 0);
  return 1;
}

double bound(lua_State* lua, int argument, double otherwise) {
  if (lua_isnoneornil(lua, argument)) return otherwise;
  if (lua_type(lua, argument) != LUA_TNUMBER)
    fail("clip", std::string("a bound is a number or nil, not ") + luaL_typename(lua, argument));
  return lua_tonumber(lua, argument);
}

int clip(lua_State* lua) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Value& value = check_value(lua, 1, "clip");
  const double lower = bound(lua, 2, -kInfinity);
  const double upper = bound(lua, 3, kInfinity);
  if (!(lower <= upper)) fail("clip", "the lower bound is not below the upper one");
  LuaBudget budget(lua);
  push(lua, clip(budget, numbers_of(lua, value, "clip"), lower, upper),
       computed_name("clip", value.name));
  return 1;
}

const Value& check_flags(lua_State* lua, int argument, const char* function) {
  const Value* const value = to_value(lua, argument);
  if (value != nullptr && value->dtype() == DType::Bool) return *value;
  fail(function,
       "both operands are masks, as v:gt(0) makes them, and this is " +
           (value == nullptr ? std::string(luaL_typename(lua, argument))
                             : value->name + " of " + std::string(to_string(value->dtype()))));
}

template <Logic kOperation>
int combine(lua_State* lua) {
  const char* const name = name_of(kOperation);
  const Value& a = check_flags(lua, 1, name);
  const Value& b = check_flags(lua, 2, name);
  require_common_shape({Operand(a.array), a.name}, {Operand(b.array), b.name}, name);
  LuaBudget budget(lua);
  push(lua, apply(budget, kOperation, a.array, b.array), computed_name(name, a.name, b.name));
  return 1;
}

int invert(lua_State* lua) {
  const Value& mask = check_flags(lua, 1, "not");
  LuaBudget budget(lua);
  push(lua, invert(budget, mask.array), computed_name("not", mask.name));
  return 1;
}

// a == b: whether shapes and elements are the same.
int is_equal(lua_State* lua) {
  Value* const a = to_value(lua, 1);
  Value* const b = to_value(lua, 2);
  LuaBudget budget(lua);
  const bool same = a != nullptr && b != nullptr && a->shape() == b->shape() &&
                    equal(budget, elements_of(lua, *a), elements_of(lua, *b));
  lua_pushboolean(lua, same ? 1 : 0);
  return 1;
}

}  // namespace

void add_value_operations(lua_State* lua) {
  set_function<magnitudes>(lua, "abs");
  set_function<unary<Unary::Sqrt>>(lua, "sqrt");
  set_function<unary<Unary::Exp>>(lua, "exp");
  set_function<unary<Unary::Log>>(lua, "log");
  set_function<unary<Unary::Sign>>(lua, "sign");
  set_function<unary<Unary::Floor>>(lua, "floor");
  set_function<binary<Binary::Minimum>>(lua, "minimum");
  set_function<binary<Binary::Maximum>>(lua, "maximum");
  set_function<clip>(lua, "clip");
  set_function<compare<Comparison::Lt>>(lua, "lt");
  set_function<compare<Comparison::Le>>(lua, "le");
  set_function<compare<Comparison::Gt>>(lua, "gt");
  set_function<compare<Comparison::Ge>>(lua, "ge");
  set_function<compare<Comparison::Eq>>(lua, "eq");
  set_function<compare<Comparison::Ne>>(lua, "ne");
  set_function<test<Test::IsNan>>(lua, "isnan");
  set_function<test<Test::IsInf>>(lua, "isinf");
  set_function<test<Test::IsFinite>>(lua, "isfinite");
  set_function<is_close>(lua, "isclose");
  set_function<all_close>(lua, "allclose");
}

void add_value_operators(lua_State* lua) {
  set_function<operate<Binary::Add>>(lua, "__add");
  set_function<operate<Binary::Subtract>>(lua, "__sub");
  set_function<operate<Binary::Multiply>>(lua, "__mul");
  set_function<operate<Binary::Divide>>(lua, "__div");
  set_function<operate<Binary::FloorDivide>>(lua, "__idiv");
  set_function<operate<Binary::Modulo>>(lua, "__mod");
  set_function<operate<Binary::Power>>(lua, "__pow");
  set_function<unary<Unary::Negative>>(lua, "__unm");
  set_function<combine<Logic::And>>(lua, "__band");
  set_function<combine<Logic::Or>>(lua, "__bor");
  set_function<combine<Logic::ExclusiveOr>>(lua, "__bxor");
  set_function<invert>(lua, "__bnot");
  set_function<is_equal>(lua, "__eq");
}

}  // namespace cupel::lua
