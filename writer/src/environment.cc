#include "environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "cupel/core/ascii.h"
#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "cupel/writer/worker_identity.h"

namespace cupel {
namespace writer_detail {
namespace {

constexpr std::size_t kMostShown = 64;  // of a value, in a message

std::optional<std::string> variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

[[noreturn]] void refuse(const std::string& rule, const char* name, std::string_view value) {
  throw UsageError(rule + ": " + name + "=\"" + std::string(value.substr(0, kMostShown)) + '"');
}

std::optional<std::int64_t> number(const char* name, std::int64_t least) {
  const auto text = variable(name);
  if (!text) return std::nullopt;
  const auto result = parse_integer<std::int64_t>(*text);
  if (!result || *result < least) {
    refuse("an environment variable is not a number of at least " + std::to_string(least), name,
           *text);
  }
  return result;
}

// How the processes of a job learn who they are; the first that is set counts.
struct Launcher {
  const char* rank;
  const char* count;
};
constexpr std::array<Launcher, 3> kLaunchers = {{{"RANK", "WORLD_SIZE"},
                                                 {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                 {"SLURM_PROCID", "SLURM_NTASKS"}}};

// The variable that holds the count; `own` is the launcher that gave the rank, if one did.
const char* count_variable(const Launcher* own) {
  if (own != nullptr && variable(own->count)) return own->count;
  for (const Launcher& launcher : kLaunchers)
    if (variable(launcher.count)) return launcher.count;
  return nullptr;
}

}  // namespace

bool saving_enabled() {
  static constexpr const char* kName = "USE_SMDEBUG";
  static constexpr std::array<std::string_view, 6> kYes = {"y", "yes", "t", "true", "on", "1"};
  static constexpr std::array<std::string_view, 6> kNo = {"n", "no", "f", "false", "off", "0"};
  const auto text = variable(kName);
  if (!text) return true;
  const std::string lower = lower_case(*text);
  if (std::ranges::find(kYes, lower) != kYes.end()) return true;
  if (std::ranges::find(kNo, lower) != kNo.end()) return false;
  refuse("an environment variable is none of y, yes, t, true, on, 1, n, no, f, false, off, 0",
         kName, *text);
}

}  // namespace writer_detail

WorkerIdentity worker_identity(std::string_view given_name, std::int64_t given_count) {
  using namespace writer_detail;
  const auto* const launcher = std::ranges::find_if(
      kLaunchers, [](const Launcher& each) { return variable(each.rank).has_value(); });
  const Launcher* const own = launcher == kLaunchers.end() ? nullptr : launcher;

  WorkerIdentity identity{std::string(given_name), given_count};
  if (identity.count == 0) {
    const char* const name = count_variable(own);
    identity.count = name == nullptr ? 1 : number(name, 1).value_or(1);
  }
  if (!identity.name.empty()) return identity;
  const std::int64_t rank = own == nullptr ? 0 : number(own->rank, 0).value_or(0);
  if (own != nullptr && rank >= identity.count) {
    refuse("a worker's rank is not below the number of workers, " + std::to_string(identity.count),
           own->rank, std::to_string(rank));
  }
  identity.name = "worker_" + std::to_string(rank);
  return identity;
}

}  // namespace cupel
