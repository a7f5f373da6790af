// A training that forks: the children's hooks do nothing, whatever is called.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cupel/store/local_store.h"
#include "store/scratch_directory.h"
#include "writer/small_training.h"

namespace cupel::testing {
namespace {

namespace fs = std::filesystem;

class Fork : public ::testing::Test {
 protected:
  // Every file of the run with its bytes.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(directory.path())) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      found[entry.path().string()] = std::string(std::istreambuf_iterator<char>(file), {});
    }
    return found;
  }

  // Forks a child that calls everything and exits: how it ended.
  int fork_child() {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);  // a deadlock ends it
      const std::vector<float> values(40000, 1.0F);
      const TensorView view(values.data(), {values.size()});
      const TensorHandle handle = hook->handle("a.weight");
      for (int i = 0; i < 3; ++i) {
        hook->set_mode(i == 1 ? Mode::Eval : Mode::Global);
        hook->save_tensor(handle, view);
        hook->save_tensor("a.weight", view);
        hook->save_tensor("a new name", view, {"mine"});
        hook->save_scalar("loss", i);
        hook->save_inputs("module", std::vector{view});
        static_cast<void>(hook->wants("b.weight"));
        hook->next_step();
      }
      if (!hook->collections_now().empty()) std::exit(18);  // these have a lock
      hook->close();
      hook.reset();
      std::exit(17);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  const SmallTraining training{4};
  const ScratchDirectory directory;
  // Segments that are never full: nothing is sealed while a child is looked at.
  static HookOptions options() {
    HookOptions options = SmallTraining::options();
    options.segment_bytes = 1U << 30U;
    return options;
  }
  std::optional<Hook> hook{std::in_place, options(),
                           std::make_shared<LocalStore>(directory.path())};
};

TEST_F(Fork, a_child_changes_nothing_and_its_parent_goes_on) {
  int children = 0;
  training.run(*hook, [&](std::int64_t) {
    // The step before is committed; of this one nothing is on its way.
    hook->save_scalar("early", 1);
    const auto before = files();
    EXPECT_EQ(fork_child(), 17);
    EXPECT_TRUE(files() == before);
    ++children;
  });
  EXPECT_EQ(fork_child(), 17);  // in the middle of the last step
  const HookReport report = hook->close();
  EXPECT_EQ(children, training.steps());
  EXPECT_FALSE(report.disabled);
  const auto closed = files();
  EXPECT_EQ(fork_child(), 17);
  EXPECT_TRUE(files() == closed);
  const Trial trial(std::make_shared<LocalStore>(directory.path()));
  EXPECT_EQ(trial.steps().size(), training.steps());
  EXPECT_TRUE(trial.ended());
}

TEST_F(Fork, a_child_does_not_wait_for_locks_that_its_parents_threads_hold) {
  hook->next_step();
  std::atomic<bool> over{false};
  std::jthread saving([&] {
    const std::vector<float> values(3000, 1.0F);
    for (int i = 0; !over; ++i)
      hook->save_tensor(std::to_string(i % 500) + ".weight",
                        TensorView(values.data(), {values.size()}));
  });
  for (int i = 0; i < 10; ++i) EXPECT_EQ(fork_child(), 17);
  over = true;
  saving.join();
  EXPECT_FALSE(hook->close().disabled);
}

TEST_F(Fork, a_second_hook_of_the_process_writes_a_run_of_its_own) {
  const ScratchDirectory other;
  Hook second(SmallTraining::options(), std::make_shared<LocalStore>(other.path()));
  training.run(*hook);
  training.run(second);
  EXPECT_FALSE(hook->close().disabled);
  EXPECT_FALSE(second.close().disabled);
  for (const std::string& path : {directory.path(), other.path()}) {
    const Trial trial(std::make_shared<LocalStore>(path));
    EXPECT_EQ(training.examine(trial), "");
    EXPECT_EQ(trial.steps().size(), training.steps());
  }
}

}  // namespace
}  // namespace cupel::testing
