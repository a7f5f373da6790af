// Actions as a rule's action_json has them, the form of the managed service.
//
// The text comes from a configuration that anybody may have written: it is bounded in depth, and an
// entry that cannot be used becomes a warning and not an error, so that a rule still runs. Pure
// functions, for any thread; nothing is thrown for any text.

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "action_defect.h"
#include "cupel/core/ascii.h"
#include "cupel/core/printable.h"
#include "cupel/rules/action.h"

namespace cupel {

using namespace rules_detail;

namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = 64U << 10U;
constexpr int kMostLevels = 8;
constexpr double kLongestTimeoutSeconds = 86400;

// What an action is called in JSON, and the key of what it needs; stoptraining's prefix of job
// names says nothing where the job is the run that is watched.
struct JsonForm {
  std::string_view name;
  Action::Kind kind;
  std::string_view key;
  bool needs_key;
  bool takes_timeout;
  std::string (*defect)(std::string_view);
};
constexpr std::array kForms = {
    JsonForm{"stoptraining", Action::Kind::Stop, "training_job_prefix", false, false, nullptr},
    JsonForm{"email", Action::Kind::Email, "endpoint", true, false, mail_address_defect},
    JsonForm{"sms", Action::Kind::Sms, "endpoint", true, false, phone_number_defect},
    JsonForm{"exec", Action::Kind::Exec, "command", true, true, command_defect},
    JsonForm{"webhook", Action::Kind::Webhook, "url", true, true, url_defect},
    JsonForm{"stopfile", Action::Kind::StopFile, "path", true, false, path_defect},
    JsonForm{"log", Action::Kind::Log, "", false, false, nullptr},
};

// Returns nothing where the text is not JSON, or has too many levels.
std::optional<Json> parse(std::string_view text) {
  bool is_too_deep = false;
  const auto limit_depth = [&is_too_deep](int depth, Json::parse_event_t /*event*/, Json& /*at*/) {
    is_too_deep = is_too_deep || depth > kMostLevels;
    return !is_too_deep;
  };
  Json json = Json::parse(text, limit_depth, false);
  if (is_too_deep || json.is_discarded()) return std::nullopt;
  return json;
}

// The reference's client writes {\"name\": …}: one level of escapes too many.
std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\')) ++i;
    result += text[i];
  }
  return result;
}

// A word that the shell takes as it is.
std::string shell_word(std::string_view word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// A text, or for a command its words; nothing for anything else.
std::optional<std::string> target_text(const Json& value, bool may_be_words) {
  if (value.is_string()) return value.get<std::string>();
  if (!may_be_words || !value.is_array()) return std::nullopt;
  std::string text;
  for (const Json& word : value) {
    if (!word.is_string()) return std::nullopt;
    text += (text.empty() ? "" : " ") + shell_word(word.get_ref<const std::string&>());
  }
  return text;
}

// Parameters of rules are texts, so a number may come as one.
std::optional<std::chrono::milliseconds> seconds(const Json& value) {
  double number = 0;
  if (value.is_number()) {
    number = value.get<double>();
  } else if (value.is_string()) {
    const Json inner = Json::parse(value.get_ref<const std::string&>(), nullptr, false);
    if (!inner.is_number()) return std::nullopt;
    number = inner.get<double>();
  } else {
    return std::nullopt;
  }
  if (!(number >= 0.001 && number <= kLongestTimeoutSeconds)) return std::nullopt;
  return std::chrono::milliseconds(static_cast<std::int64_t>(number * 1000));
}

class Reader {
 public:
  explicit Reader(std::vector<std::string>& warnings) : warnings_(warnings) {}

  std::optional<Action> read(const Json& json) {
    if (!json.is_object()) return skip("is no object");
    const auto name = json.find("name");
    if (name == json.end() || !name->is_string()) return skip("has no name");
    const std::string given = name->get<std::string>();
    const auto* const form = std::ranges::find(kForms, lower_case(given), &JsonForm::name);
    if (form == kForms.end()) return skip("has an unknown name: " + printable(given));
    named_ = form->name;

    Action action{.kind = form->kind};
    if (const auto value = json.find(form->key); form->needs_key) {
      const std::string key = std::string(form->key);
      if (value == json.end()) return skip("needs the key " + key);
      const auto text = target_text(*value, form->kind == Action::Kind::Exec);
      if (!text) return skip("has no text as its " + key);
      if (const std::string defect = form->defect(*text); !defect.empty())
        return skip("cannot be used: its " + key + " " + defect);
      action.target = *text;
    }
    for (const auto& [key, value] : json.items()) {
      if (key == "name" || (!form->key.empty() && key == form->key)) continue;
      if (key != "timeout" || !form->takes_timeout) {
        warn("does not know the key " + printable(key) + ", which is ignored");
      } else if (const auto timeout = seconds(value)) {
        action.timeout = timeout;
      } else {
        warn("has a timeout that is no number of seconds up to 86400; the usual one holds");
      }
    }
    return action;
  }

 private:
  std::nullopt_t skip(const std::string& why) {
    warn(why + "; it is left out");
    return std::nullopt;
  }
  void warn(const std::string& what) {
    const std::string which = named_.empty() ? "" : " " + std::string(named_);
    warnings_.push_back("action_json: the action" + which + " " + what);
  }

  std::vector<std::string>& warnings_;
  std::string_view named_ = {};
};

}  // namespace

std::vector<Action> parse_action_json(std::string_view text, std::vector<std::string>& warnings) {
  std::vector<Action> actions;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return actions;
  if (text.size() > kMostBytes) {
    warnings.emplace_back("action_json is longer than 64 KiB; it is left out");
    return actions;
  }
  std::optional<Json> json = parse(text);
  if (!json) json = parse(unescaped(text));
  if (!json) {
    warnings.emplace_back("action_json is not JSON; it is left out");
    return actions;
  }
  if (!json->is_array()) json = Json::array({std::move(*json)});
  for (const Json& element : *json)
    if (std::optional<Action> action = Reader(warnings).read(element))
      actions.push_back(std::move(*action));
  return actions;
}

}  // namespace cupel
