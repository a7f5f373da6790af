// Operators and methods that compute a value element by element.
//
// Operands are values or numbers and are broadcast to a common shape. Each function makes an array
// within the budget of the state; a shape that does not fit, or a text, is an error that names both
// operands.

#include <limits>
#include <optional>

#include "sol_binding.h"
#include "value_binding.h"

namespace cupel::scripting_detail {
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
NewValue unary(Value& value, sol::this_state lua) {
  LuaBudget budget(lua);
  return {apply(budget, kOperation, numbers_of(lua, value)),
          computed_name(name_of(kOperation), value.name)};
}

NewValue magnitudes(Value& value, sol::this_state lua) {
  require_numbers(lua, value);
  return {value.array, computed_name("abs", value.name), value.known, true};
}

// Either operand of an operator may be a number.
template <Binary kOperation>
NewValue operate(OperandArgument a, OperandArgument b, sol::this_state lua) {
  const char* const name = name_of(kOperation);
  require_common_shape(name, a, b);
  LuaBudget budget(lua);
  return {apply(budget, kOperation, a.operand, b.operand), computed_name(name, a.name, b.name)};
}

// A value's method with an operand, which takes its numbers.
OperandArgument operand_of(lua_State* lua, Value& value) {
  return {Operand(numbers_of(lua, value)), value.name};
}

template <Binary kOperation>
NewValue binary(Value& value, OperandArgument other, sol::this_state lua) {
  return operate<kOperation>(operand_of(lua, value), std::move(other), lua);
}

// Texts are equal to texts or are not; they have no other order. Nothing where the other operand is
// no text.
std::optional<NewValue> compare_texts(const Value& value, AnyArgument given, bool invert,
                                      const char* name) {
  LuaBudget budget(given.lua);
  if (lua_type(given.lua, given.place) == LUA_TSTRING) {
    const auto text = read_argument<std::string_view>(given.lua, given.place, "text");
    return NewValue{is_text(budget, value.array, text, invert),
                    computed_name(name, value.name, text.substr(0, 40))};
  }
  const Value* const other = find_object<Value>(given.lua, given.place);
  if (other == nullptr || !other->array.is_text()) return std::nullopt;
  if (other->shape() != value.shape())
    fail(name, "shapes " + shape_text(value.shape()) + " of " + value.name + " and " +
                   shape_text(other->shape()) + " of " + other->name + " are not the same");
  return NewValue{is_text(budget, value.array, other->array, invert),
                  computed_name(name, value.name, other->name)};
}

template <Comparison kComparison>
NewValue compare(Value& value, AnyArgument given) {
  const char* const name = name_of(kComparison);
  constexpr bool kForTexts = kComparison == Comparison::Eq || kComparison == Comparison::Ne;
  if (kForTexts && value.array.is_text())
    if (auto result = compare_texts(value, given, kComparison == Comparison::Ne, name))
      return *std::move(result);
  const OperandArgument a = operand_of(given.lua, value);
  const OperandArgument b = OperandArgument::from_lua(given.lua, given.place);
  require_common_shape(name, a, b);
  LuaBudget budget(given.lua);
  return {apply(budget, kComparison, a.operand, b.operand), computed_name(name, a.name, b.name)};
}

template <Test kTest>
NewValue test(Value& value, sol::this_state lua) {
  LuaBudget budget(lua);
  return {apply(budget, kTest, numbers_of(lua, value)), computed_name(name_of(kTest), value.name)};
}

// {rtol, atol, equal_nan}
struct ClosenessArgument {
  Closeness closeness;
  static ClosenessArgument from_lua(lua_State* lua, int place) {
    const NamedArguments options = TableArgument{lua, place}.read({"rtol", "atol", "equal_nan"});
    Closeness closeness;
    closeness.relative = options.number("rtol").value_or(closeness.relative);
    closeness.absolute = options.number("atol").value_or(closeness.absolute);
    closeness.equal_nan = options.boolean("equal_nan").value_or(false);
    if (!(closeness.relative >= 0) || !(closeness.absolute >= 0))
      fail(function_name(lua), "rtol and atol are 0 or more");
    return {closeness};
  }
};

NewValue close_elements(Value& value, OperandArgument b, ClosenessArgument how,
                        sol::this_state lua) {
  const OperandArgument a = operand_of(lua, value);
  require_common_shape("isclose", a, b);
  LuaBudget budget(lua);
  return {is_close(budget, a.operand, b.operand, how.closeness),
          computed_name("isclose", a.name, b.name)};
}

bool are_close(Value& value, OperandArgument b, ClosenessArgument how, sol::this_state lua) {
  const OperandArgument a = operand_of(lua, value);
  require_common_shape("allclose", a, b);
  LuaBudget budget(lua);
  return all_close(budget, a.operand, b.operand, how.closeness);
}

NewValue clipped_value(Value& value, Argument<std::optional<double>, "least"> least,
                       Argument<std::optional<double>, "most"> most, sol::this_state lua) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double lower = (*least).value_or(-kInfinity);
  const double upper = (*most).value_or(kInfinity);
  if (!(lower <= upper)) fail("clip", "the lower bound is not below the upper one");
  LuaBudget budget(lua);
  return {clip(budget, numbers_of(lua, value), lower, upper), computed_name("clip", value.name)};
}

