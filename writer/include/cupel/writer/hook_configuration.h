#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/writer/hook_options.h"

namespace cupel {

/// What a configuration file has of a hook: options, and collections with their own
/// configurations. docs/configuration.md has the keys, their values and which of them wins.
///
/// To apply it, make a Hook of `options` and add each collection, which then takes the place of the
/// hook's of that name: a built-in one has its built-in patterns and those of the file.
struct HookConfiguration {
  /// The file's values over those of `base`. `save_config` is complete: it gives every mode.
  HookOptions options;
  /// The entries of CollectionConfigurations in the file's order; `options.include_collections`
  /// names them all. One whose entry has any save key has a complete SaveConfig of its own; the
  /// others save when the hook does. One of the user's may have no patterns yet: code may add them.
  std::vector<Collection> collections;
};

/// Reads JSON text: an object with LocalPath, HookParameters and CollectionConfigurations, bare or
/// within {"DebugHookConfig": ...}. What it lacks is as in `base`, whose profile also
/// chooses the built-in collections. Keys that nobody knows are logged as warnings, with the
/// nearest known key, and ignored.
///
/// Throws one UsageError that begins with `source`. Of text that is no JSON it has line and
/// column; otherwise it has one line for each mistake of the text (the first 200): where it is,
/// what may stand there, and what does. More than 16 MiB of text, 64 levels, 1000 collections,
/// 10000 patterns, or 10000 steps in a list are refused. A `base` whose save_config,
/// reduction_config or include_regex is illegal throws the UsageError that a Hook throws for it.
HookConfiguration parse_hook_configuration(std::string_view json, std::string_view source,
                                           HookOptions base = {});

/// Reads the file `path`; when empty, the one that the environment variable
/// SMDEBUG_CONFIG_FILE_PATH names; when that is unset or empty,
/// /opt/ml/input/config/debughookconfig.json.
///
/// Throws as above, and UsageError naming the file, and how to set its path, when it cannot be
/// read or is no regular file. It never waits: a pipe is refused.
HookConfiguration read_hook_configuration(const std::string& path = {}, HookOptions base = {});

}  // namespace cupel
