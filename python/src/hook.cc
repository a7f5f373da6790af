// The writer's Hook for Python. Options come as a dictionary, so that the constructor in Python has
// their names and defaults. Every call that copies, reduces or waits releases the GIL.

#include "cupel/writer/hook.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "cupel/core/error.h"
#include "incoming_value.h"
#include "mode_caster.h"
#include "parts.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace cupel::python {
namespace {

template <class Enum, std::size_t N>
Enum choice(std::string_view option, nb::handle value,
            const std::array<std::pair<std::string_view, Enum>, N>& names) {
  const auto text = nb::cast<std::string>(value);
  std::string known;
  for (const auto& [name, meaning] : names) {
    if (text == name) return meaning;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw UsageError(std::string(option) + " is one of " + known + ", not " + text);
}

std::chrono::milliseconds seconds(nb::handle value) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(nb::cast<double>(value)));
}

// One field of HookOptions: its name in Python, and how a value gets there. A value of None keeps
// the default.
struct Field {
  std::string_view name;
  void (*set)(HookOptions&, nb::handle);
};

template <auto Member>
void set_member(HookOptions& options, nb::handle value) {
  using Value = std::remove_reference_t<decltype(options.*Member)>;
  options.*Member = nb::cast<Value>(value);
}

template <auto Member>
void set_seconds(HookOptions& options, nb::handle value) {
  options.*Member = seconds(value);
}

constexpr auto kFields = std::to_array<Field>({
    {"out_dir", set_member<&HookOptions::out_dir>},
    {"existing",
     [](HookOptions& o, nb::handle v) {
       o.existing = choice("existing", v, std::to_array<std::pair<std::string_view, Existing>>({
           {"refuse", Existing::Refuse}, {"replace", Existing::Replace}, {"continue", Existing::Continue}}));
     }},
    {"include_collections", set_member<&HookOptions::include_collections>},
    {"include_regex", set_member<&HookOptions::include_regex>},
    {"save_all", set_member<&HookOptions::save_all>},
    {"save_config", set_member<&HookOptions::save_config>},
    {"reduction_config",
     [](HookOptions& o, nb::handle v) { o.reduction_config = nb::cast<ReductionConfig>(v); }},
    {"profile", set_member<&HookOptions::profile>},
    {"include_workers", set_member<&HookOptions::include_workers>},
    {"worker", set_member<&HookOptions::worker>},
    {"num_workers", [](HookOptions& o, nb::handle v) { o.num_workers = nb::cast<std::int64_t>(v); }},
    {"dry_run", set_member<&HookOptions::dry_run>},
    {"commit",
     [](HookOptions& o, nb::handle v) {
       o.commit = choice("commit", v, std::to_array<std::pair<std::string_view, Commit>>({
           {"step", Commit::Step}, {"background", Commit::Background}}));
     }},
    {"commit_timeout", set_seconds<&HookOptions::commit_timeout>},
    {"sync",
     [](HookOptions& o, nb::handle v) {
       o.sync = choice("sync", v, std::to_array<std::pair<std::string_view, Sync>>({
           {"seal", Sync::Seal}, {"step", Sync::Step}, {"off", Sync::Off}}));
     }},
    {"on_error",
     [](HookOptions& o, nb::handle v) {
       o.on_error = choice("on_error", v, std::to_array<std::pair<std::string_view, OnError>>({
           {"disable", OnError::Disable}, {"throw", OnError::Throw}}));
     }},
    {"buffer_bytes", set_member<&HookOptions::buffer_bytes>},
    {"when_full",
     [](HookOptions& o, nb::handle v) {
       o.when_full = choice("when_full", v, std::to_array<std::pair<std::string_view, WhenFull>>({
           {"block", WhenFull::Block}, {"drop_step", WhenFull::DropStep}}));
     }},
    {"overhead_budget", [](HookOptions& o, nb::handle v) { o.overhead_budget = nb::cast<double>(v); }},
    {"segment_bytes", set_member<&HookOptions::segment_bytes>},
    {"segment_age", [](HookOptions& o, nb::handle v) { o.segment_age = seconds(v); }},
    {"spool_dir", set_member<&HookOptions::spool_dir>},
    {"spool_bytes", set_member<&HookOptions::spool_bytes>},
    {"upload_parallelism", set_member<&HookOptions::upload_parallelism>},
    {"close_timeout", set_seconds<&HookOptions::close_timeout>},
    {"s3_sync",
     [](HookOptions& o, nb::handle v) {
       o.s3_sync = choice("s3_sync", v, std::to_array<std::pair<std::string_view, S3Sync>>({
           {"on", S3Sync::On}, {"off", S3Sync::Off}}));
     }},
    {"export_tensorboard", set_member<&HookOptions::export_tensorboard>},
    {"tensorboard_dir", set_member<&HookOptions::tensorboard_dir>},
});

