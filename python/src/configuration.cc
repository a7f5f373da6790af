// SaveConfig, ReductionConfig and Collection as Python sees them: the values of C++, with the
// constructors and the attributes of the SDK that scripts are ported from. Arguments are read here
// and not by nanobind, so that a wrong one is an SMDebugValueError or SMDebugTypeError that names
// it. All of them compare, copy and pickle as values. The GIL is held throughout.

#include "configuration.h"

#include <nanobind/operators.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <set>
#include <string>
#include <utility>

#include "cupel/core/collection.h"
#include "cupel/core/error.h"
#include "cupel/format/collection_json.h"
#include "mode_caster.h"
#include "object_text.h"
#include "parts.h"
#include "type_error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace cupel::python {
namespace {

using Steps = std::vector<std::int64_t>;
using Names = std::set<std::string, std::less<>>;

bool is_sequence(nb::handle object) {
  return nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object) ||
         PyAnySet_Check(object.ptr());
}

// A whole number, also as text or as a float without a fraction.
std::int64_t read_whole_number(nb::handle object, const char* what) {
  PyObject* number = nullptr;
  if (PyIndex_Check(object.ptr()) != 0) {
    number = PyNumber_Index(object.ptr());
  } else if (PyUnicode_Check(object.ptr())) {
    number = PyNumber_Long(object.ptr());
  } else if (PyFloat_Check(object.ptr()) && nb::cast<bool>(object.attr("is_integer")())) {
    number = PyNumber_Long(object.ptr());
  }
  const nb::object held = nb::steal(number);
  std::int64_t value = 0;
  if (held.is_valid() && nb::try_cast(held, value)) return value;
  PyErr_Clear();
  throw UsageError(std::string(what) + " is a whole number, not " + repr_of(object));
}

std::int64_t read_step(nb::handle object) {
  std::int64_t step = 0;
  if (!nb::try_cast(object, step))
    raise_type_error("a step is a whole number of 64 bits, not " + repr_of(object));
  return step;
}

Mode read_mode_key(nb::handle key) {
  Mode mode = Mode::Global;
  if (!read_mode(key, mode)) raise_type_error("a mode is one of ModeKeys, not " + repr_of(key));
  return mode;
}

Steps read_steps(nb::handle object) {
  if (!is_sequence(object))
    throw UsageError("save_steps is a list of steps, not " + repr_of(object));
  Steps steps;
  for (const nb::handle step : object)
    steps.push_back(read_whole_number(step, "a step of save_steps"));
  return steps;
}

bool read_flag(nb::handle object, const char* what) {
  if (!PyBool_Check(object.ptr()))
    throw UsageError(std::string(what) + " is True or False, not " + repr_of(object));
  return object.is(Py_True);
}

// What save_interval and the like are set to; a config has them for all modes.
template <class Change>
void change(SaveConfigMode& config, Change&& values) {
  SaveConfigMode changed = config;
  values(changed);
  changed.validate();
  config = std::move(changed);
}

template <class Change>
void change(SaveConfig& config, Change&& values) {
  SaveConfig changed = config;
  values(changed);
  for (auto& [mode, of_mode] : changed.mode_save_configs) values(of_mode);
  changed.validate();
  config = std::move(changed);
}

template <class Config>
void set_interval(Config& config, nb::handle value) {
  const std::int64_t interval = read_whole_number(value, "save_interval");
  change(config, [&](auto& values) { values.save_interval = interval; });
}
template <class Config>
void set_start(Config& config, nb::handle value) {
  const std::int64_t start = read_whole_number(value, "start_step");
  change(config, [&](auto& values) { values.start_step = start; });
}
template <class Config>
void set_end(Config& config, nb::handle value) {
  std::optional<std::int64_t> end;
  if (!value.is_none()) end = read_whole_number(value, "end_step");
  change(config, [&](auto& values) { values.end_step = end; });
}
template <class Config>
void set_steps(Config& config, nb::handle value) {
  const Steps steps = value.is_none() ? Steps() : read_steps(value);
  change(config, [&](auto& values) { values.save_steps = steps; });
}

