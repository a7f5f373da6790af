// `info`: the facts of a run, its collections and the notes of its hooks, from one snapshot. Notes
// are values, which may be damaged one by one: the readable ones are printed, then the damage ends
// the command with an error. One thread.

#include <algorithm>
#include <exception>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "amount_text.h"
#include "build_info.h"
#include "commands.h"
#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "cupel/core/printable.h"
#include "cupel/rules/note_json.h"
#include "cupel/trial/run_follower.h"
#include "exit_codes.h"
#include "note_words.h"
#include "open_trial.h"
#include "table.h"

namespace cupel::command_detail {
namespace {

using Json = nlohmann::ordered_json;

// Returns the steps of one mode as "12, from 0 to 110".
std::string range_text(const std::vector<std::int64_t>& steps) {
  if (steps.empty()) return "0";
  return std::to_string(steps.size()) + ", from " + std::to_string(steps.front()) + " to " +
         std::to_string(steps.back());
}

Json range_json(const std::vector<std::int64_t>& steps) {
  return {{"count", steps.size()},
          {"first", steps.empty() ? Json(nullptr) : Json(steps.front())},
          {"last", steps.empty() ? Json(nullptr) : Json(steps.back())}};
}

struct CollectionInfo {
  std::string name;
  std::size_t tensors = 0;  // the number of its saved tensors
};

// Returns the number of the sorted names that the collection has. Listed names are searched for.
std::size_t members_among(const std::vector<std::string>& tensors, const Collection& collection) {
  const auto& listed = collection.tensor_names();
  const bool is_short = listed.size() < tensors.size() / 16;
  if (collection.include_regex().empty() && is_short) {
    return static_cast<std::size_t>(
        std::count_if(listed.begin(), listed.end(), [&](const std::string& name) {
          return std::binary_search(tensors.begin(), tensors.end(), name);
        }));
  }
  return static_cast<std::size_t>(
      std::count_if(tensors.begin(), tensors.end(),
                    [&](const std::string& tensor) { return collection.contains(tensor); }));
}

std::vector<CollectionInfo> saved_collections(const Trial& trial) {
  const std::vector<std::string> tensors = trial.tensor_names();
  std::vector<CollectionInfo> infos;
  for (const auto& [name, collection] : trial.collections())
    infos.push_back({name, members_among(tensors, collection)});
  return infos;
}

// The notes of hooks, and the first damage among them.
struct ReadNotes {
  std::vector<Note> notes;
  std::exception_ptr damage;
};

// Reads the notes of a range of steps. Where a note is damaged, the range is halved until only the
// step of the note is left, so that all other notes are read.
void read_notes(const Trial& trial, std::int64_t begin, std::int64_t end, ReadNotes& read) {
  try {
    const std::vector<Note> notes = trial.notes({begin, end});
    read.notes.insert(read.notes.end(), notes.begin(), notes.end());
  } catch (const FormatError&) {
    if (end - begin > 1) {
      const std::int64_t middle = begin + (end - begin) / 2;
      read_notes(trial, begin, middle, read);
      read_notes(trial, middle, end, read);
    } else if (read.damage == nullptr) {
      read.damage = std::current_exception();
    }
  }
}

ReadNotes notes_of(const Trial& trial) {
  ReadNotes read;
  read_notes(trial, 0, std::numeric_limits<std::int64_t>::max(), read);
  return read;
}

void print_json(const Trial& trial, RunStatus status, const std::vector<Note>& all_notes,
                Printer out) {
  const TrialTotals totals = trial.totals();
  Json modes = Json::object();
  for (const Mode mode : trial.modes())
    modes[std::string(to_string(mode))] = range_json(trial.steps(mode));
  Json collections = Json::array();
  for (const CollectionInfo& info : saved_collections(trial))
    collections.push_back({{"name", info.name}, {"tensors", info.tensors}});
  Json notes = Json::array();
  for (const Note& note : all_notes) {
    notes.push_back({{"step", note.step},
                     {"worker", note.worker},
                     {"note", Json::parse(note_json(note.text))},
                     {"message", note_in_words(note.text)}});
  }
  const Json json = {{"trial", trial.name()},
                     {"location", trial.location()},
                     {"status", to_string(status)},
                     {"silent_seconds",
                      status == RunStatus::Ended ? Json(nullptr) : Json(seconds_of_silence(trial))},
                     {"workers", trial.workers()},
                     {"num_workers", trial.num_workers()},
                     {"modes", std::move(modes)},
                     {"steps", range_json(trial.steps())},
                     {"collections", std::move(collections)},
                     {"tensors", trial.tensor_names().size()},
                     {"rows", totals.rows},
                     {"index_bytes", totals.index_bytes},
                     {"value_bytes", totals.value_bytes},
                     {"overhead", totals.overhead ? Json(*totals.overhead) : Json(nullptr)},
                     {"notes", std::move(notes)}};
  out << json_text(json) << '\n';
}

// Adds the newest step of each worker of a run that has not ended. Only the newest steps are
// searched.
void add_progress(const Trial& trial, Table& facts) {
  constexpr std::size_t kMostSteps = 1000;
  const std::vector<std::int64_t> steps = trial.steps(Mode::Global, true);
  std::map<std::string, std::string> newest;
  for (const std::string& worker : trial.workers())
    newest[worker] = steps.size() <= kMostSteps
                         ? "no step yet"
                         : "before step " + std::to_string(steps[steps.size() - kMostSteps]);
  std::vector<std::string> behind = trial.workers();
  for (std::size_t i = 0; i < std::min(steps.size(), kMostSteps) && !behind.empty(); ++i) {
    const std::int64_t step = steps[steps.size() - 1 - i];
    const std::vector<std::string> missing = trial.missing_workers(step);
    std::erase_if(behind, [&](const std::string& worker) {
      const bool has_it = std::find(missing.begin(), missing.end(), worker) == missing.end();
      if (has_it) newest[worker] = "step " + std::to_string(step);
      return has_it;
    });
  }
  for (const std::string& worker : trial.workers()) facts.add({"  " + worker, newest[worker]});
}

void print_text(const Trial& trial, RunStatus status, const std::vector<Note>& notes, Printer out) {
  const TrialTotals totals = trial.totals();
  Table facts({"run", trial.location()});
  facts.add({"status", status_text(status, seconds_of_silence(trial))});
  std::string workers;
  for (const std::string& worker : trial.workers())
    workers += (workers.empty() ? "" : ", ") + worker;
  if (static_cast<std::int64_t>(trial.workers().size()) < trial.num_workers())
    workers += " (of " + std::to_string(trial.num_workers()) + ")";
  facts.add({"workers", workers});
  if (trial.num_workers() > 1 && status != RunStatus::Ended) add_progress(trial, facts);
  facts.add({"steps", range_text(trial.steps())});
  for (const Mode mode : trial.modes())
    facts.add({"  " + std::string(to_string(mode)), range_text(trial.steps(mode))});
  facts.add({"tensors", std::to_string(trial.tensor_names().size())});
  facts.add({"rows", std::to_string(totals.rows)});
  facts.add({"index", bytes_text(totals.index_bytes)});
  facts.add({"values", bytes_text(totals.value_bytes)});
  facts.add({"overhead", totals.overhead
                             ? short_text(*totals.overhead * 100) + " % of the run's time"
                             : "unknown"});
  facts.print(out);

  Table collections({"COLLECTION", "TENSORS"}, {Table::Align::Left, Table::Align::Right});
  std::size_t empty = 0;
  for (const CollectionInfo& info : saved_collections(trial)) {
    if (info.tensors == 0) {
      ++empty;
    } else {
      collections.add({info.name, std::to_string(info.tensors)});
    }
  }
  out << '\n';
  collections.print(out);
  if (empty > 0) out << "and " << empty << " more without a saved tensor\n";

  if (!notes.empty()) out << "\nnotes of the hook\n";
  for (const Note& note : notes)
    out << "step " << note.step << "  " << printable(note.worker) << "  "
        << note_in_words(note.text) << '\n';
}

}  // namespace

int run_info(const InfoOptions& options, const CommandContext& context) {
  if (options.build) {
    print_build_info(options.json, context.out);
    return kExitFine;
  }
  if (options.trial.empty()) throw UsageError("TRIAL is required, or --build");
  const auto trial = open_trial(options.trial);
  const NoRefresh one_snapshot(*trial);
  const RunStatus status = RunFollower(*trial).status();
  const ReadNotes read = notes_of(*trial);
  if (options.json) {
    print_json(*trial, status, read.notes, context.out);
  } else {
    print_text(*trial, status, read.notes, context.out);
  }
  if (read.damage != nullptr) std::rethrow_exception(read.damage);
  throw_damage(*trial);
  return kExitFine;
}

}  // namespace cupel::command_detail
