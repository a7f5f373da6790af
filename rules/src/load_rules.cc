// Rules from SPECs, a configuration file and files of rules, with every mistake in them.
//
// One RuleLoader goes through the sources in order: entries of the configuration, then SPECs. Each
// Request is resolved to a definition, its parameters are checked by the schema, and what the rule
// needs is computed, so that nothing is left to fail when the rule is made but the runs. Mistakes
// become problems with a place: those of a configuration have the line that the JSON document
// knows, those of a file of rules come with the file, once for each file. Exceptions of the readers
// (UsageError, errors of scripts) are caught here; only std::bad_alloc and the like are let out.
// There is no state beyond a call.

#include "cupel/rules/load_rules.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <utility>

#include "configured_rule.h"
#include "cupel/core/error.h"
#include "rule_names.h"

namespace cupel {

using namespace rules_detail;

namespace {

using rules_detail::ConfiguredRule;
using rules_detail::kSetOfRules;

std::string names_of(const RuleFile& file) {
  std::string names;
  for (const auto& definition : file.definitions)
    names += (names.empty() ? "" : ", ") + definition->name;
  return names;
}

// Without the name of the file, which the problem has.
std::string without_prefix(std::string text, const std::string& file) {
  const std::string prefix = file + ": ";
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return text;
}

// A rule that is asked for, before it is known.
struct Request {
  std::string rule;            // empty: the only rule of the file
  std::string file = {};       // that defines the rule; empty: the catalog's
  bool any_name_does = false;  // the only rule of the file is meant, whatever its name
  bool is_entry = false;       // of the configuration
  Definitions edition = Definitions::Practical;
  RuleConfiguration use = {};  // what it is to be, without its definition
};

class RuleLoader {
 public:
  RuleLoader(const RuleCatalog& catalog, const RuleFileReaders& readers)
      : catalog_(catalog), readers_(readers) {}

  void load_configuration(const std::string& path);
  void load_spec(const std::string& text);
  void load_spec(RuleSpec spec);
  LoadedRules finish();

 private:
  using Report = std::function<void(Mistake mistake)>;

  void load_set();
  // Completes the request and adds it, or reports what is wrong with it.
  void load(Request request, const Report& report);
  void load_entry(ConfiguredRule entry, const Report& report, const Report& warn);
  std::shared_ptr<const RuleDefinition> definition_of(const Request& request, const Report& report);
  const RuleFile& file_of(const Request& request, const Report& report);

