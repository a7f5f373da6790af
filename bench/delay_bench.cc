// How long it takes from the call that commits a step to the line that a rule says about it. Three
// processes, as they are used: a training (this program, started by itself), `cupel watch --json`
// over its run, and the reader of the watcher's pipe, which is this program.
//
//   delay_bench [--cupel FILE] [--steps N] [--repetitions N] [--jobs N] [--only TEXT]
//
// Every rule fires at every step. The training notes when it called the next_step() or close() that
// commits a step, and when that returned, in memory that it shares with the reader; the reader
// notes when a line was there, on the same clock. A line that does not come, or comes twice or out
// of order, is an error.
//
// The runs lie in CUPEL_BENCH_DIR, else on tmpfs.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "bench_directory.h"
#include "cupel/writer/hook.h"
#include "lua_vanishing_gradient.h"
#include "paired.h"

extern char** environ;

namespace cupel {
namespace {

using std::chrono::microseconds;
using Clock = std::chrono::steady_clock;  // the same one in all processes

constexpr int kPatienceMs = 30'000;
constexpr int kSharedDescriptor = 3;  // the training's
constexpr double kMilliseconds = 1e-6;

struct Settings {
  std::string cupel = CUPEL_COMMAND;
  int steps = 1000;
  int repetitions = 5;
  int jobs = 0;      // 0: the watcher's own choice
  std::string only;  // a part of the names of what is run
};

// How a step of the training passes its time beside saving.
enum class Pace { None, Sleeping, Working };

struct Case {
  const char* name;
  Pace pace = Pace::None;
  microseconds pause{0};
  Commit commit = Commit::Step;
  bool raw = false;      // 50 raw values of 16 KiB a step, else the reductions of 20
  bool both = false;     // both built-in rules
  int times_longer = 1;  // than the settings say: a watcher that falls behind must show it
  bool lua = false;      // a rule in Lua, in place of the built-in one
};

constexpr std::array kCases = {
    Case{"paced/20ms", Pace::Sleeping, microseconds(20'000)},
    Case{"paced/5ms", Pace::Sleeping, microseconds(5'000)},
    Case{"paced/5ms/both", Pace::Sleeping, microseconds(5'000), Commit::Step, false, true},
    Case{"working/1ms", Pace::Working, microseconds(1'000), Commit::Step, false, false, 4},
    Case{"working/1ms/both", Pace::Working, microseconds(1'000), Commit::Step, false, true, 4},
    Case{"working/1ms/lua", Pace::Working, microseconds(1'000), Commit::Step, false, false, 4,
         true},
    Case{"full", Pace::None, {}, Commit::Step, false, false, 20},
    Case{"full/both", Pace::None, {}, Commit::Step, false, true, 20},
    Case{"full/lua", Pace::None, {}, Commit::Step, false, false, 20, true},
    Case{"full/background", Pace::None, {}, Commit::Background, false, false, 20},
    Case{"full/background/both", Pace::None, {}, Commit::Background, false, true, 20},
    Case{"raw/5ms", Pace::Sleeping, microseconds(5'000), Commit::Step, true},
    Case{"raw/full", Pace::None, {}, Commit::Step, true, false, 2},
    Case{"raw/full/both", Pace::None, {}, Commit::Step, true, true, 2},
};

const Case* find_case(std::string_view name) {
  const auto found = std::ranges::find(kCases, name, &Case::name);
  return found == kCases.end() ? nullptr : &*found;
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

/// When a step was committed: the call that did it, and its return.
struct Moment {
  std::int64_t called = 0;
  std::int64_t returned = 0;
};

/// One moment a step, in memory that a process shares with one it starts.
class Moments {
 public:
  explicit Moments(std::size_t steps)
      : Moments(::memfd_create("cupel-delay-bench", MFD_CLOEXEC), steps, true) {}
  Moments(int descriptor, std::size_t steps, bool fresh = false)
      : descriptor_(descriptor), size_(steps * sizeof(Moment)), steps_(steps) {
    void* const memory =
        fresh && ::ftruncate(descriptor_, static_cast<off_t>(size_)) != 0
            ? MAP_FAILED
            : ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    moments_ = static_cast<Moment*>(memory);
    // Whoever writes them does not wait for pages.
    if (fresh) std::fill_n(moments_, steps_, Moment{});
  }
  ~Moments() {
    ::munmap(moments_, size_);
    ::close(descriptor_);
  }
  Moments(const Moments&) = delete;
  Moments& operator=(const Moments&) = delete;

  int descriptor() const noexcept { return descriptor_; }
  std::size_t steps() const noexcept { return steps_; }
  Moment& operator[](std::size_t step) { return moments_[step]; }

 private:
  int descriptor_;
  std::size_t size_, steps_;
  Moment* moments_ = nullptr;
};

class Process {
 public:
  /// Gives it the descriptors `inherited` as 1, 2 and 3; -1 leaves it what we have.
  Process(const std::vector<std::string>& command, const std::array<int, 3>& inherited) {
    std::vector<char*> arguments;
    for (const std::string& argument : command)
      arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; ++i)
      if (const int own = inherited[static_cast<std::size_t>(i)]; own >= 0)
        ::posix_spawn_file_actions_adddup2(&actions, own, i + 1);
    const int failed =
        ::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::system_error(failed, std::generic_category(), command[0]);
  }
  ~Process() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    end();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Waits for it; its exit code, or -1.
  int end() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
};

/// The reading end of a pipe, line by line.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe");
  }
  ~Pipe() {
    close_writing_end();
    ::close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int writing_end() const noexcept { return ends_[1]; }
  void close_writing_end() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }

  /// Waits for the next line, which is valid until the next call; nothing at the end.
  std::optional<std::string_view> read_line() {
    for (;;) {
      const std::size_t end = text_.find('\n', searched_);
      if (end != std::string::npos) {
        const std::string_view line(text_.data() + begin_, end - begin_);
        begin_ = searched_ = end + 1;
        return line;
      }
      text_.erase(0, std::exchange(begin_, 0));
      searched_ = text_.size();
      if (!read_more()) return std::nullopt;
    }
  }
  /// When what the last line came with was there.
  std::int64_t arrived() const noexcept { return arrived_; }

 private:
  bool read_more() {
    pollfd waiting{ends_[0], POLLIN, 0};
    if (::poll(&waiting, 1, kPatienceMs) != 1) throw std::runtime_error("nothing came for 30 s");
    std::array<char, 65'536> buffer;
    const ssize_t got = ::read(ends_[0], buffer.data(), buffer.size());
    arrived_ = now_ns();
    if (got < 0) throw std::system_error(errno, std::generic_category(), "read");
    text_.append(buffer.data(), static_cast<std::size_t>(got));
    return got > 0;
  }

  std::array<int, 2> ends_{};
  std::string text_;
  std::size_t begin_ = 0, searched_ = 0;
  std::int64_t arrived_ = 0;
};

// The training: gradients that vanish, and in cases of both rules one that explodes.
int train(const Case& running, const std::string& directory, std::size_t steps) {
  Moments moments(kSharedDescriptor, steps);
  HookOptions options;
  options.out_dir = directory;
  options.include_collections = {"gradients"};
  options.save_config = {.save_interval = 1};
  options.commit = running.commit;
  if (!running.raw)
    options.reduction_config = ReductionConfig{
        .reductions = {"min", "max", "mean"}, .abs_reductions = {"mean"}, .norms = {"l2"}};
  Hook hook(options);
  hook.set_mode(Mode::Train);
  std::vector<TensorHandle> gradients;
  for (int i = 0; i < (running.raw ? 50 : 20); ++i)
    gradients.push_back(hook.handle("gradient/layer_" + std::to_string(i) + ".weight"));
  std::vector<float> vanished(4096, 1e-9F);
  std::vector<float> exploded = vanished;
  exploded[1234] = std::numeric_limits<float>::infinity();

  const auto commit = [&](std::size_t step, auto&& call) {
    const std::int64_t called = now_ns();
    call();
    moments[step] = {called, now_ns()};
  };
  for (std::size_t step = 0; step < steps; ++step) {
    const Clock::time_point begin = Clock::now();
    if (step == 0) {
      hook.next_step();
    } else {
      commit(step - 1, [&] { hook.next_step(); });
    }
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const std::vector<float>& gradient = running.both && i == 0 ? exploded : vanished;
      hook.save_tensor(gradients[i], TensorView(gradient.data(), {64, 64}));
    }
    if (running.pace == Pace::Sleeping) std::this_thread::sleep_until(begin + running.pause);
    while (running.pace == Pace::Working && Clock::now() < begin + running.pause) {
    }
  }
  HookReport report;
  commit(steps - 1, [&] { report = hook.close(); });
  for (const std::string& problem : report.problems) std::fprintf(stderr, "%s\n", problem.c_str());
  return report.problems.empty() ? 0 : 1;
}

/// What follows `key` in a line, up to a comma or quote; "" if it is not there.
std::string_view field(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + key.size());
  return line.substr(0, line.find_first_of(",\"}"));
}

std::int64_t number_in(std::string_view text) {
  std::int64_t number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// One time of all three processes, in milliseconds.
struct Measured {
  double step = 0, call = 0;
  double p50 = 0, p90 = 0, p99 = 0, most = 0;
  double last = 0;  // the median of the last hundredth of the steps
};

/// Notes when each rule's line of each step came.
class Arrivals {
 public:
  Arrivals(std::vector<std::string> rules, std::size_t steps)
      : rules_(std::move(rules)), steps_(steps) {}

  void take(std::string_view line, std::int64_t when) {
    if (line.find("\"final\":true") != std::string_view::npos) {
      ++closed_;
      return;
    }
    // Steps as they come, and in each the rules as they were given.
    const std::size_t rule = when_.size() % rules_.size();
    const auto step = static_cast<std::int64_t>(when_.size() / rules_.size());
    if (field(line, "\"step\":") != std::to_string(step) ||
        field(line, "\"name\":\"") != rules_[rule])
      throw std::runtime_error("expected " + rules_[rule] + " of step " + std::to_string(step) +
                               ", got " + std::string(line.substr(0, 200)));
    when_.push_back(when);
  }

  Measured compare(Moments& moments) const {
    if (when_.size() != rules_.size() * steps_ || closed_ != rules_.size())
      throw std::runtime_error("only " + std::to_string(when_.size()) + " lines came, and " +
                               std::to_string(closed_) + " closing ones");
    std::vector<double> delays, calls;
    for (std::size_t i = 0; i < when_.size(); ++i)
      delays.push_back(double(when_[i] - moments[i / rules_.size()].called) * kMilliseconds);
    for (std::size_t i = 0; i < steps_; ++i)
      calls.push_back(double(moments[i].returned - moments[i].called) * kMilliseconds);
    const auto few = static_cast<std::ptrdiff_t>(std::max<std::size_t>(delays.size() / 100, 1));
    Measured measured;
    measured.step =
        double(moments[steps_ - 1].called - moments[0].called) * kMilliseconds / double(steps_ - 1);
    measured.call = quantile(calls, 0.5);
    measured.p50 = quantile(delays, 0.5);
    measured.p90 = quantile(delays, 0.9);
    measured.p99 = quantile(delays, 0.99);
    measured.most = quantile(delays, 1);
    measured.last = quantile({delays.end() - few, delays.end()}, 0.5);
    return measured;
  }

 private:
  const std::vector<std::string> rules_;
  const std::size_t steps_;
  std::vector<std::int64_t> when_;
  std::size_t closed_ = 0;
};

std::string written_in_lua(const BenchDirectory& directory) {
  std::string file = directory / "rule.lua";
  std::ofstream(file) << kVanishingGradientInLua;
  return file;
}

Measured measure(const Settings& settings, const Case& running) {
  const BenchDirectory directory;
  const std::string run = directory / "run";
  std::vector<std::string> rules = {"VanishingGradient"};
  if (running.both) rules.emplace_back("ExplodingTensor");
  std::vector<std::string> watch = {settings.cupel, "watch", run, "--json"};
  for (const std::string& rule : rules)
    watch.insert(watch.end(), {"--rule", running.lua ? written_in_lua(directory) : rule});
  if (settings.jobs > 0) watch.insert(watch.end(), {"--jobs", std::to_string(settings.jobs)});

  const auto steps = static_cast<std::size_t>(settings.steps * running.times_longer);
  Moments moments(steps);
  Arrivals arrivals(std::move(rules), steps);
  Pipe lines, words;
  Process watcher(watch, {lines.writing_end(), words.writing_end(), -1});
  lines.close_writing_end();
  words.close_writing_end();
  const auto ready = words.read_line();
  if (!ready || ready->find("waiting for a run") == std::string_view::npos)
    throw std::runtime_error("the watcher says: " + std::string(ready.value_or("")));
  Process training({"/proc/self/exe", "--train", running.name, run, std::to_string(steps)},
                   {-1, -1, moments.descriptor()});
  while (const auto line = lines.read_line()) arrivals.take(*line, lines.arrived());
  while (const auto line = words.read_line())
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line->size()), line->data());
  if (training.end() != 0) throw std::runtime_error("the training failed");
  if (watcher.end() != 1) throw std::runtime_error("the watcher did not end as one that fired");
  return arrivals.compare(moments);
}

double quantile_of(const std::vector<Measured>& all, double Measured::*member, double at) {
  std::vector<double> values;
  for (const Measured& one : all) values.push_back(one.*member);
  return quantile(std::move(values), at);
}

void measure_all(const Settings& settings) {
  std::printf("milliseconds from the call that commits a step to the rule's line; %d repetitions\n",
              settings.repetitions);
  std::printf("%-22s %6s %8s %8s %8s %8s %8s %8s %8s %8s %8s\n", "case", "steps", "a step",
              "its call", "p50", "p90", "p99", "q1", "q3", "most", "at end");
  for (const Case& running : kCases) {
    if (std::string_view(running.name).find(settings.only) == std::string_view::npos) continue;
    std::vector<Measured> all;
    for (int i = 0; i < settings.repetitions; ++i) all.push_back(measure(settings, running));
    std::printf("%-22s %6d", running.name, settings.steps * running.times_longer);
    const auto print = [&all](double Measured::*member, double at) {
      std::printf(" %8.2f", quantile_of(all, member, at));
    };
    for (double Measured::*member :
         {&Measured::step, &Measured::call, &Measured::p50, &Measured::p90, &Measured::p99})
      print(member, 0.5);
    print(&Measured::p99, 0.25);
    print(&Measured::p99, 0.75);
    print(&Measured::most, 0.5);
    print(&Measured::last, 0.5);
    std::printf("\n");
    std::fflush(stdout);
  }
}

std::optional<Settings> settings_of(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    const auto number = [&](int least) {
      const std::int64_t given = number_in(argv[i + 1]);
      return given >= least && given <= 1'000'000 ? static_cast<int>(given) : -1;
    };
    if (option == "--cupel") {
      settings.cupel = argv[i + 1];
    } else if (option == "--steps") {
      settings.steps = number(2);
    } else if (option == "--repetitions") {
      settings.repetitions = number(1);
    } else if (option == "--jobs") {
      settings.jobs = number(1);
    } else if (option == "--only") {
      settings.only = argv[i + 1];
    } else {
      return std::nullopt;
    }
  }
  if (argc % 2 == 0 || std::min({settings.steps, settings.repetitions, settings.jobs}) < 0)
    return std::nullopt;
  return settings;
}

int run(int argc, char** argv) {
  if (argc == 5 && std::string_view(argv[1]) == "--train") {
    const Case* const running = find_case(argv[2]);
    const std::int64_t steps = number_in(argv[4]);
    if (running == nullptr || steps < 2) return 2;
    return train(*running, argv[3], static_cast<std::size_t>(steps));
  }
  const auto settings = settings_of(argc, argv);
  if (!settings) {
    std::fprintf(
        stderr,
        "delay_bench [--cupel FILE] [--steps N] [--repetitions N] [--jobs N] [--only TEXT]\n");
    return 2;
  }
  measure_all(*settings);
  return 0;
}

}  // namespace
}  // namespace cupel

int main(int argc, char** argv) {
  try {
    return cupel::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "delay_bench: %s\n", error.what());
    return 1;
  }
}
