#include "rule_self.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/rules/number_text.h"
#include "sandbox_functions.h"

namespace cupel::lua {
namespace {

constexpr std::size_t kLongestWords = 1000;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

RuleContext& context_of(lua_State* lua) {
  return *static_cast<RuleContext*>(lua_touserdata(lua, lua_upvalueindex(1)));
}

std::string clipped(std::optional<std::string_view> text) {
  return text ? std::string(text->substr(0, kLongestWords)) : std::string();
}

int issue(lua_State* lua) {
  const NamedArguments found(lua, 2, "issue",
                             {"tensor", "worker", "value", "threshold", "message"});
  Finding finding{.tensor = clipped(found.required_text("tensor")),
                  .worker = clipped(found.text("worker")),
                  .value = kNaN,
                  .threshold = found.number("threshold").value_or(kNaN),
                  .message = clipped(found.text("message"))};
  if (finding.tensor.empty()) found.fail("tensor", "is empty");
  // A message may say all there is to say.
  finding.value = finding.message.empty() ? found.required_number("value")
                                          : found.number("value").value_or(kNaN);
  if (finding.message.empty()) {
    finding.message = "value " + short_text(finding.value);
    if (found.has("threshold")) finding.message += ", threshold " + short_text(finding.threshold);
  }
  context_of(lua).add(lua, std::move(finding));
  return 0;
}

int skip(lua_State* lua) {
  const NamedArguments skipped(lua, 2, "skip", {"tensor", "worker", "reason"});
  context_of(lua).skip(lua,
                       {clipped(skipped.required_text("tensor")), clipped(skipped.text("worker")),
                        clipped(skipped.required_text("reason"))});
  return 0;
}

int explain(lua_State* lua) {
  const NamedArguments told(lua, 2, "explain", {"tensor", "worker", "read", "compared"});
  context_of(lua).tell(lua, {.tensor = clipped(told.required_text("tensor")),
                             .worker = clipped(told.text("worker")),
                             .read = clipped(told.text("read")),
                             .compared = clipped(told.text("compared")),
                             .fired = false});
  return 0;
}

int is_explaining(lua_State* lua) {
  lua_pushboolean(lua, context_of(lua).explaining() ? 1 : 0);
  return 1;
}

int saw_nan(lua_State* lua) {
  context_of(lua).verdict().saw_nan();
  return 0;
}

int only_remembered(lua_State* lua) {
  Verdict& verdict = context_of(lua).verdict();
  verdict.remember(std::max<std::int64_t>(1, verdict.datapoints()));
  verdict.count(-verdict.datapoints());
  return 0;
}

int not_applicable(lua_State* lua) {
  context_of(lua).verdict().not_applicable(clipped(check_name(lua, 2, "not_applicable", "reason")));
  return 0;
}

int ask_again(lua_State* lua) {
  context_of(lua).verdict().ask_again(clipped(check_name(lua, 2, "ask_again", "reason")));
  return 0;
}

int end_rule(lua_State* lua) {
  context_of(lua).verdict().end_rule();
  return 0;
}

// Upvalues: the context, self, the method's name, and what stands behind it.
template <int (*kFunction)(lua_State*)>
int method_of_self(lua_State* lua) {
  if (lua_rawequal(lua, 1, lua_upvalueindex(2)) != 0) return kFunction(lua);
  const std::string name = lua_tostring(lua, lua_upvalueindex(3));
  throw UsageError(name + " is called without self: write self:" + name +
                   lua_tostring(lua, lua_upvalueindex(4)) + ", with a colon");
}

// Adds it to the table on top, below which is self.
template <int (*kFunction)(lua_State*)>
void set_method(lua_State* lua, const char* name, const char* arguments, RuleContext& context) {
  lua_pushlightuserdata(lua, &context);
  lua_pushvalue(lua, -3);
  lua_pushstring(lua, name);
  lua_pushstring(lua, arguments);
  push_function<method_of_self<kFunction>>(lua, 4);
  lua_setfield(lua, -2, name);
}

}  // namespace

void push_self_methods(lua_State* lua, RuleContext& context) {
  lua_newtable(lua);
  set_method<issue>(lua, "issue", "{...}", context);
  set_method<skip>(lua, "skip", "{...}", context);
  set_method<only_remembered>(lua, "only_remembered", "()", context);
  set_method<not_applicable>(lua, "not_applicable", "(...)", context);
  set_method<ask_again>(lua, "ask_again", "(...)", context);
  set_method<end_rule>(lua, "end_rule", "()", context);
  set_method<saw_nan>(lua, "saw_nan", "()", context);
  set_method<explain>(lua, "explain", "{...}", context);
  set_method<is_explaining>(lua, "explaining", "()", context);
}

}  // namespace cupel::lua
