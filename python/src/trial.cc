// Trial for Python, as cupel.trials adapts it. Every query releases the GIL. Opening and waiting
// run on another thread, so that a signal ends them (interruptible.h).

#include "cupel/trial/trial.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/trial/pins.h"
#include "interruptible.h"
#include "mode_caster.h"
#include "outgoing_value.h"
#include "parts.h"
#include "run_writer.h"
#include "seconds.h"
#include "tensor_object.h"
#include "trial_object.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace cupel::python {
namespace {

using Milliseconds = std::chrono::milliseconds;
using Range = std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>;
using Texts = std::vector<std::string>;

StepRange step_range(const std::optional<Range>& range) {
  return range ? StepRange{range->first, range->second} : StepRange{};
}

// A path as Python encodes it for the file system.
std::string path_text(const nb::bytes& path) { return {path.c_str(), path.size()}; }

nb::object path_object(const std::string& path) {
  return nb::steal(
      PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
}

TrialObject open_trial(const nb::bytes& path, const nb::bytes& name,
                       const std::optional<Range>& range_steps, double wait_for_run) {
  TrialOptions options;
  options.name = path_text(name);
  options.range_steps = step_range(range_steps);
  options.wait_for_run = whole_milliseconds(wait_for_run);
  std::shared_ptr<Trial> trial;
  run_interruptibly([&, location = path_text(path)](const std::stop_token& stop) {
    struct Stopped {};
    options.stop_waiting = stop;
    options.progress = [&](std::uint64_t, std::uint64_t) {
      if (stop.stop_requested()) throw Stopped();
    };
    try {
      trial = create_trial(location, std::move(options));
    } catch (const Stopped&) {  // the interrupt is thrown instead
    }
  });
  return TrialObject(std::move(trial));
}

void wait_for_steps(const TrialObject& self, const std::vector<std::int64_t>& steps, Mode mode,
                    std::optional<double> timeout) {
  const auto begin = std::chrono::steady_clock::now();
  WaitOptions options;
  if (timeout) options.timeout = whole_milliseconds(*timeout);
  try {  // Most waiting is for steps that are there: no thread for these.
    const nb::gil_scoped_release without_gil;
    self.trial().wait_for_steps(steps, mode, {.timeout = Milliseconds(0)});
    return;
  } catch (const StepNotYetAvailable&) {
    if (timeout) {
      const auto passed = std::chrono::steady_clock::now() - begin;
      *options.timeout -= std::chrono::floor<Milliseconds>(passed);
      if (*options.timeout <= Milliseconds(0)) throw;
    }
  }
  run_interruptibly([&](const std::stop_token& stop) {
    options.stop = stop;
    self.trial().wait_for_steps(steps, mode, options);
  });
}

TensorQuery tensor_query(std::optional<std::int64_t> step, Mode mode, const Texts& regex,
                         std::string collection) {
  return {step, mode, PatternList(regex), std::move(collection)};
}

// The names that a collection of the caller selects: the trial may not have it.
Texts names_of(const TrialObject& self, std::optional<std::int64_t> step, Mode mode,
               const Collection& collection) {
  const Collection kept = collection;
  return self.read([&](const Trial& trial) {
    Texts names = trial.tensor_names({.step = step, .mode = mode});
    std::erase_if(names, [&](const std::string& name) { return !kept.contains(name); });
    return names;
  });
}

// The collections of the run. In each are the names that it lists, and the saved names that its
// patterns match.
std::vector<Collection> collections(const TrialObject& self) {
  return self.read([](const Trial& trial) {
    const Texts saved = trial.tensor_names();
    std::vector<Collection> complete;
    for (auto& [name, collection] : trial.collections()) {
      complete.push_back(collection);
      for (const std::string& tensor : saved)
        if (collection.contains(tensor)) complete.back().add_tensor_name(tensor);
    }
    return complete;
  });
}

Collection collection(const TrialObject& self, const std::string& name) {
  return self.read([&](const Trial& trial) {
    Collection complete = trial.collection(name);
    for (const std::string& tensor : trial.tensor_names({.collection = name}))
      complete.add_tensor_name(tensor);
    return complete;
  });
}

template <class Read>
nb::list arrays(const TrialObject& self, Read&& read) {
  auto found = self.read([&](const Trial& trial) {
    std::vector<OutgoingValue> values;
    for (TensorValue& value : read(trial)) values.emplace_back(std::move(value));
    return values;
  });
  nb::list made;
  for (OutgoingValue& value : found) made.append(std::move(value).array());
  return made;
}

// The columns of a table by name. `mode`, `tensor` and `worker` are numbers of entries of the lists
// that stand beside the columns.
nb::dict reductions(const TrialObject& self, const Texts& name, const std::string& collection,
                    const std::optional<Range>& steps, Mode mode,
                    const std::optional<std::string>& worker, bool incomplete) {
  ReductionTable table = self.read([&](const Trial& trial) {
    return trial.reductions({.collection = collection,
                             .name = PatternList(name),
                             .steps = step_range(steps),
                             .mode = mode,
                             .worker = worker.value_or(std::string()),
                             .show_incomplete_steps = incomplete});
  });
  nb::dict columns;
  columns["step"] = column_array(std::move(table.step));
  columns["mode"] = column_array(std::move(table.mode));
  columns["mode_step"] = column_array(std::move(table.mode_step));
  columns["worker"] = column_array(std::move(table.worker));
  columns["tensor"] = column_array(std::move(table.tensor));
  columns["elements"] = column_array(std::move(table.elements));
  columns["nan"] = column_array(std::move(table.nan));
  columns["pos_inf"] = column_array(std::move(table.pos_inf));
  columns["neg_inf"] = column_array(std::move(table.neg_inf));
  columns["zero"] = column_array(std::move(table.zero));
  for (auto& [reduction, values] : table.reductions)
    columns[nb::cast(to_string(reduction))] = column_array(std::move(values));
  nb::dict result;
  result["columns"] = columns;
  result["saved"] = column_array(std::move(table.saved));
  result["tensors"] = table.tensors;
  result["workers"] = table.workers;
  return result;
}

std::vector<std::tuple<std::int64_t, std::string, std::string>> notes(
    const TrialObject& self, const std::optional<Range>& steps) {
  std::vector<std::tuple<std::int64_t, std::string, std::string>> rows;
  for (Note& note : self.read([&](const Trial& trial) { return trial.notes(step_range(steps)); }))
    rows.emplace_back(note.step, std::move(note.worker), std::move(note.text));
  return rows;
}

// The bit of a reduction in the column `saved` of a table; of the counts, if the name is "counts".
std::size_t saved_bit(std::string_view name) {
  if (name == "counts") return Reduction::kCount;
  return require_reduction(name).index();
}

// Pins of views, or the opposite, until end() is called.
class Pins {
 public:
  Pins(std::vector<TrialObject> trials, bool refresh) {
    const nb::gil_scoped_release without_gil;
    for (TrialObject& trial : trials) {
      guards_.emplace_back(std::move(trial));
      Guard& guard = guards_.back();
      guard.trial.alone([&](Trial& view) {
        if (refresh)
          guard.refresh = std::make_unique<Refresh>(view);
        else
          guard.pin = std::make_unique<NoRefresh>(view);
        std::set<std::uint64_t>& open = guard.trial.pins();
        guard.number = open.empty() ? 0 : *open.rbegin() + 1;
        open.insert(guard.number);
      });
    }
  }
  ~Pins() { end(); }
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;

  void end() {
    const nb::gil_scoped_release without_gil;
    end_all();
  }
  // Whether the views have no open pins that were made later: ended first, these pins would restore
  // a state that is over.
  bool are_last() const {
    const nb::gil_scoped_release without_gil;
    return std::ranges::all_of(guards_, [](const Guard& guard) {
      bool is_last = false;
      guard.trial.alone([&](Trial&) { is_last = *guard.trial.pins().rbegin() == guard.number; });
      return is_last;
    });
  }

 private:
  struct Guard {
    explicit Guard(TrialObject pinned) : trial(std::move(pinned)) {}
    TrialObject trial;
    std::uint64_t number = 0;  // in the order of the open pins of the view
    std::unique_ptr<NoRefresh> pin = nullptr;
    std::unique_ptr<Refresh> refresh = nullptr;
  };

  // In reverse order, since a view may be there twice.
  void end_all() {
    while (!guards_.empty()) {
      Guard& guard = guards_.back();
      guard.trial.alone([&](Trial&) {
        guard.pin.reset();
        guard.refresh.reset();
        guard.trial.pins().erase(guard.number);
      });
      guards_.pop_back();
    }
  }
  std::vector<Guard> guards_;
};

void add_queries(nb::class_<TrialObject>& type) {
  type.def(
          "steps",
          [](const TrialObject& self, Mode mode, bool incomplete) {
            return self.read([&](const Trial& trial) { return trial.steps(mode, incomplete); });
          },
          "mode"_a.none(), "show_incomplete_steps"_a)
      .def("modes",
           [](const TrialObject& self) {
             return self.read([](const Trial& trial) { return trial.modes(); });
           })
      .def(
          "mode",
          [](const TrialObject& self, std::int64_t step) {
            return self.read([&](const Trial& trial) { return trial.mode(step); });
          },
          "global_step"_a)
      .def(
          "mode_step",
          [](const TrialObject& self, std::int64_t step) {
            return self.read([&](const Trial& trial) { return trial.mode_step(step); });
          },
          "global_step"_a)
      .def(
          "global_step",
          [](const TrialObject& self, Mode mode, std::int64_t step) {
            return self.read([&](const Trial& trial) { return trial.global_step(mode, step); });
          },
          "mode"_a.none(), "mode_step"_a)
      .def("last_complete_step",
           [](const TrialObject& self) {
             return self.read([](const Trial& trial) { return trial.last_complete_step(); });
           })
      .def(
          "has_passed_step",
          [](const TrialObject& self, std::int64_t step, Mode mode) {
            return static_cast<int>(
                self.read([&](const Trial& trial) { return trial.has_passed_step(step, mode); }));
          },
          "step"_a, "mode"_a.none())
      .def("ended",
           [](const TrialObject& self) {
             return self.read([](const Trial& trial) { return trial.ended(); });
           })
      .def("refresh",
           [](const TrialObject& self) {
             return self.read([](const Trial& trial) { return trial.refresh(); });
           })
      .def("wait_for_steps", &wait_for_steps, "steps"_a, "mode"_a.none(), "timeout"_a.none())
      .def("workers",
           [](const TrialObject& self) {
             return self.read([](const Trial& trial) { return trial.workers(); });
           })
      .def("num_workers",
           [](const TrialObject& self) {
             return self.read([](const Trial& trial) { return trial.num_workers(); });
           })
      .def("notes", &notes, "steps"_a.none());
}

void add_tensor_queries(nb::class_<TrialObject>& type) {
  type.def(
          "tensor_names",
          [](const TrialObject& self, std::optional<std::int64_t> step, Mode mode,
             const Texts& regex, const std::string& collection) {
            const TensorQuery query = tensor_query(step, mode, regex, collection);
            return self.read([&](const Trial& trial) { return trial.tensor_names(query); });
          },
          "step"_a.none(), "mode"_a.none(), "regex"_a, "collection"_a)
      .def("tensor_names_of", &names_of, "step"_a.none(), "mode"_a.none(), "collection"_a)
      .def(
          "tensor",
          [](const TrialObject& self, const std::string& name) {
            return TensorObject(self,
                                self.read([&](const Trial& trial) { return trial.tensor(name); }));
          },
          "tname"_a)
      .def(
          "has_tensor",
          [](const TrialObject& self, const std::string& name) {
            return self.read([&](const Trial& trial) { return trial.has_tensor(name); });
          },
          "tname"_a)
      .def("collections", &collections)
      .def("collection", &collection, "name"_a)
      .def(
          "inputs",
          [](const TrialObject& self, std::int64_t step, Mode mode) {
            return arrays(self, [&](const Trial& trial) { return trial.inputs(step, mode); });
          },
          "step"_a, "mode"_a.none())
      .def(
          "labels",
          [](const TrialObject& self, std::int64_t step, Mode mode) {
            return arrays(self, [&](const Trial& trial) { return trial.labels(step, mode); });
          },
          "step"_a, "mode"_a.none())
      .def(
          "predictions",
          [](const TrialObject& self, std::int64_t step, Mode mode) {
            return arrays(self, [&](const Trial& trial) { return trial.predictions(step, mode); });
          },
          "step"_a, "mode"_a.none())
      .def("reductions", &reductions, "name"_a, "collection"_a, "steps"_a.none(), "mode"_a.none(),
           "worker"_a.none(), "show_incomplete_steps"_a);
}

}  // namespace

TrialObject& trial_object(nb::handle object) {
  TrialObject* trial = nullptr;
  const nb::object native = nb::getattr(object, "_native", object);
  if (!nb::try_cast(native, trial) || trial == nullptr) throw nb::next_overload();
  return *trial;
}

void add_trial(nb::module_& module) {
  add_tensor(module);
  add_run_writer(module);
  nb::class_<TrialObject> type(module, "Trial");
  type.def_prop_ro("name", [](const TrialObject& self) { return path_object(self.trial().name()); })
      .def_prop_ro("path",
                   [](const TrialObject& self) { return path_object(self.trial().location()); })
      .def_prop_ro("format", [](const TrialObject& self) { return self.trial().format(); })
      .def_prop_ro("pinned",
                   [](const TrialObject& self) {
                     return self.read([](const Trial& trial) { return trial.pinned(); });
                   })
      .def("view", [](const TrialObject& self) { return TrialObject(self.trial().view()); });
  add_queries(type);
  add_tensor_queries(type);
  module.def("open_trial", &open_trial, "path"_a, "name"_a, "range_steps"_a.none(),
             "wait_for_run"_a);
  module.def("saved_bit", &saved_bit, "name"_a);
  nb::class_<Pins>(module, "Pins")
      .def(nb::init<std::vector<TrialObject>, bool>(), "trials"_a, "refresh"_a)
      .def("end", &Pins::end)
      .def("are_last", &Pins::are_last);
}

}  // namespace cupel::python
