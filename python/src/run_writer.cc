// RunWriter for Python, as cupel.core.writer adapts it, and the end marker of a run.

#include "cupel/writer/run_writer.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/delivery/worker_lock.h"
#include "cupel/format/collections_file.h"
#include "cupel/format/format_limits.h"
#include "cupel/format/layout.h"
#include "cupel/store/local_store.h"
#include "cupel/store/open_store.h"
#include "incoming_value.h"
#include "mode_caster.h"
#include "run_writer.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace cupel::python {
namespace {

std::string location_text(const nb::bytes& location) { return {location.c_str(), location.size()}; }

// A RunWriter that may be closed before Python collects it.
class RunWriterObject {
 public:
  RunWriterObject(const nb::bytes& directory, const std::string& worker, std::int64_t num_workers,
                  const std::vector<Collection>& collections) {
    Collections by_name;
    for (const Collection& collection : collections)
      by_name.insert_or_assign(collection.name(), collection);
    const std::string path = location_text(directory);
    const nb::gil_scoped_release without_gil;
    writer_.emplace(path, worker, num_workers, std::move(by_name));
  }

  void step(std::int64_t global, Mode mode, std::int64_t mode_step) {
    with_writer([&](RunWriter& writer) { writer.step(global, mode, mode_step); });
  }
  void save(const std::string& name, nb::handle value) {
    const IncomingValue incoming(value);  // runs Python code, which may close the writer
    with_writer([&](RunWriter& writer) { writer.save(name, incoming.view()); });
  }
  void close() {
    const nb::gil_scoped_release without_gil;
    const std::lock_guard lock(mutex_);
    writer_.reset();
  }

 private:
  template <class Use>
  void with_writer(Use&& use) {
    const nb::gil_scoped_release without_gil;
    const std::lock_guard lock(mutex_);
    if (!writer_) throw UsageError("the writer is closed");
    use(*writer_);
  }
  std::mutex mutex_;  // taken without the GIL
  std::optional<RunWriter> writer_;
};

bool run_has_ended(const nb::bytes& location) {
  const std::string text = location_text(location);
  const nb::gil_scoped_release without_gil;
  return open_store(text)->stat(kEndMarker).has_value();
}

void end_run(const nb::bytes& location) {
  const std::string text = location_text(location);
  const nb::gil_scoped_release without_gil;
  open_store(text)->put(kEndMarker, {});
}

// Gives a worker of a run other collections. False: the directory has no run of cupel with a file
// of that name.
bool replace_collections(const nb::bytes& directory, const std::string& file_name,
                         const std::vector<Collection>& collections) {
  const std::string path = location_text(directory);
  const nb::gil_scoped_release without_gil;
  LocalStore store(path);
  const std::string key = std::string(kCollectionsPrefix) + file_name;
  const std::optional<std::string> worker = parse_collections_key(key);
  if (!worker) return false;
  if (!store.stat(key)) return false;  // without a run the lock would leave a file
  const auto lock = WorkerLock::acquire(path, *worker, path, FileAccess::Umask);
  const auto bytes = store.get(key, format_limits().collections_file);
  if (!bytes) return false;
  CollectionsFile file;
  try {
    file = decode_collections_file(key, *bytes);
  } catch (const FormatError&) {
    return false;
  }
  file.collections.clear();
  for (const Collection& collection : collections)
    file.collections.insert_or_assign(collection.name(), collection);
  store.put(key, encode_collections_file(file));
  return true;
}

}  // namespace

void add_run_writer(nb::module_& module) {
  nb::class_<RunWriterObject>(module, "RunWriter")
      .def(nb::init<nb::bytes, std::string, std::int64_t, std::vector<Collection>>(), "directory"_a,
           "worker"_a, "num_workers"_a, "collections"_a)
      .def("step", &RunWriterObject::step, "global_step"_a, "mode"_a.none(), "mode_step"_a)
      .def("save", &RunWriterObject::save, "name"_a, "value"_a)
      .def("close", &RunWriterObject::close);
  module.def("run_has_ended", &run_has_ended, "location"_a);
  module.def("end_run", &end_run, "location"_a);
  module.def("replace_collections", &replace_collections, "directory"_a, "file_name"_a,
             "collections"_a);
}

}  // namespace cupel::python