// The values of a constructor; None keeps a default.
template <class Config>
void set_values(Config& config, nb::handle save_interval, nb::handle start_step,
                nb::handle end_step, nb::handle save_steps) {
  if (!save_interval.is_none()) set_interval(config, save_interval);
  if (!start_step.is_none()) set_start(config, start_step);
  set_end(config, end_step);
  set_steps(config, save_steps);
}

std::map<Mode, SaveConfigMode> read_mode_configs(nb::handle object) {
  std::map<Mode, SaveConfigMode> configs;
  for (const auto& [key, value] : nb::borrow<nb::dict>(object)) {
    Mode mode = Mode::Global;
    if (key.is_none() || !read_mode(key, mode))
      raise_type_error("mode_save_configs has ModeKeys as keys, not " + repr_of(key));
    if (value.is_none()) continue;
    if (!nb::isinstance<SaveConfigMode>(value))
      raise_type_error("mode_save_configs has SaveConfigMode as values, not " + repr_of(value));
    configs[mode] = nb::cast<SaveConfigMode>(value);
  }
  return configs;
}

// Both kinds of save configuration have the same four values. Set in a SaveConfig, they are for all
// modes.
template <class Config>
void add_save_values(nb::class_<Config>& type) {
  type.def_prop_rw(
          "save_interval", [](const Config& self) { return self.save_interval; },
          &set_interval<Config>, "The interval of saved steps, counted from step 0.")
      .def_prop_rw(
          "start_step", [](const Config& self) { return self.start_step; }, &set_start<Config>,
          "The first step that the interval saves.")
      .def_prop_rw(
          "end_step", [](const Config& self) { return self.end_step; }, &set_end<Config>,
          nb::for_setter(nb::arg("value").none()),
          "The step before which the interval ends; None: it does not end.")
      .def_prop_rw(
          "save_steps", [](const Config& self) { return self.save_steps; }, &set_steps<Config>,
          nb::for_setter(nb::arg("value").none()),
          "Steps that are saved beside those of the interval.")
      .def(
          "to_json", [](const Config& self) { return to_json(self); }, "The values as JSON.")
      .def("__repr__", [](nb::handle self) {
        const nb::tuple parts = nb::borrow<nb::tuple>(self.attr("__reduce__")());
        return nb::str("{}{!r}").format(parts[0].attr("__name__"), parts[1]);
      });
}

nb::tuple arguments(nb::handle self, nb::tuple values) {
  return nb::make_tuple(self.type(), std::move(values));
}

void add_save_config_mode(nb::module_& module) {
  nb::class_<SaveConfigMode> type(
      module, "SaveConfigMode",
      "The saved steps of one mode: those of save_steps, and every save_interval-th step from\n"
      "start_step on, before end_step. The interval counts from step 0.");
  type.def(
          "__init__",
          [](SaveConfigMode* self, nb::handle save_interval, nb::handle start_step,
             nb::handle end_step, nb::handle save_steps) {
            SaveConfigMode made;
            set_values(made, save_interval, start_step, end_step, save_steps);
            new (self) SaveConfigMode(std::move(made));
          },
          "save_interval"_a = nb::none(), "start_step"_a = nb::none(), "end_step"_a = nb::none(),
          "save_steps"_a = nb::none(),
          nb::sig("def __init__(self, save_interval: int | str | None = None, "
                  "start_step: int | str | None = None, end_step: int | str | None = None, "
                  "save_steps: Sequence[int] | None = None) -> None"))
      .def(
          "should_save_step",
          [](const SaveConfigMode& self, nb::handle step) {
            return self.should_save(read_step(step));
          },
          "step"_a.none(), nb::sig("def should_save_step(self, step: int) -> bool"))
      .def_static("from_json", &save_config_mode_from_json, "json"_a)
      .def(nb::self == nb::self)
      .def("__reduce__", [](nb::handle self) {
        const auto& config = nb::cast<const SaveConfigMode&>(self);
        return arguments(self, nb::make_tuple(config.save_interval, config.start_step,
                                              config.end_step, config.save_steps));
      });
  add_save_values(type);
}

