#include "scripting/rule_attack_fixture.h"

#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>

namespace cupel::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNeighbour = R"(
local helper = require("helper")
return cupel.rule {
  name = "Neighbour",
  invoke_at_step = function(self, trial, step)
    self.seen = (self.seen or 0) + 1
    for _, name in ipairs(trial:tensor_names{collection = "gradients", step = step}) do
      local mean = trial:tensor(name):reduction_value(step, "abs_mean")
      if mean < 1e-3 then
        self:issue{tensor = name, value = mean, threshold = 1e-3,
                   message = string.format("%d of %d", self.seen, helper.answer)}
      end
    end
  end,
}
)";

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

// Takes "-- <key>: value" from the beginning of a text.
bool take_line(std::string& text, const std::string& key, std::string& value) {
  const std::string head = "-- " + key + ": ";
  if (!text.starts_with(head)) return false;
  const std::size_t end = text.find('\n');
  value = text.substr(head.size(), end - head.size());
  text.erase(0, end + 1);
  return true;
}

std::size_t resident_at_most() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("VmHWM:")) return std::stoul(line.substr(6)) * 1024;
  return 0;
}

std::chrono::duration<double, std::milli> processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

std::vector<RuleAttack> rule_attacks() {
  std::vector<RuleAttack> all;
  for (const auto& entry : fs::directory_iterator(CUPEL_RULE_ATTACKS)) {
    RuleAttack attack;
    attack.name = entry.path().stem().string();
    attack.text = text_of(entry.path());
    const std::string whole = attack.text;
    if (!take_line(attack.text, "stopped by", attack.reason))
      throw std::runtime_error(attack.name + " does not say what stops it");
    take_line(attack.text, "at", attack.place);
    std::string run;
    attack.is_huge = take_line(attack.text, "run", run) && run == "huge";
    attack.text = whole;
    all.push_back(std::move(attack));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

AttackFolder::AttackFolder(const RuleAttack& attack)
    : root_(fs::temp_directory_path() /
            ("cupel_attack_" + std::to_string(::getpid()) + "_" + attack.name)),
      rules_(root_ / "rules") {
  fs::remove_all(root_);
  fs::create_directories(rules_ / "folder.lua");
  write(root_ / "canary.lua", std::string("return \"") + kSecret + "\"");
  write(root_ / "canary.txt", kSecret);
  write(rules_ / "attack.lua", attack.text);
  write(rules_ / "neighbour.lua", kNeighbour);
  write(rules_ / "helper.lua", "return {answer = 42}");
  write(rules_ / "endless.lua", "while true do end");
  write(rules_ / "hungry.lua", "local t = {} while true do t[#t + 1] = {} end");
  write(rules_ / "broken.lua", "return return");
  write(rules_ / "bytecode.lua", "\x1bLuaT");
  write(rules_ / "one.lua", "return require('two')");
  write(rules_ / "two.lua", "return require('one')");
  write(rules_ / "folder.lua" / "inner.lua", "return 1");
  fs::create_symlink("../canary.lua", rules_ / "link.lua");
  fs::create_symlink("/dev/zero", rules_ / "zeros.lua");
  if (::mkfifo((rules_ / "pipe.lua").c_str(), 0600) != 0)
    throw std::runtime_error("a pipe cannot be made");
}

AttackFolder::~AttackFolder() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

std::map<std::string, std::string> AttackFolder::contents() const {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(root_)) {
    const bool is_file = entry.is_regular_file() && !entry.is_symlink();
    all[entry.path().string()] = is_file ? text_of(entry.path()) : "";
  }
  return all;
}

AttackedRun::AttackedRun(bool is_huge) {
  constexpr std::size_t kLarge = std::size_t{1} << 18U;
  constexpr std::size_t kHuge = std::size_t{32} << 20U;
  constexpr std::size_t kLongText = std::size_t{72} << 20U;
  WorkerWriter writer = worker();
  writer.collection("gradients", {"^gradient/"}).collection("losses", {"^loss$"});
  std::vector<float> large(kLarge);
  for (std::size_t i = 0; i < kLarge; ++i) large[i] = static_cast<float>(i % 1000) - 500;
  for (std::int64_t step = 0; step < 4; ++step)
    writer.save(step, {scalar("loss", 1.0 / static_cast<double>(step + 1)),
                       filled("gradient/fc1.weight", 64, 1e-9F).with("abs_mean", 1e-9),
                       reduced("gradient/fc2.weight", "abs_mean", 5), raw_of("large", large),
                       raw("strange", {std::numeric_limits<float>::quiet_NaN(), 1, -1}),
                       raw("nothing", {}), texts("words", {"a", "bc", ""})});
  if (!is_huge) return;
  std::vector<std::uint8_t> bytes(kHuge);
  for (std::size_t i = 0; i < kHuge; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 % 251 + 1);
  writer.save(4, {raw_of("bytes", bytes), texts("long text", {std::string(kLongText, 'x')})});
}

Usage::Meter::Meter(Usage& usage) : usage_(usage), begin_(processor_time()), resident_(0) {
  malloc_trim(0);
  // The highest value so far becomes that of now.
  std::ofstream("/proc/self/clear_refs") << "5";
  resident_ = resident_at_most();
}

Usage::Meter::~Meter() {
  usage_.time = std::max(usage_.time, processor_time() - begin_);
  usage_.memory = std::max(usage_.memory, std::max(resident_at_most(), resident_) - resident_);
}

}  // namespace cupel::testing
