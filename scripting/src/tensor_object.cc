// One tensor of a trial, over all its steps.

#include <cmath>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/rules/number_text.h"
#include "cupel/rules/tensor_number.h"
#include "held.h"
#include "object_type.h"
#include "sandbox_functions.h"
#include "trial_object.h"
#include "value_binding.h"
#include "value_object.h"

namespace cupel::lua {
namespace {

char type_key;
constexpr const char* kName = "tensor";
constexpr std::size_t kLongestTensorName = 4096;
constexpr std::int64_t kRecordBytesPerInstruction = 64;
constexpr std::size_t kMostKnownTensors = 10'000;

struct TensorObject {
  Tensor tensor;
  TrialObject& trial;
};

TensorObject& self_of(lua_State* lua) {
  LuaState::of(lua).charge(lua, kQuery);
  auto& self = *static_cast<TensorObject*>(check_object(lua, 1, &type_key, kName));
  self.trial.context.look_at(self.tensor.name());
  return self;
}

// What of a step is asked for: the last argument of a query, a table of some of these.
struct Choice {
  Choice(lua_State* lua, int argument, const char* function,
         std::initializer_list<std::string_view> known) {
    const NamedArguments arguments(lua, argument, function, known);
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

// Tells what was read of a global step, where it is the one that is judged.
template <class F>
void tell(const TensorObject& self, std::int64_t step, std::string_view worker, F&& reading) {
  if (self.trial.is_judged(step))
    self.trial.context.read(self.tensor.name(), worker, [&] { return self.trial.told(reading()); });
  else
    self.trial.context.read_beside();
}

template <class F>
void tell(const TensorObject& self, const TensorRecord& record, F&& reading) {
  tell(self, record.step, record.worker, reading);
}

void tell_nan(const TensorObject& self, std::int64_t step) {
  if (self.trial.is_judged(step)) self.trial.context.verdict().saw_nan();
}

std::string what(const Tensor& tensor, std::int64_t step) {
  return tensor.name() + " at step " + std::to_string(step);
}

int name(lua_State* lua) {
  push_string(lua, self_of(lua).tensor.name());
  return 1;
}

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

int value(lua_State* lua) {
  const TensorObject& self = self_of(lua);
  const std::int64_t step = check_step(lua, 2, "value");
  const Choice choice(lua, 3, "value", {"mode", "worker"});
  const TensorRecord record = self.tensor.record(step, choice.mode, choice.worker);
  push_value(lua, read_value(lua, self.tensor, record), what(self.tensor, step));
  tell(self, record, [] { return Reading{"the raw value"}; });
  return 1;
}

// Pushes a number, and in words where it is from.
int push_number(lua_State* lua, const TensorObject& self, std::int64_t step,
                std::string_view worker, const TensorNumber& number) {
  if (std::isnan(number.value)) tell_nan(self, step);
  tell(self, step, worker, [&] {
    return Reading{std::string(number.origin_text()), short_text(number.value)};
  });
  lua_pushnumber(lua, number.value);
  lua_pushstring(lua, number.origin_text().data());
  return 2;
}

// nil where nothing that says the number was saved and the value is not to be read.
int reduction_value(lua_State* lua) {
  const TensorObject& self = self_of(lua);
  const std::int64_t step = check_step(lua, 2, "reduction_value");
  const std::string_view text = check_name(lua, 3, "reduction_value", "reduction");
  const Choice choice(lua, 4, "reduction_value", {"mode", "worker", "abs", "saved"});
  const Reduction reduction = require_reduction(text.substr(0, 100), choice.abs);
  // What most rules ask for, at most steps.
  if (const auto saved = self.tensor.find_reduction(step, reduction, choice.mode, choice.worker))
    return push_number(lua, self, saved->step, saved->worker, {saved->value, reduction});
  const TensorRecord record = self.tensor.record(step, choice.mode, choice.worker);
  if (const auto derived = saved_number(record, reduction))
    return push_number(lua, self, record.step, record.worker, *derived);
  if (choice.saved) {
    self.trial.context.read_beside();
    lua_pushnil(lua);
    return 1;
  }
  const Held held = held_for(lua, record);
  const double computed =
      record.has_value && record.dtype != DType::Utf8
          ? reduce(lua, self.tensor.value(step, choice.mode, choice.worker), reduction)
          // which says why there is none
          : self.tensor.reduction_value(step, to_string(reduction),
                                        {.mode = choice.mode, .worker = choice.worker});
  return push_number(lua, self, record.step, record.worker,
                     {computed, reduction, TensorNumber::Origin::Value});
}

// The saved ones, by name.
int reduction_values(lua_State* lua) {
  const TensorObject& self = self_of(lua);
  const std::int64_t step = check_step(lua, 2, "reduction_values");
  const Choice choice(lua, 3, "reduction_values", {"mode", "worker"});
  const TensorRecord record = self.tensor.record(step, choice.mode, choice.worker);
  lua_newtable(lua);
  record.reductions.set.for_each([&](Reduction reduction) {
    lua_pushnumber(lua, *record.reductions.get(reduction));
    push_string(lua, to_string(reduction));
    lua_insert(lua, -2);
    lua_rawset(lua, -3);
  });
  tell(self, record, [] { return Reading{"the saved reductions"}; });
  return 1;
}

int shape(lua_State* lua) {
  const TensorObject& self = self_of(lua);
  const std::int64_t step = check_step(lua, 2, "shape");
  const Choice choice(lua, 3, "shape", {"mode", "worker"});
  const TensorRecord record = self.tensor.record(step, choice.mode, choice.worker);
  const Shape shape = self.tensor.shape(step, choice.mode, choice.worker);
  tell(self, record, [] { return Reading{"the shape"}; });
  push_list(lua, std::vector<std::int64_t>(shape.begin(), shape.end()));
  return 1;
}

// {nan, pos_inf, neg_inf, zero}; nil where the hook did not count.
int counts(lua_State* lua) {
  const TensorObject& self = self_of(lua);
  const std::int64_t step = check_step(lua, 2, "counts");
  const Choice choice(lua, 3, "counts", {"mode", "worker"});
  const TensorRecord record = self.tensor.record(step, choice.mode, choice.worker);
  if (!record.counts) {
    self.trial.context.read_beside();
    lua_pushnil(lua);
    return 1;
  }
  if (record.counts->nan > 0) tell_nan(self, record.step);
  tell(self, record, [] { return Reading{"the counts"}; });
  lua_createtable(lua, 0, 4);
  const auto set = [lua](const char* key, std::int64_t count) {
    lua_pushinteger(lua, count);
    lua_setfield(lua, -2, key);
  };
  set("nan", record.counts->nan);
  set("pos_inf", record.counts->pos_inf);
  set("neg_inf", record.counts->neg_inf);
  set("zero", record.counts->zero);
  return 1;
}

// What the index says of a step: {dtype, elements, shape, has_value, worker, mode, step,
// mode_step}; without the shape where that was not saved.
int record(lua_State* lua) {
  const TensorObject& self = self_of(lua);
  const std::int64_t step = check_step(lua, 2, "record");
  const Choice choice(lua, 3, "record", {"mode", "worker"});
  const TensorRecord record = self.tensor.record(step, choice.mode, choice.worker);
  lua_createtable(lua, 0, 8);
  const auto set_text = [lua](const char* key, std::string_view text) {
    push_string(lua, text);
    lua_setfield(lua, -2, key);
  };
  const auto set_integer = [lua](const char* key, std::int64_t number) {
    lua_pushinteger(lua, number);
    lua_setfield(lua, -2, key);
  };
  set_text("dtype", to_string(record.dtype));
  set_text("worker", record.worker);
  set_text("mode", to_string(record.mode));
  set_integer("step", record.step);
  set_integer("mode_step", record.mode_step);
  set_integer("elements", record.elements);
  lua_pushboolean(lua, record.has_value ? 1 : 0);
  lua_setfield(lua, -2, "has_value");
  if (record.shape) {
    push_list(lua, std::vector<std::int64_t>(record.shape->begin(), record.shape->end()));
    lua_setfield(lua, -2, "shape");
  }
  self.trial.context.read_beside();
  return 1;
}

int steps(lua_State* lua) {
  push_list(lua, self_of(lua).tensor.steps(mode_argument(lua, 2)));
  return 1;
}

int prev_steps(lua_State* lua) {
  const Tensor& tensor = self_of(lua).tensor;
  const std::int64_t step = check_step(lua, 2, "prev_steps");
  const std::int64_t count =
      lua_isnoneornil(lua, 3) ? 0 : check_step(lua, 3, "prev_steps", "count");
  luaL_argcheck(lua, count >= 0, 3, "how many steps must not be negative");
  push_list(lua, tensor.prev_steps(step, static_cast<std::size_t>(count), mode_argument(lua, 4)));
  return 1;
}

int workers(lua_State* lua) {
  const Tensor& tensor = self_of(lua).tensor;
  push_list(lua, tensor.workers(check_step(lua, 2, "workers"), mode_argument(lua, 3)));
  return 1;
}

// "tensor fc1.weight: f64[4, 4], 5 steps from 0 to 40", up to the step that is judged.
int tensor_text(lua_State* lua) {
  const TensorObject& self = self_of(lua);
  const std::vector<std::int64_t> steps = self.tensor.steps();
  std::string text = "tensor " + self.tensor.name() + ": ";
  if (steps.empty()) {  // training was set back
    push_string(lua, text + "not saved so far");
    return 1;
  }
  const TensorRecord newest = self.tensor.record(steps.back());
  text += to_string(newest.dtype);
  text += newest.shape ? shape_text(*newest.shape)
                       : ", " + std::to_string(newest.elements) + " elements";
  text += steps.size() == 1
              ? ", step " + std::to_string(steps.back())
              : ", " + std::to_string(steps.size()) + " steps from " +
                    std::to_string(steps.front()) + " to " + std::to_string(steps.back());
  push_string(lua, text);
  return 1;
}

}  // namespace

void add_tensor_type(lua_State* lua) {
  make_type(
      lua, &type_key, kName,
      {method<name>("name"), method<value>("value"), method<reduction_value>("reduction_value"),
       method<reduction_values>("reduction_values"), method<shape>("shape"),
       method<counts>("counts"), method<record>("record"), method<steps>("steps"),
       method<prev_steps>("prev_steps"), method<workers>("workers")});
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &type_key);
  set_function<tensor_text>(lua, "__tostring");
  lua_pop(lua, 1);
}

void push_tensor(lua_State* lua, TrialObject& trial) {
  LuaState::of(lua).charge(lua, kQuery);
  // No tensor has a longer one, and errors hold it several times.
  const std::string_view name = check_name(lua, 2, "tensor").substr(0, kLongestTensorName + 1);
  trial.context.look_at(name);
  lua_getiuservalue(lua, 1, 1);
  lua_pushvalue(lua, 2);
  if (lua_rawget(lua, -2) == LUA_TUSERDATA) return;
  lua_pop(lua, 1);
  LuaState::of(lua).push_object(
      lua, std::make_shared<TensorObject>(TensorObject{tensor_of(trial.trial, name), trial}),
      &type_key);
  lua_pushvalue(lua, 2);
  lua_pushvalue(lua, -2);
  lua_rawset(lua, -4);
  if (++trial.known_tensors < kMostKnownTensors) return;
  lua_newtable(lua);
  lua_setiuservalue(lua, 1, 1);
  trial.known_tensors = 0;
}

}  // namespace cupel::lua
