// Configuration files of hooks for Python, and what an adapter in Python asks before it makes its
// hook: the collections that are saved by default, and who this process is among the workers.

#include "cupel/writer/hook_configuration.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <string>
#include <string_view>

#include "cupel/core/collection.h"
#include "cupel/writer/worker_identity.h"
#include "parts.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace cupel::python {
namespace {

double seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

// What a file may give, by the names that the options of a hook have in Python.
nb::dict options_of(const HookOptions& options) {
  nb::dict values;
  values["out_dir"] = options.out_dir;
  values["include_collections"] = options.include_collections;
  values["include_regex"] = options.include_regex;
  values["save_all"] = options.save_all;
  values["save_config"] = options.save_config;
  values["reduction_config"] = options.reduction_config;
  values["include_workers"] = options.include_workers;
  values["dry_run"] = options.dry_run;
  values["when_full"] = options.when_full == WhenFull::Block ? "block" : "drop_step";
  values["segment_bytes"] = options.segment_bytes;
  if (options.segment_age) values["segment_age"] = seconds(*options.segment_age);
  values["spool_dir"] = options.spool_dir;
  values["spool_bytes"] = options.spool_bytes;
  values["upload_parallelism"] = options.upload_parallelism;
  values["close_timeout"] = seconds(options.close_timeout);
  values["s3_sync"] = options.s3_sync == S3Sync::On ? "on" : "off";
  values["export_tensorboard"] = options.export_tensorboard;
  values["tensorboard_dir"] = options.tensorboard_dir;
  return values;
}

nb::tuple as_tuple(const HookConfiguration& configuration) {
  return nb::make_tuple(options_of(configuration.options), configuration.collections);
}

HookOptions base_of(Profile profile) {
  HookOptions base;
  base.profile = profile;
  return base;
}

}  // namespace

void add_hook_configuration(nb::module_& module) {
  module.def(
      "read_hook_configuration",
      [](const std::string& path, Profile profile) {
        return as_tuple(read_hook_configuration(path, base_of(profile)));
      },
      "path"_a, "profile"_a,
      "The options and the collections that a configuration file gives a hook.");
  module.def(
      "parse_hook_configuration",
      [](std::string_view json, std::string_view source, Profile profile) {
        return as_tuple(parse_hook_configuration(json, source, base_of(profile)));
      },
      "json"_a, "source"_a, "profile"_a,
      "The options and the collections that a configuration gives a hook.");
  module.def("default_saved_collections", &default_saved_collections, "profile"_a,
             "The names of the collections that are saved whatever is configured.");
  module.def(
      "worker_identity",
      [](std::string_view name, std::int64_t count) {
        const WorkerIdentity identity = worker_identity(name, count);
        return nb::make_tuple(identity.name, identity.count);
      },
      "name"_a = "", "count"_a = 0,
      "The name of this worker and the number of workers, as a hook finds them.");
}

}  // namespace cupel::python