bool save_alike(const SaveConfig& a, const SaveConfig& b) {
  return std::ranges::all_of(kAllModes, [&](Mode mode) { return a.mode(mode) == b.mode(mode); });
}

void add_save_config(nb::module_& module) {
  nb::class_<SaveConfig> type(
      module, "SaveConfig",
      "The saved steps of all modes. A mode in mode_save_configs has that SaveConfigMode; the "
      "other\n"
      "values are for the modes that are not in it. Values that are set later are for all modes.");
  type.def(
          "__init__",
          [](SaveConfig* self, nb::handle mode_save_configs, nb::handle save_interval,
             nb::handle start_step, nb::handle end_step, nb::handle save_steps) {
            SaveConfig made;
            if (!mode_save_configs.is_none()) made = read_save_config(mode_save_configs);
            SaveConfig plain = SaveConfig::of(made.mode_less());
            set_values(plain, save_interval, start_step, end_step, save_steps);
            plain.mode_save_configs = std::move(made.mode_save_configs);
            new (self) SaveConfig(std::move(plain));
          },
          "mode_save_configs"_a = nb::none(), "save_interval"_a = nb::none(),
          "start_step"_a = nb::none(), "end_step"_a = nb::none(), "save_steps"_a = nb::none(),
          nb::sig("def __init__(self, mode_save_configs: SaveConfig | SaveConfigMode | "
                  "dict[cupel.core.modes.ModeKeys, SaveConfigMode] | None = None, "
                  "save_interval: int | str | None = None, start_step: int | str | None = None, "
                  "end_step: int | str | None = None, save_steps: Sequence[int] | None = None) "
                  "-> None"))
      .def_prop_rw(
          "mode_save_configs", [](const SaveConfig& self) { return self.mode_save_configs; },
          [](SaveConfig& self, nb::handle configs) {
            self.mode_save_configs = read_save_config(configs).mode_save_configs;
          },
          "The configurations of single modes.")
      .def("get_save_config", &SaveConfig::mode, "mode"_a, "The configuration of a mode.")
      .def(
          "should_save_step",
          [](const SaveConfig& self, nb::handle key, nb::handle step) {
            return self.should_save(read_mode_key(key), read_step(step));
          },
          "mode"_a.none(), "step"_a.none(),
          nb::sig("def should_save_step(self, mode: cupel.core.modes.ModeKeys | None, step: int) "
                  "-> bool"),
          "Whether the step of this number of the mode is saved.")
      .def_static("from_json", &save_config_from_json, "json"_a)
      .def("__eq__", &save_alike, nb::is_operator())
      .def("__reduce__", [](nb::handle self) {
        const auto& config = nb::cast<const SaveConfig&>(self);
        return arguments(
            self, nb::make_tuple(config.mode_save_configs, config.save_interval, config.start_step,
                                 config.end_step, config.save_steps));
      });
  add_save_values(type);
}

template <auto Member>
void add_reductions(nb::class_<ReductionConfig>& type, const char* name) {
  type.def_prop_rw(
      name, [](const ReductionConfig& self) { return self.*Member; },
      [name](ReductionConfig& self, nb::handle names) {
        ReductionConfig changed = self;
        changed.*Member = read_texts(names, name);
        static_cast<void>(changed.set());
        self = std::move(changed);
      });
}

template <auto Member>
void add_flag(nb::class_<ReductionConfig>& type, const char* name) {
  type.def_prop_rw(
      name, [](const ReductionConfig& self) { return self.*Member; },
      [name](ReductionConfig& self, nb::handle flag) { self.*Member = read_flag(flag, name); });
}

