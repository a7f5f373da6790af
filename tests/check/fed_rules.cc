// The configurations that feed each rule, which tests/rules/cases/RULE.json holds under "fed".

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>

#include "check/fed_rule.h"

namespace cupel::testing {
namespace {

using Element = std::function<double(std::size_t, Mode)>;

// A number that all elements are, or the name of one of these.
Element element_of(const Json& json) {
  static const std::map<std::string, Element> named = {
      {"NaN", [](std::size_t, Mode) { return std::numeric_limits<double>::quiet_NaN(); }},
      {"rising", [](std::size_t element, Mode) { return static_cast<double>(element); }},
      {"every_other", [](std::size_t element, Mode) { return static_cast<double>(element % 2); }},
      // One of class 1, the others of class 0.
      {"one_rare", [](std::size_t element, Mode) { return element == 0 ? 1.0 : 0.0; }},
      {"worse_in_eval", [](std::size_t, Mode mode) { return mode == Mode::Eval ? 2.0 : 1.0; }}};
  if (json.is_string()) return named.at(json.get<std::string>());
  return [value = json.get<double>()](std::size_t, Mode) { return value; };
}

FedRule fed_rule(const std::string& rule, const Json& json) {
  FedRule fed{.rule = rule,
              .parameters = json.at("parameters").get<RuleParameters>(),
              .fed_by = json.at("fed_by").get<std::vector<std::string>>(),
              .entries = json.at("entries"),
              .tensors = {}};
  for (const auto& [name, tensor] : json.at("tensors").items())
    fed.tensors.push_back({name, tensor.at("shape").get<std::vector<std::int64_t>>(),
                           element_of(tensor.at("elements"))});
  if (!json.contains("modes")) return fed;
  fed.modes.clear();
  for (const Json& mode : json["modes"]) fed.modes.push_back(parse_mode(mode.get<std::string>()));
  return fed;
}

std::vector<FedRule> read_fed_rules() {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(CUPEL_RULE_CASES))
    if (file.path().extension() == ".json") files.push_back(file.path());
  std::ranges::sort(files);
  std::vector<FedRule> rules;
  for (const auto& file : files) {
    std::ifstream in(file);
    const Json cases = Json::parse(in);
    for (const Json& fed : cases.value("fed", Json::array()))
      rules.push_back(fed_rule(cases.at("rule").get<std::string>(), fed));
  }
  return rules;
}

}  // namespace

const std::vector<FedRule>& fed_rules() {
  static const auto& rules = *new std::vector<FedRule>(read_fed_rules());
  return rules;
}

}  // namespace cupel::testing
