// Configurations of hooks and of rules: any bytes; every error names a line that the text has.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/utf8.h"
#include "cupel/rules/load_rules.h"
#include "cupel/rules/rule_catalog.h"
#include "cupel/writer/hook_configuration.h"

namespace {

// A file without a name, which load_rules() opens by its descriptor.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("rules.json", MFD_CLOEXEC)) {
    if (descriptor_ < 0) __builtin_trap();
  }
  std::string holding(std::string_view text) {
    if (::ftruncate(descriptor_, 0) != 0) __builtin_trap();
    const auto size = static_cast<::ssize_t>(text.size());
    if (::pwrite(descriptor_, text.data(), text.size(), 0) != size) __builtin_trap();
    return "/proc/self/fd/" + std::to_string(descriptor_);
  }

 private:
  const int descriptor_;
};

void check(const std::vector<cupel::RuleProblem>& problems, std::string_view text) {
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
  for (const cupel::RuleProblem& problem : problems) {
    if (problem.line < 0 || problem.line > lines || problem.message.empty()) __builtin_trap();
    if (!cupel::is_utf8(cupel::to_text(problem))) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool is_quiet = [] {
    cupel::set_log_sink([](cupel::LogLevel, std::string_view) {});
    return true;
  }();
  static_cast<void>(is_quiet);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    static_cast<void>(cupel::parse_hook_configuration(text, "hook.json"));
  } catch (const cupel::UsageError&) {
  }
  static MemoryFile file;
  const auto read = [](const std::string& path) {
    return cupel::RuleFile{.errors = {{.file = path, .message = "no rules"}}};
  };
  const cupel::LoadedRules loaded =
      cupel::load_rules({.config = file.holding(text)}, cupel::builtin_rules(), {{".lua", read}});
  check(loaded.errors, text);
  check(loaded.warnings, text);
  return 0;
}