void add_reduction_config(nb::module_& module) {
  nb::class_<ReductionConfig> type(
      module, "ReductionConfig",
      "What is saved of a tensor: reductions, the raw value, its shape. Reductions are min, max,\n"
      "mean, std, variance, sum, prod and median; norms are l1 and l2.");
  type.def(
      "__init__",
      [](ReductionConfig* self, nb::handle reductions, nb::handle abs_reductions, nb::handle norms,
         nb::handle abs_norms, nb::handle save_raw_tensor, nb::handle save_shape) {
        ReductionConfig made{read_texts(reductions, "reductions"),
                             read_texts(abs_reductions, "abs_reductions"),
                             read_texts(norms, "norms"),
                             read_texts(abs_norms, "abs_norms"),
                             read_flag(save_raw_tensor, "save_raw_tensor"),
                             read_flag(save_shape, "save_shape")};
        static_cast<void>(made.set());
        new (self) ReductionConfig(std::move(made));
      },
      "reductions"_a = nb::none(), "abs_reductions"_a = nb::none(), "norms"_a = nb::none(),
      "abs_norms"_a = nb::none(), "save_raw_tensor"_a.none() = false, "save_shape"_a.none() = false,
      nb::sig("def __init__(self, reductions: Sequence[str] | None = None, "
              "abs_reductions: Sequence[str] | None = None, norms: Sequence[str] | None = None, "
              "abs_norms: Sequence[str] | None = None, save_raw_tensor: bool = False, "
              "save_shape: bool = False) -> None"));
  add_reductions<&ReductionConfig::reductions>(type, "reductions");
  add_reductions<&ReductionConfig::abs_reductions>(type, "abs_reductions");
  add_reductions<&ReductionConfig::norms>(type, "norms");
  add_reductions<&ReductionConfig::abs_norms>(type, "abs_norms");
  add_flag<&ReductionConfig::save_raw_tensor>(type, "save_raw_tensor");
  add_flag<&ReductionConfig::save_shape>(type, "save_shape");
  type.def(
          "to_json", [](const ReductionConfig& self) { return to_json(self); },
          "The values as JSON.")
      .def_static("from_json", &reduction_config_from_json, "json"_a)
      .def(
          "__eq__",
          [](const ReductionConfig& a, const ReductionConfig& b) {
            return to_json(a) == to_json(b);
          },
          nb::is_operator())
      .def("__repr__",
           [](const ReductionConfig& self) { return "ReductionConfig(" + to_json(self) + ")"; })
      .def("__reduce__", [](nb::handle self) {
        const auto& config = nb::cast<const ReductionConfig&>(self);
        return arguments(
            self, nb::make_tuple(config.reductions, config.abs_reductions, config.norms,
                                 config.abs_norms, config.save_raw_tensor, config.save_shape));
      });
}

Names read_names(nb::handle object, const char* what) {
  if (!object.is_none() && !is_sequence(object))
    raise_type_error(std::string(what) + " is a list or a set of texts, not " + repr_of(object));
  const std::vector<std::string> texts = read_texts(object, what);
  return {texts.begin(), texts.end()};
}

// A collection with the same patterns, names and flag, and without configurations.
Collection without_configurations(const Collection& collection) {
  Collection bare(collection.name());
  bare.set_include_regex(collection.include_regex());
  bare.set_tensor_names(collection.tensor_names());
  bare.set_save_histogram(collection.save_histogram());
  return bare;
}

// Python may hold the save configuration that the collection had: it lives as long as `self`.
void replace(nb::handle self, Collection by) {
  auto& collection = nb::cast<Collection&>(self);
  auto* const before = new Collection(std::exchange(collection, std::move(by)));
  nb::keep_alive_cb(self, before,
                    [](void* kept) noexcept { delete static_cast<Collection*>(kept); });
}

void set_save_config(nb::handle self, nb::handle config) {
  auto& collection = nb::cast<Collection&>(self);
  if (!config.is_none()) {
    collection.set_save_config(read_save_config(config));
  } else if (collection.save_config()) {
    Collection without = without_configurations(collection);
    if (const auto& kept = collection.reduction_config()) without.set_reduction_config(*kept);
    replace(self, std::move(without));
  }
}

void set_reduction_config(nb::handle self, nb::handle config) {
  auto& collection = nb::cast<Collection&>(self);
  if (!config.is_none()) {
    collection.set_reduction_config(read_reduction_config(config));
  } else if (collection.reduction_config()) {
    Collection without = without_configurations(collection);
    if (const auto& kept = collection.save_config()) without.set_save_config(*kept);
    replace(self, std::move(without));
  }
}

