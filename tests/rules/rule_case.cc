#include "rules/rule_case.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "cupel/core/reduction.h"

namespace cupel::testing {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void malformed(const std::string& what) { throw std::runtime_error(what); }

void allow_keys(const Json& object, const std::set<std::string>& legal, const std::string& where) {
  if (!object.is_object()) malformed(where + " is no object");
  for (const auto& [key, value] : object.items())
    if (!legal.contains(key)) malformed(where + " has the unknown key \"" + key + "\"");
}

double number_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (json == "Infinity") return std::numeric_limits<double>::infinity();
  if (json == "-Infinity") return -std::numeric_limits<double>::infinity();
  malformed(json.dump() + " is no number");
}

// Element by element, each list of lists flattened, and again `repeat` times.
void flatten(const Json& json, std::vector<double>& into) {
  if (!json.is_array()) return into.push_back(number_of(json));
  for (const Json& element : json) flatten(element, into);
}

template <class T>
SavedTensor typed(const std::string& name, const std::vector<double>& numbers) {
  std::vector<T> values;
  values.reserve(numbers.size());
  for (const double number : numbers) values.push_back(static_cast<T>(number));
  return raw_of(name, values);
}

SavedTensor raw_tensor(const std::string& name, const std::vector<double>& numbers, DType dtype) {
  switch (dtype) {
    case DType::F32:
      return typed<float>(name, numbers);
    case DType::F64:
      return typed<double>(name, numbers);
    case DType::I8:
      return typed<std::int8_t>(name, numbers);
    case DType::I32:
      return typed<std::int32_t>(name, numbers);
    case DType::I64:
      return typed<std::int64_t>(name, numbers);
    case DType::U8:
      return typed<std::uint8_t>(name, numbers);
    case DType::Bool: {
      SavedTensor tensor = typed<std::uint8_t>(name, numbers);
      tensor.dtype = DType::Bool;
      return tensor;
    }
    default:
      malformed("raw values of " + std::string(to_string(dtype)) + " are not written here");
  }
}

Shape shape_of(const Json& json) { return Shape(json.get<std::vector<std::int64_t>>()); }

ValueCounts counts_of(const Json& json) {
  allow_keys(json, {"nan", "pos_inf", "neg_inf", "zero"}, "counts");
  return {json.value("nan", 0), json.value("pos_inf", 0), json.value("neg_inf", 0),
          json.value("zero", 0)};
}

SavedTensor tensor_of(const std::string& name, const Json& json) {
  if (!json.is_object() && !json.is_array()) return scalar(name, number_of(json));
  if (json.is_array()) return tensor_of(name, {{"raw", json}});
  DType dtype = DType::F32;
  if (json.contains("dtype")) {
    const auto parsed = parse_dtype(json["dtype"].get<std::string>());
    if (!parsed) malformed("tensor " + name + " has an unknown dtype");
    dtype = *parsed;
  }
  SavedTensor tensor{name, dtype, json.value("elements", std::int64_t{4})};
  if (json.contains("text")) {
    tensor = texts(name, json["text"].get<std::vector<std::string>>());
  } else if (json.contains("raw")) {
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < json.value("repeat", 1); ++i) flatten(json["raw"], numbers);
    tensor = raw_tensor(name, numbers, dtype);
  }
  if (json.contains("shape")) {
    tensor.shape = shape_of(json["shape"]);
    if (json.contains("raw") && tensor.shape->elements() != tensor.elements)
      malformed("the shape of " + name + " is not the one of its values");
    tensor.elements = tensor.shape->elements();
  }
  if (json.contains("counts")) tensor.counts = counts_of(json["counts"]);
  for (const auto& [key, value] : json.items()) {
    static const std::set<std::string> known = {"dtype",  "elements", "text",  "raw",
                                                "repeat", "shape",    "counts"};
    if (known.contains(key)) continue;
    const auto reduction = parse_reduction(key);
    if (!reduction) malformed("tensor " + name + " has the unknown key \"" + key + "\"");
    tensor.reductions.put(*reduction, number_of(value));
  }
  return tensor;
}

