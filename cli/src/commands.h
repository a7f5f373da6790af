#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chosen_rules.h"
#include "cupel/core/printer.h"

namespace cupel {

// One options struct and one function for each command; each is defined in <name>_command.cc. They
// return exit codes and throw cupel::Error for what ends them with kExitError.

struct InfoOptions {
  std::string trial;
  bool build = false;  // the command itself, not a run
  bool json = false;
};
int run_info(const InfoOptions& options, Printer out);

struct StepsOptions {
  std::string trial;
  std::string tensor;  // empty: steps of any
  std::string mode = "GLOBAL";
  bool json = false;
};
int run_steps(const StepsOptions& options, Printer out);

struct TensorsOptions {
  std::string trial;
  std::string mode = "GLOBAL";
  std::optional<std::int64_t> step;
  std::string collection;
  std::string regex;
  bool in_full = false;  // a table of what was saved of each
  bool json = false;
};
int run_tensors(const TensorsOptions& options, Printer out);

struct ShowOptions {
  std::string trial;
  std::string tensor;
  std::optional<std::int64_t> step;  // excludes the range
  std::optional<std::int64_t> start_step;
  std::optional<std::int64_t> end_step;  // exclusive
  std::optional<std::int64_t> last;      // so many saved steps at the end of the range
  std::string mode = "GLOBAL";
  std::string worker;                   // empty: the first by name
  std::vector<std::string> reductions;  // empty: the value, or what reductions were saved
  std::string npy;                      // a file to write the values to
  bool plot = false;
  bool log = false;
  bool histogram = false;
  std::optional<std::int64_t> width;  // columns that people's output may take; else the terminal's
  bool json = false;
};
int run_show(const ShowOptions& options, Printer out, Printer err);

struct DiffOptions {
  std::string run_a, run_b;
  double rtol = 0, atol = 0;
  std::string mode = "GLOBAL";
  std::string collection;
  std::string regex;
  std::int64_t start_step = 0;
  std::optional<std::int64_t> end_step;
  std::int64_t limit = 1;  // differences to look for; 0: all
  bool full = false;       // reads values whose checksums agree
  bool json = false;
};
int run_diff(const DiffOptions& options, Printer out);

struct WatchOptions {
  std::string trial;
  RuleChoice rules;
  bool no_wait = false;
  bool first = false;
  bool explain = false;
  std::optional<double> idle_timeout;  // seconds
  bool until_writer_gone = false;
  std::int64_t start_step = 0;
  std::optional<std::int64_t> end_step;
  std::optional<std::int64_t> wait_window;  // steps
  std::string out;                          // a file to keep the lines in
  std::vector<std::string> actions;
  bool dry_run = false;
  std::string webhook_ca;  // a file of certificates
  bool strict = false;     // exit 1 also where a rule had nothing to judge
  bool all = false;        // every finding for a person, not incidents
  int jobs = 0;            // 0: as the machine has processors, up to 4
  bool json = false;
};
int run_watch(const WatchOptions& options, Printer out, Printer err);

struct CheckOptions {
  std::string target;  // a run, or the file of a hook's configuration; empty: none, with emit
  RuleChoice rules;
  std::string profile = "generic";
  bool emit_hook_config = false;
  bool json = false;
};
int run_check(const CheckOptions& options, Printer out, Printer err);

struct RulesOptions {
  std::string name;      // of a built-in rule, or FILE.lua[:NAME]; empty: all built-in ones
  std::string new_rule;  // a template of this name is written
  std::string markdown;  // a directory to write pages to
  bool json = false;
};
int run_rules(const RulesOptions& options, Printer out);

struct VerifyCommandOptions {
  std::string trial;
  bool json = false;
};
int run_verify(const VerifyCommandOptions& options, Printer out, Printer err);

struct CopyCommandOptions {
  std::string source;
  std::string destination;
  bool json = false;
};
int run_copy(const CopyCommandOptions& options, Printer out, Printer err);

struct SyncOptions {
  std::string path;                // a run, a spool, or where spools are
  std::string salvage;             // where what is whole of a run is written; empty: nowhere
  std::int64_t idle_timeout = 60;  // seconds
  bool json = false;
};
int run_sync(const SyncOptions& options, Printer out, Printer err);
// `sync --salvage`: options.salvage is not empty.
int run_salvage(const SyncOptions& options, Printer out, Printer err);
// A directory of this machine, whatever its name. Throws UsageError if there is none.
std::string directory_place(const std::string& path);

}  // namespace cupel
