#pragma once

#include <cstdlib>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "cupel/core/error.h"
#include "cupel/writer/hook_configuration.h"

namespace cupel {

inline HookConfiguration parse(std::string_view json, HookOptions base = {}) {
  return parse_hook_configuration(json, "hook.json", std::move(base));
}

// What a configuration is refused with; empty when it is accepted.
inline std::string refusal(std::string_view json, HookOptions base = {}) {
  try {
    parse(json, std::move(base));
    return {};
  } catch (const UsageError& error) {
    return error.what();
  }
}

// A configuration of a hook's parameters only: `"save_all": true`.
inline std::string hook_with(std::string_view parameters) {
  return R"({"HookParameters": {)" + std::string(parameters) + "}}";
}

// A configuration with one collection "relu".
inline std::string hook_and_collection(std::string_view hook, std::string_view collection) {
  return R"({"HookParameters": {)" + std::string(hook) +
         R"(}, "CollectionConfigurations": [{"CollectionName": "relu", "CollectionParameters": {)" +
         std::string(collection) + "}}]}";
}

// Sets an environment variable, or unsets it for nullptr, as long as it lives.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* was = std::getenv(name)) was_ = was;
    set(value);
  }
  ~Environment() { set(was_ ? was_->c_str() : nullptr); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  void set(const char* value) const {
    value == nullptr ? ::unsetenv(name_) : ::setenv(name_, value, 1);
  }
  const char* name_;
  std::optional<std::string> was_;
};

}  // namespace cupel