std::vector<SavedTensor> tensors_of(const Json& json) {
  std::vector<SavedTensor> tensors;
  for (const auto& [name, tensor] : json.items()) tensors.push_back(tensor_of(name, tensor));
  return tensors;
}

void add_steps(const Json& json, const RuleCase& of, std::vector<RuleCase::SavedStep>& into) {
  allow_keys(json, {"step", "mode", "mode_step", "tensors", "workers"}, "a step");
  const Mode mode = parse_mode(json.value("mode", "TRAIN"));
  const Json& step = json.at("step");
  const auto numbers = step.is_array() ? step.get<std::vector<std::int64_t>>()
                                       : std::vector{step.get<std::int64_t>()};
  if (json.contains("tensors") == json.contains("workers"))
    malformed("a step has either tensors or workers");
  for (const std::int64_t number : numbers) {
    const At at(number, mode, json.value("mode_step", number));
    if (json.contains("tensors"))
      into.push_back({at, of.workers.front(), tensors_of(json["tensors"])});
    else
      for (const auto& [worker, tensors] : json["workers"].items())
        into.push_back({at, worker, tensors_of(tensors)});
  }
}

bool values_are_removed(const Json& json) {
  if (!json.contains("values")) return false;
  if (json["values"] != "removed") malformed("values are \"removed\", or there");
  return true;
}

bool is_saved(const RuleCase& rule_case, std::int64_t step) {
  return std::any_of(rule_case.steps.begin(), rule_case.steps.end(),
                     [&](const auto& saved) { return saved.at.step == step; });
}

void add_other_run(const Json& json, RuleCase& into) {
  allow_keys(json, {"steps", "values"}, "the other run");
  into.other_steps.emplace();
  for (const Json& step : json.at("steps")) add_steps(step, into, *into.other_steps);
  into.other_values_removed = values_are_removed(json);
}

RuleCase::Tick tick_of(const Json& json, const RuleCase& of) {
  allow_keys(json, {"after", "second", "expect"}, "a tick");
  RuleCase::Tick tick;
  tick.second = json.at("second").get<std::int64_t>();
  tick.expected = json.value("expect", Lines());
  if (!json.contains("after")) return tick;
  tick.at_the_end = json["after"] == "the end";
  if (tick.at_the_end) return tick;
  tick.after = json["after"].get<std::int64_t>();
  if (!is_saved(of, *tick.after))
    malformed("a tick is after step " + std::to_string(*tick.after) + ", which is not saved");
  return tick;
}

std::map<std::int64_t, Lines> lines_of(const Json& json, const RuleCase& rule_case) {
  std::map<std::int64_t, Lines> lines;
  for (const auto& [text, said] : json.items()) {
    const std::int64_t step = std::stoll(text);
    if (!is_saved(rule_case, step)) malformed("step " + text + " is expected and not saved");
    lines[step] = said.get<Lines>();
  }
  return lines;
}

Definitions edition_of(const Json& json) {
  for (const Definitions edition : {Definitions::Practical, Definitions::Reference})
    if (json == to_string(edition)) return edition;
  malformed("definitions are \"practical\" or \"reference\"");
}

