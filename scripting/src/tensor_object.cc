// A tensor of a trial as scripts see it, over all its steps.
//
// Each method asks the index or reads the value of a step. What is read at the step that is judged
// is counted in the verdict and explained on request. A value's bytes count against the memory of
// the state before they are read. Exceptions of queries become errors of the script. The thread
// that asks the rule runs it.

#include <cmath>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/tensor_number.h"
#include "held.h"
#include "sol_binding.h"
#include "trial_object.h"
#include "value_binding.h"
#include "value_object.h"

namespace cupel::scripting_detail {

struct TensorObject {
  Tensor tensor;
  TrialObject& trial;
};

template <>
struct ObjectType<TensorObject> {
  static constexpr const char* kName = "tensor";
};

namespace {

constexpr std::size_t kLongestTensorName = 4096;
constexpr std::int64_t kRecordBytesPerInstruction = 64;
constexpr std::size_t kMostKnownTensors = 10'000;

// A tensor that a script asks something, which is counted and is what the script looks at now.
struct AskedTensor {
  const TensorObject& self;
  lua_State* lua;
  static AskedTensor from_lua(lua_State* lua, int place) {
    LuaState::of(lua).charge(lua, kQuery);
    auto& self = check_object<TensorObject>(lua, place);
    self.trial.context.set_last_tensor(self.tensor.name());
    return {self, lua};
  }
};

// What of a step is asked for: the last argument of a query, a table of some of these.
struct Choice {
  Choice(TableArgument table, std::initializer_list<std::string_view> known) {
    const NamedArguments arguments = table.read(known);
    mode = arguments.mode();
    worker = arguments.text("worker").value_or("");
    abs = arguments.boolean("abs").value_or(false);
    saved = arguments.boolean("saved").value_or(false);
  }
  Mode mode;
  std::string worker;
  bool abs;
  bool saved;  // and nothing that is computed of the value
};

// The same where a mode and a worker are all that may be chosen.
struct Place {
  Choice choice;
  static Place from_lua(lua_State* lua, int place) {
    return {Choice(TableArgument{lua, place}, {"mode", "worker"})};
  }
  TensorRecord record(const TensorObject& self, std::int64_t step) const {
    return self.tensor.record(step, choice.mode, choice.worker);
  }
};

// Records a reading of a global step in the verdict, where that step is judged.
template <class F>
void report_reading(const TensorObject& self, std::int64_t step, std::string_view worker,
                    F&& reading) {
  if (self.trial.is_judged(step))
    self.trial.context.read(self.tensor.name(), worker,
                            [&] { return self.trial.described(reading()); });
  else
    self.trial.context.read_beside();
}

template <class F>
void report_reading(const TensorObject& self, const TensorRecord& record, F&& reading) {
  report_reading(self, record.step, record.worker, reading);
}

void report_nan(const TensorObject& self, std::int64_t step) {
  if (self.trial.is_judged(step)) self.trial.context.verdict().saw_nan();
}

std::string what(const Tensor& tensor, std::int64_t step) {
  return tensor.name() + " at step " + std::to_string(step);
}

std::string name(AskedTensor asked) { return asked.self.tensor.name(); }

// Counts the reading of a value before it is read.
Held held_for(lua_State* lua, const TensorRecord& record) {
  LuaState::of(lua).charge(lua, record.bytes / kRecordBytesPerInstruction);
  return {lua, static_cast<std::size_t>(record.bytes)};
}

// Reads a value, which counts against the memory while it is read as it does afterwards.
TensorValue read_value(lua_State* lua, const Tensor& tensor, const TensorRecord& record) {
  const Held held = held_for(lua, record);
  return tensor.value(record.step, Mode::Global, record.worker);
}

// A value that becomes one of scripts.
struct RawValue {
  TensorValue value;
  std::string name;
  int push(lua_State* lua) {
    push_value(lua, std::move(value), name);
    return 1;
  }
};

RawValue value(AskedTensor asked, StepArgument step, Place place) {
  const TensorObject& self = asked.self;
  const TensorRecord record = place.record(self, step);
  TensorValue value = read_value(asked.lua, self.tensor, record);
  report_reading(self, record, [] { return Reading{"the raw value"}; });
  return {std::move(value), what(self.tensor, step)};
}

// A number, and in words where it is from: a text that lasts, by whose address Lua finds its own.
struct NumberAndOrigin {
  TensorNumber number;
  int push(lua_State* lua) const {
    lua_pushnumber(lua, number.value);
    lua_pushstring(lua, number.origin_text().data());
    return 2;
  }
};

NumberAndOrigin reported_number(const TensorObject& self, std::int64_t step,
                                std::string_view worker, const TensorNumber& number) {
  if (std::isnan(number.value)) report_nan(self, step);
  report_reading(self, step, worker, [&] {
    return Reading{std::string(number.origin_text()), short_text(number.value)};
  });
  return {number};
}

// Nothing where nothing that says the number was saved and the value is not to be read.
std::optional<NumberAndOrigin> reduction_value(AskedTensor asked, StepArgument step,
                                               Argument<std::string_view, "reduction"> text,
                                               TableArgument table) {
  const TensorObject& self = asked.self;
  const Choice choice(table, {"mode", "worker", "abs", "saved"});
  const Reduction reduction = require_reduction((*text).substr(0, 100), choice.abs);
  // What most rules ask for, at most steps.
  if (const auto saved = self.tensor.find_reduction(step, reduction, choice.mode, choice.worker))
    return reported_number(self, saved->step, saved->worker, {saved->value, reduction});
  const TensorRecord record = self.tensor.record(step, choice.mode, choice.worker);
  if (const auto derived = saved_number(record, reduction))
    return reported_number(self, record.step, record.worker, *derived);
  if (choice.saved) {
    self.trial.context.read_beside();
    return std::nullopt;
  }
  const Held held = held_for(asked.lua, record);
  const double computed =
      record.has_value && record.dtype != DType::Utf8
          ? reduce(asked.lua, self.tensor.value(step, choice.mode, choice.worker), reduction)
          // which throws the reason why there is none
          : self.tensor.reduction_value(step, to_string(reduction),
                                        {.mode = choice.mode, .worker = choice.worker});
  return reported_number(self, record.step, record.worker,
                         {computed, reduction, TensorNumber::Origin::Value});
}

// The saved reductions, by name.
struct ReductionTable {
  ReductionValues values;
  int push(lua_State* lua) const {
    const NewTable record(lua, 0);
    values.set.for_each(
        [&](Reduction reduction) { record.set(to_string(reduction), *values.get(reduction)); });
    return 1;
  }
};

ReductionTable reduction_values(AskedTensor asked, StepArgument step, Place place) {
  const TensorRecord record = place.record(asked.self, step);
  report_reading(asked.self, record, [] { return Reading{"the saved reductions"}; });
  return {record.reductions};
}

IntegerList extents_of(const Shape& shape) { return {{shape.begin(), shape.end()}}; }

IntegerList shape(AskedTensor asked, StepArgument step, Place place) {
  const TensorObject& self = asked.self;
  const TensorRecord record = place.record(self, step);
  const Shape shape = self.tensor.shape(step, place.choice.mode, place.choice.worker);
  report_reading(self, record, [] { return Reading{"the shape"}; });
  return extents_of(shape);
}

// Nothing where the hook did not count.
std::optional<CountTable> counts(AskedTensor asked, StepArgument step, Place place) {
  const TensorObject& self = asked.self;
  const TensorRecord record = place.record(self, step);
  if (!record.counts) {
    self.trial.context.read_beside();
    return std::nullopt;
  }
  if (record.counts->nan > 0) report_nan(self, record.step);
  report_reading(self, record, [] { return Reading{"the counts"}; });
  return CountTable{*record.counts, record.counts->zero};
}

// The index row of a step, without the shape where that was not saved.
struct RecordTable {
  TensorRecord row;
  int push(lua_State* lua) const {
    const NewTable record(lua, 8);
    record.set("dtype", to_string(row.dtype));
    record.set("worker", row.worker);
    record.set("mode", to_string(row.mode));
    record.set("step", row.step);
    record.set("mode_step", row.mode_step);
    record.set("elements", row.elements);
    record.set("has_value", row.has_value);
    if (row.shape) record.set("shape", extents_of(*row.shape));
    return 1;
  }
};

RecordTable record(AskedTensor asked, StepArgument step, Place place) {
  RecordTable row{place.record(asked.self, step)};
  asked.self.trial.context.read_beside();
  return row;
}

IntegerList steps(AskedTensor asked, ModeArgument mode) { return {asked.self.tensor.steps(mode)}; }

IntegerList prev_steps(AskedTensor asked, StepArgument step,
                       Argument<std::optional<std::int64_t>, "count"> given, ModeArgument mode) {
  const std::int64_t count = (*given).value_or(0);
  if (count < 0) throw UsageError("prev_steps: how many steps must not be negative");
  return {asked.self.tensor.prev_steps(step, static_cast<std::size_t>(count), mode)};
}

TextList workers(AskedTensor asked, StepArgument step, ModeArgument mode) {
  return {asked.self.tensor.workers(step, mode)};
}

// "tensor fc1.weight: f64[4, 4], 5 steps from 0 to 40", up to the step that is judged.
std::string tensor_text(AskedTensor asked) {
  const TensorObject& self = asked.self;
  const std::vector<std::int64_t> steps = self.tensor.steps();
  std::string text = "tensor " + self.tensor.name() + ": ";
  if (steps.empty()) return text + "not saved so far";  // training was set back
  const TensorRecord newest = self.tensor.record(steps.back());
  text += to_string(newest.dtype);
  text += newest.shape ? shape_text(*newest.shape)
                       : ", " + std::to_string(newest.elements) + " elements";
  text += steps.size() == 1
              ? ", step " + std::to_string(steps.back())
              : ", " + std::to_string(steps.size()) + " steps from " +
                    std::to_string(steps.front()) + " to " + std::to_string(steps.back());
  return text;
}

}  // namespace

void add_tensor_type(lua_State* lua) {
  register_type<TensorObject>(
      lua, method<&name>("name"), method<&value>("value"),
      method<&reduction_value>("reduction_value"), method<&reduction_values>("reduction_values"),
      method<&shape>("shape"), method<&counts>("counts"), method<&record>("record"),
      method<&steps>("steps"), method<&prev_steps>("prev_steps"), method<&workers>("workers"),
      method<&tensor_text>("__tostring"));
}

int trial_tensor(lua_State* lua) {
  TrialObject& trial = check_object<TrialObject>(lua, 1);
  LuaState::of(lua).charge(lua, kQuery);
  lua_settop(lua, 2);
  lua_getiuservalue(lua, 1, 1);
  lua_pushvalue(lua, 2);
  if (lua_rawget(lua, -2) == LUA_TUSERDATA) {
    trial.context.set_last_tensor(find_object<TensorObject>(lua, -1)->tensor.name());
    return 1;
  }
  lua_pop(lua, 1);
  // No tensor has a longer one, and errors hold it several times.
  const std::string_view name =
      read_argument<std::string_view>(lua, 2, "name").substr(0, kLongestTensorName + 1);
  trial.context.set_last_tensor(name);
  push_object(lua,
              std::make_shared<TensorObject>(TensorObject{tensor_of(trial.trial, name), trial}));
  lua_pushvalue(lua, 2);
  lua_pushvalue(lua, -2);
  lua_rawset(lua, -4);
  if (++trial.known_tensors < kMostKnownTensors) return 1;
  lua_newtable(lua);
  lua_setiuservalue(lua, 1, 1);
  trial.known_tensors = 0;
  return 1;
}

}  // namespace cupel::scripting_detail
