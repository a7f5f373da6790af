// A training of its own to be stopped: fault_trainer DIR WHAT WHERE FD [ARGUMENT]. WHERE its hook
// lives is static, global, stack or heap, or second: on the heap, made after a hook that saves
// nothing; WHAT happens to it is written below. It tells through FD, in lines: "ack STEP",
// "blocked", "ready", "report DISABLED PROBLEMS ERRORS LAST".

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "cupel/store/local_store.h"
#include "store/wrapped_store.h"
#include "writer/small_training.h"

namespace cupel::testing {
namespace {

int told = -1;
std::atomic<int> errors{0};
std::atomic<bool> blocks{false};
std::optional<Hook> global_hook;

void tell(const std::string& line) {
  const std::string text = line + '\n';
  if (::write(told, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::_Exit(3);
}

// Whether the main thread sleeps, which it does only where a hook's call lets it wait.
bool main_thread_sleeps() {
  std::ifstream file("/proc/" + std::to_string(::getpid()) + "/task/" + std::to_string(::getpid()) +
                     "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t end = text.rfind(')');
  return end != std::string::npos && text.size() > end + 2 && text[end + 2] == 'S';
}

// Blocks for ever in an append below a prefix, once it is told to, and tells so when the main
// thread waits for it.
class BlockingStore final : public WrappedStore {
 public:
  BlockingStore(std::shared_ptr<Store> inner, std::string prefix)
      : WrappedStore(std::move(inner)), prefix_(std::move(prefix)) {}
  void append(std::string_view key, std::uint64_t size,
              std::span<const std::span<const std::byte>> pieces) override {
    if (blocks && !prefix_.empty() && key.starts_with(prefix_)) {
      while (!main_thread_sleeps()) std::this_thread::yield();
      tell("blocked");
      for (;;) ::pause();
    }
    WrappedStore::append(key, size, pieces);
  }

 private:
  std::string prefix_;
};

void report(const HookReport& report) {
  tell("report " + std::to_string(report.disabled) + ' ' + std::to_string(report.problems.size()) +
       ' ' + std::to_string(errors) + ' ' + std::to_string(report.last_committed_step));
}

void leave(int) { std::exit(0); }

int train(Hook& hook, std::string_view what) {
  const SmallTraining training(4);
  if (what == "inside" || what == "idle") static_cast<void>(::signal(SIGTERM, &leave));
  training.run(hook, [&](std::int64_t acknowledged) {
    tell("ack " + std::to_string(acknowledged));
    if (what == "inside" && acknowledged >= 1) blocks = true;
  });
  if (what == "closes" || what == "limited") {
    report(hook.close());
  } else if (what == "idle" || what == "killed") {
    tell("ready");
    for (;;) ::pause();
  }
  if (what == "exits") std::exit(0);
  return 0;
}

int run(int argc, char** argv) {
  const std::string directory = argv[1];
  const std::string_view what = argv[2], where = argv[3];
  const std::string argument = argc > 5 ? argv[5] : "";
  told = std::atoi(argv[4]);
  set_log_sink([](LogLevel level, std::string_view) {
    if (level == LogLevel::Error) ++errors;
  });
  if (what == "limited") {
    const rlim_t bytes = static_cast<rlim_t>(std::atoll(argument.c_str()));
    const rlimit limit{bytes, bytes};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
  }
  const auto store =
      std::make_shared<BlockingStore>(std::make_shared<LocalStore>(directory), argument);
  if (where == "second") {
    ::setenv("USE_SMDEBUG", "0", 1);
    Hook(SmallTraining::options(), store).close();
    ::unsetenv("USE_SMDEBUG");
  }
  if (where == "static") {
    static Hook hook(SmallTraining::options(), store);
    return train(hook, what);
  }
  if (where == "global") {
    global_hook.emplace(SmallTraining::options(), store);
    return train(*global_hook, what);
  }
  if (where == "heap" || where == "second")
    return train(*new Hook(SmallTraining::options(), store), what);
  Hook hook(SmallTraining::options(), store);
  return train(hook, what);
}

}  // namespace
}  // namespace cupel::testing

int main(int argc, char** argv) { return argc < 5 ? 2 : cupel::testing::run(argc, argv); }