HookOptions read_options(const nb::dict& values) {
  HookOptions options;
  for (const auto& [key, value] : values) {
    const auto name = nb::cast<std::string>(key);
    const auto field = std::ranges::find(kFields, std::string_view(name), &Field::name);
    if (field == kFields.end()) throw UsageError("there is no option " + name);
    if (value.is_none()) continue;
    try {
      field->set(options, value);
    } catch (const nb::cast_error&) {
      throw UsageError("the option " + name + " has a value of the wrong type");
    }
  }
  return options;
}

// Names of collections as a call gives them: one name, or several.
std::vector<std::string> collection_names(nb::handle names) {
  if (names.is_none()) return {};
  if (PyUnicode_Check(names.ptr())) return {nb::cast<std::string>(names)};
  return nb::cast<std::vector<std::string>>(nb::list(names));
}

void save_tensor(Hook& hook, const std::string& name, nb::handle value, nb::handle collections) {
  const TensorHandle tensor = hook.handle(name, collection_names(collections));
  if (!hook.wants(tensor)) {
    hook.report_outside_step(tensor);
    return;
  }
  const IncomingValue incoming(value);
  const nb::gil_scoped_release without_gil;
  hook.save_tensor(tensor, incoming.view());
}

void add_report(nb::module_& module) {
  nb::class_<HookReport>(module, "HookReport")
      .def_ro("steps_begun", &HookReport::steps_begun)
      .def_ro("steps_committed", &HookReport::steps_committed)
      .def_ro("last_committed_step", &HookReport::last_committed_step)
      .def_ro("rows", &HookReport::rows)
      .def_ro("tensors_saved", &HookReport::tensors_saved)
      .def_ro("value_bytes", &HookReport::value_bytes)
      .def_ro("steps_dropped", &HookReport::steps_dropped)
      .def_ro("steps_left_out", &HookReport::steps_left_out)
      .def_ro("overhead", &HookReport::overhead)
      .def_ro("waiting", &HookReport::waiting)
      .def_ro("steps_not_uploaded", &HookReport::steps_not_uploaded)
      .def_ro("bytes_not_uploaded", &HookReport::bytes_not_uploaded)
      .def_ro("never_saved", &HookReport::never_saved)
      .def_ro("problems", &HookReport::problems)
      .def_ro("notes", &HookReport::notes)
      .def_ro("disabled", &HookReport::disabled);
}

}  // namespace

void add_hook(nb::module_& module) {
  add_report(module);
  using Release = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Hook>(module, "Hook", nb::is_weak_referenceable())
      .def(
          "__init__",
          [](Hook* self, const nb::dict& options, const std::vector<Collection>& collections) {
            HookConfiguration configuration{read_options(options), collections};
            const nb::gil_scoped_release without_gil;
            new (self) Hook(std::move(configuration));
          },
          "options"_a, "collections"_a = std::vector<Collection>())
      .def("get_collection", &Hook::get_collection, "name"_a, nb::rv_policy::reference_internal)
      .def("collections_now", &Hook::collections_now)
      .def("set_mode", &Hook::set_mode, "mode"_a, Release())
      .def_prop_ro("mode", &Hook::mode)
      .def("next_step", nb::overload_cast<>(&Hook::next_step), Release())
      .def("next_step", nb::overload_cast<std::int64_t>(&Hook::next_step), "step"_a, Release())
      .def("end_step", &Hook::end_step, Release())
      .def_prop_ro("step", &Hook::step)
      .def("mode_step", &Hook::mode_step, "mode"_a)
      .def_prop_ro("due", &Hook::due)
      .def("wants", nb::overload_cast<std::string_view>(&Hook::wants), "name"_a)
      .def("would_save", &Hook::would_save, "name"_a)
      .def(
          "due_beyond",
          [](const Hook& self, const std::vector<std::string>& names) {
            const std::vector<std::string_view> views(names.begin(), names.end());
            return self.due_beyond(views);
          },
          "collections"_a)
      .def("save_tensor", &save_tensor, "name"_a, "value"_a, "collections"_a = nb::tuple())
      .def(
          "save_tensor_always",
          [](Hook& self, const std::string& name, nb::handle value, nb::handle collections) {
            const IncomingValue incoming(value);
            const auto names = collection_names(collections);
            const nb::gil_scoped_release without_gil;
            self.save_tensor_always(name, incoming.view(), names);
          },
          "name"_a, "value"_a, "collections"_a = nb::tuple())
      .def(
          "save_scalar",
          [](Hook& self, const std::string& name, double value, nb::handle collections) {
            const auto names = collection_names(collections);
            const nb::gil_scoped_release without_gil;
            self.save_scalar(name, value, names);
          },
          "name"_a, "value"_a, "collections"_a = nb::tuple())
      .def(
          "report_problem", [](Hook& self, const std::string& what) { self.report_problem(what); },
          "what"_a)
      .def_prop_ro("committed_step", &Hook::committed_step)
      .def_prop_ro("stop_requested", &Hook::stop_requested)
      .def("close", &Hook::close, Release());
}

}  // namespace cupel::python