RuleCase case_of(const std::string& rule, const Json& json) {
  RuleCase rule_case;
  rule_case.rule = rule;
  rule_case.name = json.at("name").get<std::string>();
  allow_keys(json,
             {"name", "parameters", "definitions", "workers", "collections", "steps", "values",
              "other_run", "ticks", "expect", "reads", "nan_seen", "mistakes"},
             "the case");
  if (json.contains("parameters")) rule_case.parameters = json["parameters"].get<RuleParameters>();
  if (json.contains("definitions")) rule_case.edition = edition_of(json["definitions"]);
  rule_case.workers = json.value("workers", std::vector<std::string>{"worker_0"});
  if (json.contains("collections"))
    rule_case.collections =
        json["collections"].get<std::map<std::string, std::vector<std::string>>>();
  rule_case.values_removed = values_are_removed(json);
  if (json.contains("mistakes")) {
    rule_case.mistakes = json["mistakes"].get<Lines>();
    if (rule_case.mistakes.empty() || json.contains("steps") || json.contains("expect"))
      malformed("mistakes are some, and leave no run to judge");
    return rule_case;
  }
  for (const Json& step : json.at("steps")) add_steps(step, rule_case, rule_case.steps);
  if (json.contains("other_run")) add_other_run(json["other_run"], rule_case);
  for (const Json& tick : json.value("ticks", Json::array()))
    rule_case.ticks.push_back(tick_of(tick, rule_case));
  rule_case.expected = lines_of(json.at("expect"), rule_case);
  rule_case.nan_seen = json.value("nan_seen", std::vector<std::int64_t>());
  if (json.contains("reads")) rule_case.reads = lines_of(json["reads"], rule_case);
  return rule_case;
}

}  // namespace

CaseWriter::CaseWriter(const RuleCase& rule_case, const std::vector<RuleCase::SavedStep>& steps,
                       Store& store)
    : steps_(steps), store_(store) {
  const auto count = static_cast<std::int64_t>(rule_case.workers.size());
  for (const std::string& worker : rule_case.workers) {
    const WorkerSpec spec{.worker = worker, .num_workers = count};
    WorkerWriter& writer = writers_.try_emplace(worker, store, spec).first->second;
    for (const auto& [collection, patterns] : rule_case.collections)
      for (const std::string& pattern : patterns) writer.collection(collection, {pattern});
  }
  for (const RuleCase::SavedStep& step : steps)
    if (numbers_.empty() || numbers_.back() != step.at.step) numbers_.push_back(step.at.step);
}

void CaseWriter::save(std::int64_t number) {
  for (const RuleCase::SavedStep& step : steps_) {
    if (step.at.step != number) continue;
    const auto writer = writers_.find(step.worker);
    if (writer == writers_.end()) malformed("worker " + step.worker + " is not among the workers");
    writer->second.save(step.at, step.tensors);
  }
}

void CaseWriter::save_all() {
  for (const std::int64_t number : numbers_) save(number);
}

void CaseWriter::end() {
  for (auto& [worker, writer] : writers_) writer.close();
  store_.put(kEndMarker, {});
}

namespace {

void write_run(const RuleCase& rule_case, const std::vector<RuleCase::SavedStep>& steps,
               bool remove_values, Store& store) {
  CaseWriter writer(rule_case, steps, store);
  writer.save_all();
  writer.end();
  if (!remove_values) return;
  const std::vector<ObjectInfo> events = store.list("events/");
  if (events.empty()) malformed("there are no values to remove; what has 64 bytes is in the index");
  for (const ObjectInfo& file : events) store.remove(file.key);
}

}  // namespace

void RuleCase::write(const MemoryRun& run) const {
  write_run(*this, steps, values_removed, *run.store);
}

void RuleCase::write_other(Store& store) const {
  write_run(*this, other_steps.value(), other_values_removed, store);
}

std::vector<RuleCase> read_cases(std::string_view text) {
  const Json json = Json::parse(text);
  allow_keys(json, {"rule", "cases", "fed"}, "the file");
  const std::string rule = json.at("rule").get<std::string>();
  std::vector<RuleCase> cases;
  std::set<std::string> names;
  for (const Json& one : json.at("cases")) {
    const std::string name = one.is_object() ? one.value("name", "?") : "?";
    try {
      if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
        malformed("its name is not a sentence_with_underscores");
      if (!names.insert(name).second) malformed("there is another one of this name");
      cases.push_back(case_of(rule, one));
    } catch (const std::exception& error) {
      malformed("case " + name + " of " + rule + ": " + error.what());
    }
  }
  if (cases.empty()) malformed("there is no case of " + rule);
  return cases;
}

}  // namespace cupel::testing
