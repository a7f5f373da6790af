#pragma once

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace cupel::testing {

/// Sets environment variables, and puts back what they were.
class EnvironmentGuard {
 public:
  EnvironmentGuard() = default;
  ~EnvironmentGuard() {
    for (const auto& [name, value] : before_) put(name, value);
  }
  EnvironmentGuard(const EnvironmentGuard&) = delete;
  EnvironmentGuard& operator=(const EnvironmentGuard&) = delete;

  void set(const std::string& name, const std::string& value) { change(name, value); }
  void unset(const std::string& name) { change(name, std::nullopt); }

 private:
  void change(const std::string& name, const std::optional<std::string>& value) {
    const char* const before = std::getenv(name.c_str());
    before_.try_emplace(name,
                        before == nullptr ? std::nullopt : std::optional<std::string>(before));
    put(name, value);
  }
  static void put(const std::string& name, const std::optional<std::string>& value) {
    value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
  }
  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace cupel::testing