// An operand of logic: a mask.
struct MaskArgument {
  const Value& mask;
  static MaskArgument from_lua(lua_State* lua, int place) {
    const Value* const value = find_object<Value>(lua, place);
    if (value != nullptr && value->dtype() == DType::Bool) return {*value};
    fail(function_name(lua),
         "both operands are masks, as v:gt(0) makes them, and this is " +
             (value == nullptr ? std::string(luaL_typename(lua, place))
                               : value->name + " of " + std::string(to_string(value->dtype()))));
  }
};

template <Logic kOperation>
NewValue combine(MaskArgument left, MaskArgument right, sol::this_state lua) {
  const char* const name = name_of(kOperation);
  const Value& a = left.mask;
  const Value& b = right.mask;
  require_common_shape(name, {Operand(a.array), a.name}, {Operand(b.array), b.name});
  LuaBudget budget(lua);
  return {apply(budget, kOperation, a.array, b.array), computed_name(name, a.name, b.name)};
}

NewValue inverted(MaskArgument given, sol::this_state lua) {
  LuaBudget budget(lua);
  return {invert(budget, given.mask.array), computed_name("not", given.mask.name)};
}

// a == b: whether shapes and elements are the same.
bool is_equal(AnyArgument left, AnyArgument right) {
  Value* const a = find_object<Value>(left.lua, left.place);
  Value* const b = find_object<Value>(right.lua, right.place);
  LuaBudget budget(left.lua);
  return a != nullptr && b != nullptr && a->shape() == b->shape() &&
         equal(budget, elements_of(left.lua, *a), elements_of(left.lua, *b));
}

}  // namespace

std::vector<Method> operation_methods() {
  return {method<&magnitudes>("abs"),
          method<&unary<Unary::Sqrt>>("sqrt"),
          method<&unary<Unary::Exp>>("exp"),
          method<&unary<Unary::Log>>("log"),
          method<&unary<Unary::Sign>>("sign"),
          method<&unary<Unary::Floor>>("floor"),
          method<&binary<Binary::Minimum>>("minimum"),
          method<&binary<Binary::Maximum>>("maximum"),
          method<&clipped_value>("clip"),
          method<&compare<Comparison::Lt>>("lt"),
          method<&compare<Comparison::Le>>("le"),
          method<&compare<Comparison::Gt>>("gt"),
          method<&compare<Comparison::Ge>>("ge"),
          method<&compare<Comparison::Eq>>("eq"),
          method<&compare<Comparison::Ne>>("ne"),
          method<&test<Test::IsNan>>("isnan"),
          method<&test<Test::IsInf>>("isinf"),
          method<&test<Test::IsFinite>>("isfinite"),
          method<&close_elements>("isclose"),
          method<&are_close>("allclose"),
          method<&operate<Binary::Add>>("__add", "add"),
          method<&operate<Binary::Subtract>>("__sub", "subtract"),
          method<&operate<Binary::Multiply>>("__mul", "multiply"),
          method<&operate<Binary::Divide>>("__div", "divide"),
          method<&operate<Binary::FloorDivide>>("__idiv", "floor_divide"),
          method<&operate<Binary::Modulo>>("__mod", "modulo"),
          method<&operate<Binary::Power>>("__pow", "power"),
          method<&unary<Unary::Negative>>("__unm", "negative"),
          method<&combine<Logic::And>>("__band", "and"),
          method<&combine<Logic::Or>>("__bor", "or"),
          method<&combine<Logic::ExclusiveOr>>("__bxor", "exclusive_or"),
          method<&inverted>("__bnot", "not"),
          method<&is_equal>("__eq", "equal")};
}

}  // namespace cupel::scripting_detail
