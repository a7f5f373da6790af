// `tensors`: the names of tensors, or with --long a table of the saved data of each. The table goes
// through all rows of the index once; no value is read. Damage of the run ends the command after
// its results. One thread.

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amount_text.h"
#include "commands.h"
#include "cupel/core/error.h"
#include "cupel/core/printable.h"
#include "exit_codes.h"
#include "open_trial.h"
#include "show.h"
#include "table.h"
#include "value_text.h"

namespace cupel::command_detail {
namespace {

// The facts from all rows of one tensor.
struct TensorFacts {
  std::int64_t newest_step = -1;  // global
  std::int64_t steps = 0;
  std::uint64_t value_bytes = 0;
  bool has_value = false;
  ReductionSet reductions;
};

std::map<std::string, TensorFacts> facts_of(const Trial& trial, const TensorQuery& query) {
  StepRange range;
  std::map<std::string, TensorFacts> facts;
  if (query.step) {
    range.begin =
        query.mode == Mode::Global ? query.step : trial.global_step(query.mode, *query.step);
    if (!range.begin) return facts;
    range.end = *range.begin + 1;
  }
  NameSelection selection;
  if (!query.collection.empty()) selection = NameSelection({query.collection});
  if (!query.regex.empty()) selection = NameSelection({}, query.regex);
  trial.visit_steps(range, selection, [&](const RecordView& row) {
    if (query.mode != Mode::Global && row.mode() != query.mode) return;
    TensorFacts& of = facts[row.tensor()];
    if (of.newest_step != row.step()) ++of.steps;
    of.newest_step = row.step();
    of.reductions |= row.reductions().set;
    if (!row.has_value()) return;
    of.has_value = true;
    of.value_bytes += static_cast<std::uint64_t>(row.elements()) * element_size(row.dtype());
  });
  return facts;
}

// Returns "raw, mean, max": the parts that were saved at any step.
std::string saved_text(const TensorFacts& facts) {
  constexpr std::size_t kMostNamed = 3;
  std::string text = facts.has_value ? "raw" : "";
  if (facts.reductions.size() > kMostNamed)
    return text + (text.empty() ? "" : ", ") + std::to_string(facts.reductions.size()) +
           " reductions";
  facts.reductions.for_each([&text](Reduction reduction) {
    text += (text.empty() ? "" : ", ") + std::string(to_string(reduction));
  });
  return text.empty() ? "only the shape" : text;
}

void print_long(const Trial& trial, const std::map<std::string, TensorFacts>& all, Printer out) {
  using enum Table::Align;
  Table table({"TENSOR", "DTYPE", "SHAPE", "STEPS", "SAVED", "VALUES"},
              {Left, Left, Left, Right, Left, Right});
  for (const auto& [name, facts] : all) {
    const TensorRecord newest = trial.tensor(name).record(facts.newest_step);
    // The index does not have the length of a text.
    const bool is_counted = facts.has_value && newest.dtype != DType::Utf8;
    table.add({name, std::string(to_string(newest.dtype)), shape_text(newest),
               std::to_string(facts.steps), saved_text(facts),
               is_counted ? bytes_text(facts.value_bytes) : "-"});
  }
  table.print(out);
}

void print_long_json(const Trial& trial, const std::map<std::string, TensorFacts>& all,
                     Printer out) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const auto& [name, facts] : all) {
    const TensorRecord newest = trial.tensor(name).record(facts.newest_step);
    std::vector<std::string_view> reductions;
    facts.reductions.for_each(
        [&](Reduction reduction) { reductions.push_back(to_string(reduction)); });
    array.push_back({{"tensor", name},
                     {"dtype", to_string(newest.dtype)},
                     {"shape", nullptr},
                     {"elements", newest.elements},
                     {"steps", facts.steps},
                     {"raw", facts.has_value},
                     {"reductions", reductions},
                     {"value_bytes", nullptr}});
    if (newest.shape)
      array.back()["shape"] = std::vector<std::int64_t>(newest.shape->begin(), newest.shape->end());
    if (newest.dtype != DType::Utf8) array.back()["value_bytes"] = facts.value_bytes;
  }
  out << json_text(array) << '\n';
}

void print_names(const std::vector<std::string>& names, bool json, Printer out) {
  if (json) out << '[';
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (json) {
      out << (i == 0 ? "" : ",") << json_string(names[i]);
    } else {
      out << printable(names[i], std::string_view::npos) << '\n';
    }
  }
  if (json) out << "]\n";
}

}  // namespace

int run_tensors(const TensorsOptions& options, const CommandContext& context) {
  const Mode mode = parse_mode(options.mode);
  if (!options.collection.empty() && !options.regex.empty())
    throw UsageError("--collection and --regex exclude each other: give one of them");
  TensorQuery query{.step = options.step, .mode = mode, .collection = options.collection};
  if (!options.regex.empty()) query.regex = options.regex;
  const auto trial = open_trial(options.trial);
  const NoRefresh one_snapshot(*trial);
  if (!options.collection.empty()) require_collection({trial.get()}, options.collection);
  if (options.step) require_step(*trial, *options.step, mode);
  // A built-in collection that the run does not list is empty.
  const bool is_listed = options.collection.empty() ||
                         std::ranges::binary_search(trial->collection_names(), options.collection);
  const std::vector<std::string> names =
      is_listed ? trial->tensor_names(query) : std::vector<std::string>();
  if (!options.in_full) {
    print_names(names, options.json, context.out);
  } else if (options.json) {
    print_long_json(*trial,
                    names.empty() ? std::map<std::string, TensorFacts>() : facts_of(*trial, query),
                    context.out);
  } else if (!names.empty()) {
    print_long(*trial, facts_of(*trial, query), context.out);
  }
  throw_damage(*trial);
  return kExitFine;
}

}  // namespace cupel::command_detail
