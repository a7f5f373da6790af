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
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "configuration.h"
#include "cupel/core/error.h"
#include "incoming_value.h"
#include "mode_caster.h"
#include "object_text.h"
#include "option_table.h"
#include "parts.h"
#include "type_error.h"

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

constexpr auto kFields = std::to_array<OptionField<HookOptions>>({
    {"out_dir", set_member<&HookOptions::out_dir>},
    {"existing",
     [](HookOptions& o, nb::handle v) {
       o.existing = choice("existing", v, std::to_array<std::pair<std::string_view, Existing>>({
           {"refuse", Existing::Refuse}, {"replace", Existing::Replace}, {"continue", Existing::Continue}}));
     }},
    {"include_collections",
     [](HookOptions& o, nb::handle v) {
       o.include_collections = read_texts(v, "the option include_collections");
     }},
    {"include_regex",
     [](HookOptions& o, nb::handle v) { o.include_regex = read_texts(v, "the option include_regex"); }},
    {"save_all", set_member<&HookOptions::save_all>},
    {"save_config", [](HookOptions& o, nb::handle v) { o.save_config = read_save_config(v); }},
    {"reduction_config",
     [](HookOptions& o, nb::handle v) { o.reduction_config = read_reduction_config(v); }},
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
    {"segment_age", set_seconds<&HookOptions::segment_age>},
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

// Names of collections as a call gives them: one name, or several.
std::vector<std::string> collection_names(nb::handle names) {
  return read_texts(names, "the argument collections");
}

// The name of a tensor. What is no text in UTF-8 becomes bytes that the hook refuses, and reports.
std::string name_text(nb::handle name) {
  return read_text(name, "the name of a tensor", "surrogatepass");
}

// Calls that take a lock of the hook release the GIL: a thread that waits for a commit holds the
// lock while Interruption takes the GIL.
TensorHandle look_up(Hook& hook, const std::string& name,
                     const std::vector<std::string>& collections) {
  const nb::gil_scoped_release without_gil;
  return hook.handle(name, collections);
}

void leave_out(Hook& hook, TensorHandle tensor, const std::string& why) {
  const nb::gil_scoped_release without_gil;
  hook.leave_out(tensor, why);
}

void report_outside_step(Hook& hook, TensorHandle tensor) {
  const nb::gil_scoped_release without_gil;
  hook.report_outside_step(tensor);
}

// A signal whose handler raised while the hook waited: the call that waited raises that.
class Interruption {
 public:
  // Called by the thread that waits, without the GIL.
  bool check() {
    const nb::gil_scoped_acquire with_gil;
    if (PyErr_CheckSignals() == 0) return false;
    raised_.emplace();
    return true;
  }
  void raise() {
    if (!raised_) return;
    const nb::python_error raised = std::move(*raised_);
    raised_.reset();
    throw raised;
  }

 private:
  std::optional<nb::python_error> raised_;
};

// Steps and the closing wait without the GIL: Interruption takes it meanwhile, and other threads of
// Python go on.
class PythonHook final : public Hook {
 public:
  PythonHook(HookConfiguration configuration, std::shared_ptr<Interruption> interruption)
      : Hook(std::move(configuration)), interruption_(std::move(interruption)) {}
  PythonHook(const PythonHook&) = delete;
  PythonHook& operator=(const PythonHook&) = delete;
  ~PythonHook() {
    const nb::gil_scoped_release without_gil;
    try {
      static_cast<void>(close());
    } catch (...) {  // a destructor has nobody to report to; the log has it
    }
  }

  void begin_step(std::optional<std::int64_t> step) {
    is_outside_step_ = false;
    {
      const nb::gil_scoped_release without_gil;
      step ? next_step(*step) : next_step();
    }
    interruption_->raise();
  }
  void finish_step() {
    is_outside_step_ = true;
    {
      const nb::gil_scoped_release without_gil;
      end_step();
    }
    interruption_->raise();
  }
  HookReport finish() {
    std::optional<HookReport> report;
    {
      const nb::gil_scoped_release without_gil;
      report.emplace(close());
    }
    interruption_->raise();
    return *std::move(report);
  }
  // Before the first step and behind the end of one, a save is reported that no step has.
  bool is_outside_step() const noexcept { return is_outside_step_; }

  // Looks a name up. A loop gives the same object again and again, so its address is remembered.
  TensorHandle handle_of(nb::handle name) {
    const auto found = handles_.find(name.ptr());
    if (found != handles_.end()) return found->second.second;
    const TensorHandle tensor = look_up(*this, name_text(name), {});
    if (handles_.size() >= kMostNames) handles_.clear();
    handles_.try_emplace(name.ptr(), nb::borrow(name), tensor);
    return tensor;
  }

 private:
  static constexpr std::size_t kMostNames = 4096;
  bool is_outside_step_ = true;
  const std::shared_ptr<Interruption> interruption_;  // the options of the hook have it, too
  // The name is held: no other object gets its address.
  std::unordered_map<PyObject*, std::pair<nb::object, TensorHandle>> handles_;
};

// A name that was looked up. It keeps its hook.
struct NamedHandle {
  TensorHandle tensor;
  const Hook* hook;
  nb::object kept;
};

int traverse_handle(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<NamedHandle>(self)->kept.ptr());
  return 0;
}

int clear_handle(PyObject* self) {
  auto* const handle = nb::inst_ptr<NamedHandle>(self);
  handle->tensor = {};
  handle->kept.reset();
  return 0;
}

const std::array<PyType_Slot, 3> kHandleSlots = {
    {{Py_tp_traverse, reinterpret_cast<void*>(traverse_handle)},  // NOLINT(*-reinterpret-cast)
     {Py_tp_clear, reinterpret_cast<void*>(clear_handle)},        // NOLINT(*-reinterpret-cast)
     {0, nullptr}}};

NamedHandle named(nb::handle hook, TensorHandle tensor) {
  return {tensor, &nb::cast<const Hook&>(hook), nb::borrow(hook)};
}

// One number, also as a tensor or an array of one element.
double read_scalar(const std::string& name, nb::handle value) {
  double number = PyFloat_AsDouble(value.ptr());
  if (number != -1 || PyErr_Occurred() == nullptr) return number;
  PyErr_Clear();
  try {
    return nb::cast<double>(value.attr("item")());
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
  } catch (const nb::cast_error&) {  // an item that is no number
  }
  raise_type_error("the scalar " + name + " is not one number: " + repr_of(value));
}

Mode mode_of_key(nb::handle key) {
  Mode mode = Mode::Global;
  if (!read_mode(key, mode))
    throw UsageError("a mode is one of TRAIN, EVAL, PREDICT and GLOBAL of ModeKeys, not " +
                     repr_of(key));
  return mode;
}

// The number of a step; None, where the hook counts.
std::optional<std::int64_t> step_number(nb::handle step) {
  std::optional<std::int64_t> number;
  if (!nb::try_cast(step, number))
    raise_type_error("a step is a whole number of 64 bits, not " + repr_of(step));
  return number;
}

using NextValue = TensorHandle (Hook::*)(std::string_view, const CollectionNames&);
TensorHandle next_value(Hook& hook, NextValue next, const std::string& module,
                        nb::handle collections) {
  const auto names = collection_names(collections);
  const nb::gil_scoped_release without_gil;
  return (hook.*next)(module, names);
}

TensorHandle handle_in(const Hook& hook, const NamedHandle& handle) {
  if (handle.hook != &hook) throw UsageError("the handle is of another hook");
  return handle.tensor;
}

// Saves what is due. A value that cannot be saved is reported once for its name, or raised where
// the hook raises.
void save_value(PythonHook& hook, TensorHandle tensor, nb::handle value) {
  if (!hook.wants(tensor)) {
    if (hook.is_outside_step()) report_outside_step(hook, tensor);
    return;
  }
  try {
    const IncomingValue incoming(value);
    const nb::gil_scoped_release without_gil;
    hook.save_tensor(tensor, incoming.view());
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    const std::string why = message_of(error);
    try {
      leave_out(hook, tensor, why);
    } catch (const UsageError& mistake) {
      if (!error.matches(PyExc_TypeError)) throw;
      raise_type_error(mistake.what());
    }
  } catch (const UnsavableValue& error) {
    leave_out(hook, tensor, error.what());
  }
}

void save_tensor(PythonHook& hook, nb::handle name, nb::handle value, nb::handle collections) {
  const bool joins = !collections.is_none() && nb::len(collections) != 0;
  const TensorHandle tensor =
      joins ? look_up(hook, name_text(name), collection_names(collections)) : hook.handle_of(name);
  save_value(hook, tensor, value);
}

// The options and collections of a hook as Python gives them.
HookConfiguration read_configuration(const nb::dict& options,
                                     const std::vector<Collection>& collections) {
  return {read_options(options, kFields), collections};
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
  module.def(
      "check_hook",
      [](const nb::dict& options, const std::vector<Collection>& collections) {
        HookConfiguration configuration = read_configuration(options, collections);
        const nb::gil_scoped_release without_gil;
        Hook::check(std::move(configuration));
      },
      "options"_a, "collections"_a = std::vector<Collection>(),
      "Raises what a hook of these options and collections would raise, and writes nothing.");
  module.def("scalar_number", &read_scalar, "name"_a, "value"_a.none(),
             "The number that save_scalar() of a hook saves.");
  nb::class_<NamedHandle>(module, "Handle", nb::type_slots(kHandleSlots.data()),
                          "A name of a tensor that a hook has looked up.");
  using Release = nb::call_guard<nb::gil_scoped_release>;
  // Functions of other sources take a Hook; Python makes PythonHooks only.
  nb::class_<Hook>(module, "HookBase", "What functions of the extension take as a hook.");
  nb::class_<PythonHook, Hook>(module, "Hook", nb::is_weak_referenceable(),
                               "Saves tensors out of a training loop into a run.")
      .def(
          "__init__",
          [](PythonHook* self, const nb::dict& options,
             const std::vector<Collection>& collections) {
            HookConfiguration configuration = read_configuration(options, collections);
            auto interruption = std::make_shared<Interruption>();
            configuration.options.interrupted = [interruption] { return interruption->check(); };
            const nb::gil_scoped_release without_gil;
            new (self) PythonHook(std::move(configuration), std::move(interruption));
          },
          "options"_a, "collections"_a = std::vector<Collection>())
      .def(
          "get_collection",
          [](Hook& self, nb::handle name) -> Collection& {
            return self.get_collection(read_text(name, "the name of a collection"));
          },
          "name"_a.none(), nb::rv_policy::reference_internal,
          nb::sig("def get_collection(self, name: str) -> Collection"),
          "The collection of that name, made if there is none; configure it before the first\n"
          "step.")
      .def("collections_now", &Hook::collections_now, Release(),
           "The collections with the names of all tensors found so far.")
      .def("collections_as_configured", &Hook::collections_as_configured, Release(),
           "The collections without the tensors that calls put there.")
      .def(
          "set_mode",
          [](Hook& self, nb::handle key) {
            const Mode mode = mode_of_key(key);
            const nb::gil_scoped_release without_gil;
            self.set_mode(mode);
          },
          "mode"_a.none(), "Changes the mode of the steps that begin from now on.")
      .def_prop_ro("mode", &Hook::mode, "The mode of the steps that begin from now on.")
      .def(
          "next_step",
          [](PythonHook& self, nb::handle step) { self.begin_step(step_number(step)); },
          "step"_a = nb::none(), nb::sig("def next_step(self, step: int | None = None) -> None"),
          "Begins a step, or the one of this number, and commits the step before.")
      .def("end_step", &PythonHook::finish_step, "Ends the step and commits it.")
      .def_prop_ro("step", &Hook::step, "The global step; -1 before the first.")
      .def("mode_step", &Hook::mode_step, "mode"_a, "The last step of a mode; -1 before its first.")
      .def_prop_ro("due", &Hook::due, "Whether anything is saved at this step.")
      .def(
          "due_beyond",
          [](const Hook& self, const std::vector<std::string>& names) {
            const std::vector<std::string_view> views(names.begin(), names.end());
            const nb::gil_scoped_release without_gil;
            return self.due_beyond(views);
          },
          "collections"_a, "Whether a collection is due that is none of these.")
      .def("would_save", &Hook::would_save, "name"_a, Release(),
           "Whether a save of this name would be written; the hook does not learn the name.")
      .def(
          "handle",
          [](nb::handle_t<PythonHook> self, const std::string& name, nb::handle collections) {
            return named(self, look_up(nb::cast<Hook&>(self), name, collection_names(collections)));
          },
          "name"_a, "collections"_a = nb::tuple(),
          "Looks a name up, joining the named collections.")
      .def(
          "next_input",
          [](nb::handle_t<PythonHook> self, const std::string& of, nb::handle collections) {
            return named(self,
                         next_value(nb::cast<Hook&>(self), &Hook::next_input, of, collections));
          },
          "module"_a, "collections"_a = nb::tuple(),
          "The handle of <module>_input_<k>, k counting the calls of a step.")
      .def(
          "next_output",
          [](nb::handle_t<PythonHook> self, const std::string& of, nb::handle collections) {
            return named(self,
                         next_value(nb::cast<Hook&>(self), &Hook::next_output, of, collections));
          },
          "module"_a, "collections"_a = nb::tuple(),
          "The handle of <module>_output_<k>, k counting the calls of a step.")
      .def(
          "wants",
          [](const Hook& self, const NamedHandle& handle) {
            return self.wants(handle_in(self, handle));
          },
          "handle"_a)
      .def(
          "wants", [](PythonHook& self, nb::str name) { return self.wants(self.handle_of(name)); },
          "name"_a, "Whether a save of this tensor would be written at this step.")
      .def(
          "save",
          [](PythonHook& self, const NamedHandle& handle, nb::handle value) {
            save_value(self, handle_in(self, handle), value);
          },
          "handle"_a, "value"_a.none(), "Saves the tensor if it is due.")
      .def("save_tensor", &save_tensor, "name"_a.none(), "value"_a.none(),
           "collections"_a = nb::tuple(),
           nb::sig("def save_tensor(self, name: str, value: object | None, "
                   "collections: object = ()) -> None"),
           "Saves the tensor if its collections want it at this step. The named collections have\n"
           "it from now on. A value that cannot be saved is reported once and left out.")
      .def(
          "save_tensor_always",
          [](Hook& self, const std::string& name, nb::handle value, nb::handle collections) {
            const IncomingValue incoming(value);
            const auto names = collection_names(collections);
            const nb::gil_scoped_release without_gil;
            self.save_tensor_always(name, incoming.view(), names);
          },
          "name"_a, "value"_a.none(), "collections"_a = nb::tuple(),
          "Saves the raw value at every call, whatever is due.")
      .def(
          "save_scalar",
          [](Hook& self, const std::string& name, nb::handle value, nb::handle collections) {
            const double number = read_scalar(name, value);
            const auto names = collection_names(collections);
            const nb::gil_scoped_release without_gil;
            self.save_scalar(name, number, names);
          },
          "name"_a, "value"_a.none(), "collections"_a = nb::tuple(),
          "Saves one number at every call, whatever is due.")
      .def(
          "leave_out",
          [](Hook& self, const NamedHandle& handle, const std::string& why) {
            leave_out(self, handle_in(self, handle), why);
          },
          "handle"_a, "why"_a, "Reports once that a due tensor cannot be saved.")
      .def(
          "report_outside_step",
          [](Hook& self, const NamedHandle& handle) {
            report_outside_step(self, handle_in(self, handle));
          },
          "handle"_a, "Reports a save that no step can have.")
      .def(
          "report_problem", [](Hook& self, const std::string& what) { self.report_problem(what); },
          "what"_a, Release(), "Adds a problem to the log and to the report.")
      .def_prop_ro("committed_step", &Hook::committed_step, "The last step that is in the run.")
      .def_prop_ro("stop_requested", &Hook::stop_requested,
                   "Whether a rule has asked the training to stop.")
      .def("close", &PythonHook::finish, "Ends the run, and returns what was done.");
}

}  // namespace cupel::python
