#include "cupel/trial/stop_request.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include "cupel/core/error.h"
#include "cupel/writer/hook.h"
#include "store/scratch_directory.h"

namespace cupel {
namespace {

using namespace std::chrono_literals;
using testing::ScratchDirectory;

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Whether a training loop is told to stop before its time is over.
bool stops(Hook& hook) {
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (!hook.stop_requested() && std::chrono::steady_clock::now() < until) hook.next_step();
  return hook.stop_requested();
}

TEST(RequestStop, a_training_loop_sees_it) {
  const ScratchDirectory scratch;
  HookOptions options;
  options.out_dir = (scratch / "run").string();
  Hook hook(options);
  hook.next_step();
  ASSERT_FALSE(hook.stop_requested());
  request_stop(options.out_dir, {"VanishingGradient", 120, "gradient/fc1: 0 < 1e-07"});
  EXPECT_TRUE(stops(hook));
}

TEST(RequestStop, one_from_before_the_training_began_does_not_stop_it_and_its_successor_does) {
  const ScratchDirectory scratch;
  HookOptions options;
  options.out_dir = (scratch / "run").string();
  options.num_workers = 2;
  options.include_workers = "all";
  options.worker = "worker_1";
  request_stop(options.out_dir, {"Old", 1, ""});
  Hook hook(options);
  for (int step = 0; step < 3; ++step) hook.next_step();
  ASSERT_FALSE(hook.stop_requested());
  request_stop(options.out_dir, {"New", 2, ""});
  EXPECT_TRUE(stops(hook));
}

TEST(RequestStop, the_file_says_who_asked_and_why_in_json) {
  const ScratchDirectory scratch;
  request_stop(scratch.path(), {"Old", 7, "a much longer reason than that of its successor"});
  request_stop(scratch.path(), {"A \"quoted\"\n\xff rule", 120, "why"});
  EXPECT_EQ(
      text_of(scratch / "stop_training"),
      "{\"rule\":\"A \\\"quoted\\\"\\n\xef\xbf\xbd rule\",\"step\":120,\"reason\":\"why\"}\n");
}

TEST(RequestStop, a_place_that_cannot_be_written_is_an_error) {
  const ScratchDirectory scratch;
  scratch.add_to_file("file", "in the way");
  EXPECT_THROW(request_stop((scratch / "file").string() + "/run", {"R", 0, ""}), StoreError);
  EXPECT_THROW(request_stop("gopher://host/run", {"R", 0, ""}), UsageError);
}

}  // namespace
}  // namespace cupel