Collection make_collection(nb::handle name, nb::handle include_regex, nb::handle tensor_names,
                           nb::handle reduction_config, nb::handle save_config,
                           nb::handle save_histogram) {
  Collection made(read_text(name, "the name of a collection"));
  made.include(read_texts(include_regex, "include_regex"));
  made.set_tensor_names(read_names(tensor_names, "tensor_names"));
  if (!reduction_config.is_none())
    made.set_reduction_config(read_reduction_config(reduction_config));
  if (!save_config.is_none()) made.set_save_config(read_save_config(save_config));
  made.set_save_histogram(read_flag(save_histogram, "save_histogram"));
  return made;
}

void add_collection(nb::module_& module) {
  nb::class_<Collection>(module, "Collection",
                         "A named group of tensors that are saved alike: listed names, and "
                         "patterns that are searched\n"
                         "anywhere in a name. A configuration that is None is the hook's.")
      .def(nb::init<const Collection&>(), "other"_a)  // first: the other one takes any object
      .def(
          "__init__",
          [](Collection* self, nb::handle name, nb::handle include_regex, nb::handle tensor_names,
             nb::handle reduction_config, nb::handle save_config, nb::handle save_histogram) {
            Collection made = make_collection(name, include_regex, tensor_names, reduction_config,
                                              save_config, save_histogram);
            new (self) Collection(std::move(made));
          },
          "name"_a.none(), "include_regex"_a = nb::none(), "tensor_names"_a = nb::none(),
          "reduction_config"_a = nb::none(), "save_config"_a = nb::none(),
          "save_histogram"_a.none() = true,
          nb::sig("def __init__(self, name: str, include_regex: str | Sequence[str] | None = None, "
                  "tensor_names: Sequence[str] | set[str] | None = None, "
                  "reduction_config: ReductionConfig | None = None, "
                  "save_config: SaveConfig | SaveConfigMode | "
                  "dict[cupel.core.modes.ModeKeys, SaveConfigMode] | None = None, "
                  "save_histogram: bool = True) -> None"))
      .def_prop_ro("name", &Collection::name)
      .def_prop_rw(
          "include_regex", [](const Collection& self) { return self.include_regex().texts(); },
          [](Collection& self, nb::handle patterns) {
            self.set_include_regex(read_texts(patterns, "include_regex"));
          },
          "The patterns; a copy: assign, or call include().")
      .def(
          "include",
          [](Collection& self, nb::handle patterns) {
            if (patterns.is_none()) raise_type_error("include() has patterns, not None");
            self.include(read_texts(patterns, "include()"));
          },
          "patterns"_a.none(), "Adds a pattern, or several, also in nested lists.")
      .def_prop_rw(
          "tensor_names",
          [](const Collection& self) {
            return std::set<std::string>(self.tensor_names().begin(), self.tensor_names().end());
          },
          [](Collection& self, nb::handle names) {
            self.set_tensor_names(read_names(names, "tensor_names"));
          },
          "The listed names; a copy: assign, or call add_tensor_name().")
      .def_prop_rw(
          "save_config",
          [](Collection& self) -> SaveConfig* {
            return self.save_config() ? &self.mutable_save_config() : nullptr;
          },
          &set_save_config, nb::for_setter(nb::arg("config").none()),
          "When the collection is saved; may be changed in place. None: as the hook.")
      .def_prop_rw(
          "reduction_config", [](const Collection& self) { return self.reduction_config(); },
          &set_reduction_config, nb::for_setter(nb::arg("config").none()),
          "What is saved of its tensors; a copy: assign to change it. None: as the hook.")
      .def_prop_rw("save_histogram", &Collection::save_histogram,
                   [](Collection& self, nb::handle on) {
                     self.set_save_histogram(read_flag(on, "save_histogram"));
                   })
      .def(
          "has_tensor_name",
          [](const Collection& self, nb::handle name) {
            return self.contains(read_text(name, "the name of a tensor"));
          },
          "tname"_a.none(), nb::sig("def has_tensor_name(self, tname: str) -> bool"),
          "Whether the name is listed or a pattern finds it.")
      .def(
          "add_tensor_name",
          [](Collection& self, const std::string& name) { self.add_tensor_name(name); }, "tname"_a)
      .def(
          "remove_tensor_name",
          [](Collection& self, const std::string& name) {
            Names names = self.tensor_names();
            if (names.erase(name) != 0) self.set_tensor_names(std::move(names));
          },
          "tname"_a, "Removes a listed name; one that is not listed is no mistake.")
      .def("to_json", [](const Collection& self) { return to_json(self); })
      .def("to_json_dict",
           [](const Collection& self) {
             return nb::module_::import_("json").attr("loads")(to_json(self));
           })
      .def_static("from_json", &collection_from_json, "json"_a)
      .def(
          "__eq__",
          [](const Collection& a, const Collection& b) { return to_json(a) == to_json(b); },
          nb::is_operator())
      .def("__repr__", [](const Collection& self) { return "Collection(" + to_json(self) + ")"; })
      .def("__getstate__",
           [](const Collection& self) {
             return nb::make_tuple(self.name(), self.include_regex().texts(),
                                   nb::cast(std::set<std::string>(self.tensor_names().begin(),
                                                                  self.tensor_names().end())),
                                   self.reduction_config(), self.save_config(),
                                   self.save_histogram());
           })
      .def("__setstate__", [](Collection& self, const nb::tuple& state) {
        if (state.size() != 6) throw UsageError("a pickled Collection has six values");
        Collection made =
            make_collection(state[0], state[1], state[2], state[3], state[4], state[5]);
        new (&self) Collection(std::move(made));
      });
  nb::enum_<Profile>(module, "Profile")
      .value("GENERIC", Profile::Generic)
      .value("PYTORCH", Profile::PyTorch)
      .value("XGBOOST", Profile::XGBoost);
  module.def("builtin_collections", &builtin_collections, "profile"_a);
}

}  // namespace