  const RuleCatalog& catalog_;
  const RuleFileReaders& readers_;
  std::map<std::string, RuleFile> files_;
  bool has_set_ = false;
  LoadedRules loaded_;
};

// Reads a file once, and takes over what is wrong in it. A file that cannot be read is a mistake of
// the entry that names it.
const RuleFile& RuleLoader::file_of(const Request& request, const Report& report) {
  const auto [file, is_new] = files_.try_emplace(request.file);
  if (!is_new) return file->second;
  file->second = read_rule_file(request.file, readers_);
  if (request.is_entry && !file->second.is_readable) {
    for (const RuleProblem& error : file->second.errors)
      report({.message = error.message, .parameter = "source_s3_uri"});
    return file->second;
  }
  std::ranges::copy(file->second.errors, std::back_inserter(loaded_.errors));
  std::ranges::copy(file->second.warnings, std::back_inserter(loaded_.warnings));
  return file->second;
}

std::shared_ptr<const RuleDefinition> RuleLoader::definition_of(const Request& request,
                                                                const Report& report) {
  if (request.file.empty()) {
    if (auto found = catalog_.find(request.rule, request.edition)) return found;
    Mistake unknown = catalog_.mistake_in(request.rule, request.edition);
    unknown.parameter = "rule_to_invoke";
    report(std::move(unknown));
    return nullptr;
  }
  const RuleFile& file = file_of(request, report);
  const auto& definitions = file.definitions;
  if (definitions.size() == 1 && (request.rule.empty() || request.any_name_does))
    return definitions.front();
  if (auto found = file.find(request.rule)) return found;
  if (!file.errors.empty()) return nullptr;  // the rule may be among those that are wrong
  if (const auto other = file.other_names.find(request.rule); other != file.other_names.end()) {
    loaded_.errors.push_back(other->second);
    return nullptr;
  }
  if (definitions.empty())
    report({.message = request.file + " has no rule", .parameter = "source_s3_uri"});
  else if (request.rule.empty())
    report({.message = request.file + " has several rules; name one of them, " + request.file +
                       ":NAME: " + names_of(file),
            .parameter = "source_s3_uri"});
  else
    report({.message = request.file + " has no rule " + request.rule + "; it has " + names_of(file),
            .parameter = "rule_to_invoke"});
  return nullptr;
}

void RuleLoader::load(Request request, const Report& report) {
  RuleConfiguration& use = request.use;
  use.definition = definition_of(request, report);
  if (use.definition == nullptr) return;
  const RuleDefinition& definition = *use.definition;
  // A rule in C++ that compares with no other run ignores the paths of other runs.
  if (definition.file.empty() && definition.other_trials == 0 && !use.opens_other_trials())
    use.other_trials.clear();
  try {
    const ParameterMistakes mistakes =
        definition.mistakes_in(use.all_parameters(), use.other_trials.size());
    for (Mistake& mistake : mistakes.of_rule(definition.name)) report(std::move(mistake));
    if (!mistakes.empty()) return;
    static_cast<void>(use.needs());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {  // of the definition's own functions
    if (definition.problem_of)
      loaded_.errors.push_back(definition.problem_of(error));
    else
      report({.message = error.what()});
    return;
  }
  if (use.name.empty()) use.name = definition.name;
  loaded_.rules.push_back(std::move(use));
}

// ---- SPECs

void RuleLoader::load_set() {
  if (std::exchange(has_set_, true)) return;
  for (const auto& definition : catalog_.definitions(Definitions::Practical)) {
    if (definition->other_trials > 0 || !definition->mistakes_in({}).empty()) continue;
    loaded_.rules.push_back(
        {.definition = definition, .name = definition->name, .only_if_fed = true});
  }
}

void RuleLoader::load_spec(const std::string& text) {
  try {
    load_spec(parse_rule_spec(text, readers_));
  } catch (const UsageError& error) {
    loaded_.errors.push_back({.message = error.what()});
  }
}

void RuleLoader::load_spec(RuleSpec spec) {
  const Report report = [this](Mistake mistake) {
    loaded_.errors.push_back(
        {.message = std::move(mistake.message), .hint = std::move(mistake.hint)});
  };
  if (spec.file.empty() && spec.rule == kSetOfRules) {
    if (spec.parameters.empty()) return load_set();
    return report({.message = "--rule all takes no parameters; a --rule of its own gives them to "
                              "a rule"});
  }
  Request request{.rule = std::move(spec.rule), .file = std::move(spec.file)};
  request.use.other_trials = rules_detail::take_other_trials(spec.parameters);
  request.use.parameters = std::move(spec.parameters);
  load(std::move(request), report);
}

// ---- The configuration

void RuleLoader::load_entry(ConfiguredRule entry, const Report& report, const Report& warn) {
  std::vector<std::string> warnings;
  entry.use.actions = parse_action_json(entry.action_json, warnings);
  for (std::string& warning : warnings)
    warn({.message = std::move(warning), .parameter = "action_json"});
  if (entry.has_workers)
    warn({.message =
              "RunnerParameters.workers has no effect: rules judge the tensors of all workers"});
  if (entry.rule.empty()) return;  // without a name, which is an error of the entry
  const bool is_wrong = entry.has_mistakes;
  const std::size_t rules = loaded_.rules.size();
  load({.rule = std::move(entry.rule),
        .file = std::move(entry.source),
        .any_name_does = entry.is_named_alone,
        .is_entry = true,
        .edition = entry.edition,
        .use = std::move(entry.use)},
       report);
  if (is_wrong) loaded_.rules.resize(rules);
}

void RuleLoader::load_configuration(const std::string& path) {
  const auto problem_of = [&path](const ConfigurationMistake& mistake) {
    return RuleProblem{
        .file = path,
        .line = mistake.line,
        .source_line = mistake.source_line,
        .message = (mistake.path.empty() ? "" : mistake.path + ": ") + mistake.message,
        .hint = mistake.hint};
  };
  std::vector<RuleProblem> errors;
  std::vector<RuleProblem> warnings;
  try {
    const ConfigurationDocument document(read_configuration_text(path), path);
    ConfigurationReport structure(path);
    std::vector<ConfiguredRule> entries =
        rules_detail::read_configured_rules(document.root(structure));
    std::ranges::transform(structure.errors(), std::back_inserter(errors), problem_of);
    std::ranges::transform(structure.warnings(), std::back_inserter(warnings), problem_of);
    for (ConfiguredRule& entry : entries) {
      const ConfiguredRule about = entry;
      const auto report_to = [&](std::vector<RuleProblem>& problems) -> Report {
        return [&](Mistake mistake) {
          ConfigurationReport place(path);
          static_cast<void>(document.root(place));
          place.error(about.path_of(mistake.parameter), "");
          RuleProblem problem = problem_of(place.errors().front());
          const std::string& name = about.use.name;
          problem.message = (name.empty() ? "" : name + ": ") + mistake.message;
          problem.hint = std::move(mistake.hint);
          problems.push_back(std::move(problem));
        };
      };
      load_entry(std::move(entry), report_to(errors), report_to(warnings));
    }
    std::ranges::stable_sort(errors, {}, &RuleProblem::line);
    std::ranges::stable_sort(warnings, {}, &RuleProblem::line);
    if (const auto more = structure.error_count() - structure.errors().size(); more > 0)
      errors.push_back({.file = path, .message = "and " + std::to_string(more) + " more mistakes"});
  } catch (const ConfigurationSyntaxError& error) {
    errors.push_back(problem_of(error.mistake()));
  } catch (const UsageError& error) {
    errors.push_back({.file = path, .message = without_prefix(error.what(), path)});
  }
  // The problems of the files of its entries follow.
  loaded_.errors.insert(loaded_.errors.begin(), errors.begin(), errors.end());
  loaded_.warnings.insert(loaded_.warnings.begin(), warnings.begin(), warnings.end());
}

LoadedRules RuleLoader::finish() {
  std::set<std::string> names;
  for (RuleConfiguration& rule : loaded_.rules) {
    const std::string wanted = rule.name;
    for (int number = 2; !names.insert(rule.name).second; ++number)
      rule.name = wanted + "#" + std::to_string(number);
  }
  return std::move(loaded_);
}

}  // namespace

std::shared_ptr<const RuleDefinition> RuleFile::find(std::string_view name) const {
  return rules_detail::find_by_name(definitions, name, [](const RuleDefinition&) { return true; });
}

RuleFile read_rule_file(const std::string& path, const RuleFileReaders& readers) {
  const auto by_ending = std::ranges::find_if(
      readers, [&path](const RuleFileReader& each) { return path.ends_with(each.ending); });
  if (by_ending != readers.end()) return by_ending->read(path);
  if (!readers.empty()) return readers.front().read(path);
  RuleFile unread;
  unread.errors.push_back({.file = path, .message = "there is no reader for files of rules"});
  unread.is_readable = false;
  return unread;
}

RuleSpec parse_rule_spec(std::string_view text, const RuleFileReaders& readers) {
  std::vector<std::string> endings;
  for (const RuleFileReader& reader : readers) endings.push_back(reader.ending);
  return parse_rule_spec(text, endings);
}

LoadedRules load_rules(const RuleSources& sources, const RuleCatalog& catalog,
                       const RuleFileReaders& readers) {
  RuleLoader loader(catalog, readers);
  if (!sources.config.empty()) loader.load_configuration(sources.config);
  for (const std::string& spec : sources.specs) loader.load_spec(spec);
  return loader.finish();
}

LoadedRules load_rule(const RuleSpec& spec, const RuleCatalog& catalog,
                      const RuleFileReaders& readers) {
  RuleLoader loader(catalog, readers);
  loader.load_spec(spec);
  return loader.finish();
}

}  // namespace cupel
