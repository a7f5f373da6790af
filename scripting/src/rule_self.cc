// The methods of `self` in a rule: what a script reports about the step that is judged.
//
// Each method is a closure that holds the rule's context and the table self, so that a call without
// self is noticed. Texts are shortened before they are kept. The thread that asks the rule runs it;
// a method that is called while no step is judged throws UsageError.

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
#include "cupel/core/number_text.h"
#include "sol_binding.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::size_t kLongestWords = 1000;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::string clipped(std::optional<std::string_view> text) {
  return text ? std::string(text->substr(0, kLongestWords)) : std::string();
}

// The rule that a script's `self` stands for. Upvalues of its methods: the name, the context, self,
// and what stands behind the name in a call.
struct Self {
  RuleContext& context;
  lua_State* lua;
  static Self from_lua(lua_State* lua, int place) {
    auto& context = *static_cast<RuleContext*>(lua_touserdata(lua, lua_upvalueindex(2)));
    if (lua_rawequal(lua, place, lua_upvalueindex(3)) != 0) return {context, lua};
    const std::string name(function_name(lua));
    throw UsageError(name + " is called without self: write self:" + name +
                     lua_tostring(lua, lua_upvalueindex(4)) + ", with a colon");
  }
};

using ReasonArgument = Argument<std::string_view, "reason">;

void issue(Self self, TableArgument table) {
  const NamedArguments found = table.read({"tensor", "worker", "value", "threshold", "message"});
  Finding finding{.tensor = clipped(found.required_text("tensor")),
                  .worker = clipped(found.text("worker")),
                  .value = kNaN,
                  .threshold = found.number("threshold").value_or(kNaN),
                  .message = clipped(found.text("message"))};
  if (finding.tensor.empty()) found.fail("tensor", "is empty");
  // A message may stand alone, without a value.
  finding.value = finding.message.empty() ? found.required_number("value")
                                          : found.number("value").value_or(kNaN);
  if (finding.message.empty()) {
    finding.message = "value " + short_text(finding.value);
    if (found.has("threshold")) finding.message += ", threshold " + short_text(finding.threshold);
  }
  self.context.add(self.lua, std::move(finding));
}

void skip(Self self, TableArgument table) {
  const NamedArguments skipped = table.read({"tensor", "worker", "reason"});
  self.context.skip(self.lua,
                    {clipped(skipped.required_text("tensor")), clipped(skipped.text("worker")),
                     clipped(skipped.required_text("reason"))});
}

void explain(Self self, TableArgument table) {
  const NamedArguments explained = table.read({"tensor", "worker", "read", "compared"});
  self.context.add_explanation(self.lua, {.tensor = clipped(explained.required_text("tensor")),
                                          .worker = clipped(explained.text("worker")),
                                          .read = clipped(explained.text("read")),
                                          .compared = clipped(explained.text("compared")),
                                          .fired = false});
}

bool is_explaining(Self self) { return self.context.explaining(); }

void saw_nan(Self self) { self.context.verdict().saw_nan(); }

void only_remembered(Self self) {
  Verdict& verdict = self.context.verdict();
  verdict.remember(std::max<std::int64_t>(1, verdict.datapoints()));
  verdict.count(-verdict.datapoints());
}

void not_applicable(Self self, ReasonArgument reason) {
  self.context.verdict().not_applicable(clipped(*reason));
}

void ask_again(Self self, ReasonArgument reason) {
  self.context.verdict().ask_again(clipped(*reason));
}

void end_rule(Self self) { self.context.verdict().end_rule(); }

// Adds it to the table on top, below which is self.
template <auto kFunction>
void set_method(lua_State* lua, const char* name, const char* arguments, RuleContext& context) {
  sol::stack::push(lua, name);
  sol::stack::push(lua, static_cast<void*>(&context));
  lua_pushvalue(lua, -4);
  sol::stack::push(lua, arguments);
  lua_pushcclosure(lua, method<kFunction>(name).function, 4);
  lua_setfield(lua, -2, name);
}

}  // namespace

void push_self_methods(lua_State* lua, RuleContext& context) {
  lua_newtable(lua);
  set_method<&issue>(lua, "issue", "{...}", context);
  set_method<&skip>(lua, "skip", "{...}", context);
  set_method<&only_remembered>(lua, "only_remembered", "()", context);
  set_method<&not_applicable>(lua, "not_applicable", "(...)", context);
  set_method<&ask_again>(lua, "ask_again", "(...)", context);
  set_method<&end_rule>(lua, "end_rule", "()", context);
  set_method<&saw_nan>(lua, "saw_nan", "()", context);
  set_method<&explain>(lua, "explain", "{...}", context);
  set_method<&is_explaining>(lua, "explaining", "()", context);
}

}  // namespace cupel::scripting_detail
