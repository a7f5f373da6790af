// `diff`: compares two runs and prints the first differences, or the grounds on which the runs
// agree. The comparison is compare_runs() of the room trial; one snapshot of each run is compared.
// Runs without anything in common are an error, and damage of either run is one after the results.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "amount_text.h"
#include "commands.h"
#include "cupel/core/error.h"
#include "difference_text.h"
#include "exit_codes.h"
#include "open_trial.h"
#include "progress.h"
#include "value_text.h"

namespace cupel::command_detail {
namespace {

void check(const DiffOptions& options) {
  const auto usable = [](double tolerance) { return std::isfinite(tolerance) && tolerance >= 0; };
  if (!usable(options.rtol) || !usable(options.atol))
    throw UsageError("--rtol and --atol take finite numbers that are not negative");
  if (!options.collection.empty() && !options.regex.empty())
    throw UsageError("--collection and --regex exclude each other: give one of them");
  if (options.end_step && *options.end_step <= options.start_step)
    throw UsageError("--end-step must be greater than --start-step");
}

RunComparison compare(const Trial& a, const Trial& b, const DiffOptions& options, Mode mode) {
  Progress progress("comparing");
  RunComparisonOptions wanted{.rtol = options.rtol,
                              .atol = options.atol,
                              .steps = {options.start_step, options.end_step},
                              .mode = mode,
                              .read_all_values = options.full,
                              .limit = static_cast<std::size_t>(options.limit)};
  if (!options.collection.empty()) wanted.collections = {options.collection};
  if (!options.regex.empty()) wanted.patterns = options.regex;
  wanted.progress = [&progress](std::uint64_t done, std::uint64_t total) { progress(done, total); };
  return compare_runs(a, b, wanted);
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

// Returns the grounds of an agreement: "12 by their values, 158 by checksum and statistics".
std::string grounds_text(const RunComparison::Agreements& agreements) {
  std::vector<std::string> grounds;
  const auto add = [&grounds](std::int64_t count, const char* what) {
    if (count > 0) grounds.push_back(std::to_string(count) + what);
  };
  add(agreements.values, " by their values");
  add(agreements.checksums, " by checksum and statistics");
  add(agreements.statistics, " by reductions and counts");
  add(agreements.shapes, " by type and shape only");
  add(agreements.nothing, " with nothing to compare");
  return joined(grounds, ", ");
}

// Prints which data is in one run only, which is no difference.
void print_remarks(Printer out, const RunComparison& found) {
  const auto only_in = [&out](const char* run, std::int64_t values, std::int64_t reductions) {
    std::vector<std::string> parts;
    if (values > 0) parts.push_back("raw values of " + count_text(values, "row"));
    if (reductions > 0) parts.push_back("reductions of " + count_text(reductions, "row"));
    if (!parts.empty()) out << "only in " << run << ": " << joined(parts, ", ") << '\n';
  };
  only_in("A", found.values_only_in_a, found.reductions_only_in_a);
  only_in("B", found.values_only_in_b, found.reductions_only_in_b);
  const auto ahead = [&out](const char* run, std::int64_t steps, const char* other) {
    if (steps > 0)
      out << "not compared: " << count_text(steps, "step") << " of " << run << "; " << other
          << " has not come so far and goes on\n";
  };
  ahead("A", found.steps_ahead_in_a, "B");
  ahead("B", found.steps_ahead_in_b, "A");
}

void print_readable(Printer out, const RunComparison& found, const DiffOptions& options) {
  for (const RunDifference& difference : found.differences) print_difference(out, difference);
  if (!found.same()) {
    const char* const first = found.differences.size() == 1 ? "it" : "the first";
    if (found.steps_before + found.tensors_before == 0) {
      out << "nothing was compared before " << first << '\n';
    } else {
      out << "before " << first << ' ' << count_text(found.steps_before, "step") << " and "
          << count_text(found.tensors_before, "row") << " agree\n";
    }
    if (options.limit > 1 && !found.complete)
      out << "there may be more: --limit " << options.limit << " was reached\n";
  } else if (!found.nothing_compared()) {
    const bool exact = options.rtol == 0 && options.atol == 0;
    out << "the runs agree" << (exact ? "" : " within the tolerance") << ": "
        << count_text(found.steps, "step") << ", " << count_text(found.tensors, "row") << " ("
        << grounds_text(found.agreements) << ")\n";
  }
  print_remarks(out, found);
}

void print_json(Printer out, const RunComparison& found, const DiffOptions& options) {
  const char* const result = !found.same()              ? "different"
                             : found.nothing_compared() ? "nothing"
                                                        : "same";
  const RunComparison::Agreements& agreements = found.agreements;
  out << "{\"a\":" << json_string(options.run_a) << ",\"b\":" << json_string(options.run_b)
      << ",\"result\":\"" << result << "\",\"complete\":" << (found.complete ? "true" : "false")
      << ",\"steps\":" << found.steps << ",\"tensors\":" << found.tensors
      << ",\"steps_before\":" << found.steps_before
      << ",\"tensors_before\":" << found.tensors_before << ",\"rows\":" << found.tensors
      << ",\"rows_before\":" << found.tensors_before
      << ",\"agreements\":{\"values\":" << agreements.values
      << ",\"checksums\":" << agreements.checksums << ",\"statistics\":" << agreements.statistics
      << ",\"shapes\":" << agreements.shapes << ",\"nothing\":" << agreements.nothing
      << "},\"values_read\":" << found.values_read << ",\"bytes_read\":" << found.bytes_read
      << ",\"values_only_in_a\":" << found.values_only_in_a
      << ",\"values_only_in_b\":" << found.values_only_in_b
      << ",\"reductions_only_in_a\":" << found.reductions_only_in_a
      << ",\"reductions_only_in_b\":" << found.reductions_only_in_b
      << ",\"steps_ahead_in_a\":" << found.steps_ahead_in_a
      << ",\"steps_ahead_in_b\":" << found.steps_ahead_in_b << ",\"differences\":[";
  for (std::size_t i = 0; i < found.differences.size(); ++i)
    out << (i == 0 ? "" : ",") << difference_json(found.differences[i]);
  out << "]}\n";
}

void throw_damage_of(const char* run, const Trial& trial) {
  try {
    throw_damage(trial);
  } catch (const Error& error) {
    throw Error(std::string("run ") + run + ": " + error.what());
  }
}

}  // namespace

int run_diff(const DiffOptions& options, const CommandContext& context) {
  const Mode mode = parse_mode(options.mode);
  check(options);
  const auto a = open_trial(options.run_a), b = open_trial(options.run_b);
  const NoRefresh one_snapshot_each({a.get(), b.get()});
  if (!options.collection.empty()) require_collection({a.get(), b.get()}, options.collection);
  const RunComparison found = compare(*a, *b, options, mode);
  if (options.json) {
    print_json(context.out, found, options);
  } else {
    print_readable(context.out, found, options);
  }
  throw_damage_of("A", *a);
  throw_damage_of("B", *b);
  if (found.nothing_compared())
    throw UsageError("nothing was compared: the runs have no tensor in common at any step" +
                     std::string(found.tensors > 0 ? " of which both saved the same parts" : ""));
  return found.same() ? kExitFine : kExitFound;
}

}  // namespace cupel::command_detail
