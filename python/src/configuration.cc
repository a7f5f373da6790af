// SaveConfig, ReductionConfig and Collection as Python sees them: the values of C++, with the
// constructors and the attributes of the SDK that scripts are ported from.

#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "cupel/core/collection.h"
#include "cupel/core/reduction.h"
#include "cupel/core/save_config.h"
#include "mode_caster.h"
#include "parts.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace cupel::python {
namespace {

using Steps = std::vector<std::int64_t>;
using OptionalStep = std::optional<std::int64_t>;

// Both kinds of save configuration have the same four values.
template <class Config>
void add_save_values(nb::class_<Config>& type) {
  type.def_rw("save_interval", &Config::save_interval)
      .def_rw("start_step", &Config::start_step)
      .def_rw("end_step", &Config::end_step, nb::arg().none())
      .def_rw("save_steps", &Config::save_steps)
      .def(nb::self == nb::self);
}

template <class Config>
void set_values(Config& config, OptionalStep save_interval, OptionalStep start_step,
                OptionalStep end_step, std::optional<Steps> save_steps) {
  if (save_interval) config.save_interval = *save_interval;
  if (start_step) config.start_step = *start_step;
  config.end_step = end_step;
  if (save_steps) config.save_steps = *save_steps;
}

void add_save_config(nb::module_& module) {
  nb::class_<SaveConfigMode> mode_type(module, "SaveConfigMode");
  mode_type.def(
      "__init__",
      [](SaveConfigMode* self, OptionalStep save_interval, OptionalStep start_step,
         OptionalStep end_step, std::optional<Steps> save_steps) {
        SaveConfigMode made;
        set_values(made, save_interval, start_step, end_step, std::move(save_steps));
        made.validate();
        new (self) SaveConfigMode(std::move(made));
      },
      "save_interval"_a = nb::none(), "start_step"_a = nb::none(), "end_step"_a = nb::none(),
      "save_steps"_a = nb::none());
  add_save_values(mode_type);

  nb::class_<SaveConfig> type(module, "SaveConfig");
  type.def(
      "__init__",
      [](SaveConfig* self, std::optional<std::map<Mode, SaveConfigMode>> modes,
         OptionalStep save_interval, OptionalStep start_step, OptionalStep end_step,
         std::optional<Steps> save_steps) {
        SaveConfig made;
        set_values(made, save_interval, start_step, end_step, std::move(save_steps));
        if (modes) made.mode_save_configs = std::move(*modes);
        made.validate();
        new (self) SaveConfig(std::move(made));
      },
      "mode_save_configs"_a = nb::none(), "save_interval"_a = nb::none(),
      "start_step"_a = nb::none(), "end_step"_a = nb::none(), "save_steps"_a = nb::none());
  add_save_values(type);
  type.def_rw("mode_save_configs", &SaveConfig::mode_save_configs)
      .def("get_save_config", &SaveConfig::mode, "mode"_a)
      .def("should_save_step", &SaveConfig::should_save, "mode"_a, "step"_a);
}

void add_reduction_config(nb::module_& module) {
  using Names = std::vector<std::string>;
  nb::class_<ReductionConfig>(module, "ReductionConfig")
      .def(
          "__init__",
          [](ReductionConfig* self, std::optional<Names> reductions,
             std::optional<Names> abs_reductions, std::optional<Names> norms,
             std::optional<Names> abs_norms, bool save_raw_tensor, bool save_shape) {
            ReductionConfig made{reductions.value_or(Names()),
                                 abs_reductions.value_or(Names()),
                                 norms.value_or(Names()),
                                 abs_norms.value_or(Names()),
                                 save_raw_tensor,
                                 save_shape};
            static_cast<void>(made.set());
            new (self) ReductionConfig(std::move(made));
          },
          "reductions"_a = nb::none(), "abs_reductions"_a = nb::none(), "norms"_a = nb::none(),
          "abs_norms"_a = nb::none(), "save_raw_tensor"_a = false, "save_shape"_a = false)
      .def_rw("reductions", &ReductionConfig::reductions)
      .def_rw("abs_reductions", &ReductionConfig::abs_reductions)
      .def_rw("norms", &ReductionConfig::norms)
      .def_rw("abs_norms", &ReductionConfig::abs_norms)
      .def_rw("save_raw_tensor", &ReductionConfig::save_raw_tensor)
      .def_rw("save_shape", &ReductionConfig::save_shape)
      .def(nb::self == nb::self);
}

void add_collection(nb::module_& module) {
  using Patterns = std::vector<std::string>;
  nb::class_<Collection>(module, "Collection")
      .def(nb::init<std::string>(), "name"_a)
      .def(nb::init<const Collection&>(), "other"_a)
      .def_prop_ro("name", &Collection::name)
      .def_prop_rw(
          "include_regex", [](const Collection& self) { return self.include_regex().texts(); },
          [](Collection& self, const Patterns& patterns) { self.set_include_regex(patterns); })
      .def(
          "include", [](Collection& self, const Patterns& patterns) { self.include(patterns); },
          "patterns"_a)
      .def_prop_rw(
          "tensor_names", [](const Collection& self) { return self.tensor_names(); },
          [](Collection& self, std::set<std::string, std::less<>> names) {
            self.set_tensor_names(std::move(names));
          })
      .def_prop_rw(
          "save_config", [](const Collection& self) { return self.save_config(); },
          [](Collection& self, SaveConfig config) { self.set_save_config(std::move(config)); })
      .def_prop_rw(
          "reduction_config", [](const Collection& self) { return self.reduction_config(); },
          [](Collection& self, ReductionConfig config) {
            self.set_reduction_config(std::move(config));
          })
      .def_prop_rw("save_histogram", &Collection::save_histogram,
                   [](Collection& self, bool on) { self.set_save_histogram(on); })
      .def("has_tensor_name", &Collection::contains, "tname"_a)
      .def(
          "add_tensor_name",
          [](Collection& self, const std::string& name) { self.add_tensor_name(name); }, "tname"_a);
  nb::enum_<Profile>(module, "Profile")
      .value("GENERIC", Profile::Generic)
      .value("PYTORCH", Profile::PyTorch)
      .value("XGBOOST", Profile::XGBoost);
  module.def("builtin_collections", &builtin_collections, "profile"_a);
}

}  // namespace

void add_configuration(nb::module_& module) {
  add_save_config(module);
  add_reduction_config(module);
  add_collection(module);
}

}  // namespace cupel::python