void raise_type_error(const std::string& message) {
  const nb::object type = nb::module_::import_("cupel.exceptions").attr("SMDebugTypeError");
  PyErr_SetString(type.ptr(), message.c_str());
  throw nb::python_error();
}

SaveConfig read_save_config(nb::handle object) {
  if (nb::isinstance<SaveConfig>(object)) return nb::cast<SaveConfig>(object);
  if (nb::isinstance<SaveConfigMode>(object))
    return SaveConfig::of(nb::cast<SaveConfigMode>(object));
  if (!nb::isinstance<nb::dict>(object))
    raise_type_error(
        "a save configuration is a SaveConfig, a SaveConfigMode or a dict of them, not " +
        repr_of(object));
  SaveConfig config;
  config.mode_save_configs = read_mode_configs(object);
  return config;
}

ReductionConfig read_reduction_config(nb::handle object) {
  if (!nb::isinstance<ReductionConfig>(object))
    raise_type_error("a reduction configuration is a ReductionConfig, not " + repr_of(object));
  return nb::cast<ReductionConfig>(object);
}

std::vector<std::string> read_texts(nb::handle object, const char* what) {
  std::vector<std::string> texts;
  if (object.is_none()) return texts;
  if (PyUnicode_Check(object.ptr())) return {nb::cast<std::string>(object)};
  if (!is_sequence(object))
    raise_type_error(std::string(what) + " takes a text or a list of texts, not " +
                     repr_of(object));
  for (const nb::handle item : object) {
    if (item.is_none()) raise_type_error(std::string(what) + " has a None in its list");
    if (Py_EnterRecursiveCall(" in nested lists") != 0) throw nb::python_error();
    std::vector<std::string> inner;
    try {
      inner = read_texts(item, what);
    } catch (...) {
      Py_LeaveRecursiveCall();
      throw;
    }
    Py_LeaveRecursiveCall();
    texts.insert(texts.end(), inner.begin(), inner.end());
  }
  return texts;
}

void add_configuration(nb::module_& module) {
  add_save_config_mode(module);
  add_save_config(module);
  add_reduction_config(module);
  add_collection(module);
}

}  // namespace cupel::python
