#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command_context.h"
#include "loaded_rules.h"

namespace cupel::command_detail {

// Each command has an options struct and a function, which <name>_command.cc defines. The function
// returns the exit code; it throws an exception for an error, which ends the command with
// kExitError. An empty text means that the option was not given. `json` is the option --json.

struct InfoOptions {
  std::string trial;
  bool build = false;  // print what is built into the program, in place of a run
  bool json = false;
};
int run_info(const InfoOptions& options, const CommandContext& context);

struct StepsOptions {
  std::string trial;
  std::string tensor;  // only the steps at which this tensor was saved
  std::string mode = "GLOBAL";
  bool json = false;
};
int run_steps(const StepsOptions& options, const CommandContext& context);

struct TensorsOptions {
  std::string trial;
  std::string mode = "GLOBAL";
  std::optional<std::int64_t> step;
  std::string collection;
  std::string regex;
  bool in_full = false;  // print a table of the saved data
  bool json = false;
};
int run_tensors(const TensorsOptions& options, const CommandContext& context);

struct ShowOptions {
  std::string trial;
  std::string tensor;
  std::optional<std::int64_t> step;  // one step; excludes the range
  std::optional<std::int64_t> start_step;
  std::optional<std::int64_t> end_step;  // the end of the range, exclusive
  std::optional<std::int64_t> last;      // only this many saved steps at the end of the range
  std::string mode = "GLOBAL";
  std::string worker;                   // default: the first by name
  std::vector<std::string> reductions;  // default: the value, or the saved reductions
  std::string npy;                      // the file that the values are written to
  bool plot = false;
  bool log = false;
  bool histogram = false;
  std::optional<std::int64_t> width;  // columns of the output; default: the terminal's
  bool json = false;
};
int run_show(const ShowOptions& options, const CommandContext& context);

struct DiffOptions {
  std::string run_a, run_b;
  double rtol = 0, atol = 0;
  std::string mode = "GLOBAL";
  std::string collection;
  std::string regex;
  std::int64_t start_step = 0;
  std::optional<std::int64_t> end_step;
  std::int64_t limit = 1;  // the number of differences to find; 0: all
  bool full = false;       // read values whose checksums agree, too
  bool json = false;
};
int run_diff(const DiffOptions& options, const CommandContext& context);

struct WatchOptions {
  std::string trial;
  AskedRules rules;
  bool no_wait = false;
  bool first = false;
  bool explain = false;
  std::optional<double> idle_timeout;  // seconds
  bool until_writer_gone = false;
  std::int64_t start_step = 0;
  std::optional<std::int64_t> end_step;
  std::optional<std::int64_t> wait_window;  // steps
  std::string out;                          // the file that keeps the lines
  std::vector<std::string> actions;
  bool dry_run = false;
  std::string webhook_ca;  // the file of certificates
  bool strict = false;     // exit with 1 also where a rule had nothing to judge
  bool all = false;        // print every finding, not incidents
  int jobs = 0;            // 0: the number of processors, up to 4
  bool json = false;
};
int run_watch(const WatchOptions& options, const CommandContext& context);

struct CheckOptions {
  std::string target;  // a run, or the file of a hook's configuration
  AskedRules rules;
  std::string profile = "generic";
  bool emit_hook_config = false;
  bool json = false;
};
int run_check(const CheckOptions& options, const CommandContext& context);

struct RulesOptions {
  std::string name;      // a rule, or FILE.lua[:NAME]; default: all rules of the program
  std::string new_rule;  // the name or the file of the template to write
  std::string markdown;  // the directory to write pages to
  bool json = false;
};
int run_rules(const RulesOptions& options, const CommandContext& context);

struct VerifyCommandOptions {
  std::string trial;
  bool json = false;
};
int run_verify(const VerifyCommandOptions& options, const CommandContext& context);

struct CopyCommandOptions {
  std::string source;
  std::string destination;
  bool json = false;
};
int run_copy(const CopyCommandOptions& options, const CommandContext& context);

struct SyncOptions {
  std::string path;                // a run, a spool, or a directory of spools
  std::string salvage;             // the directory that a salvaged run is written to
  std::int64_t idle_timeout = 60;  // seconds
  bool json = false;
};
int run_sync(const SyncOptions& options, const CommandContext& context);
// Runs `sync --salvage`; options.salvage is not empty.
int run_salvage(const SyncOptions& options, const CommandContext& context);
// Returns the path of a local directory, with "~/" resolved. Throws UsageError if there is none.
std::string directory_place(const std::string& path);

}  // namespace cupel::command_detail
