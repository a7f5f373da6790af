#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cupel/core/error.h"
#include "cupel/writer/hook.h"
#include "store/directory_scheme.h"
#include "store/scratch_directory.h"

namespace cupel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(HookSchemes, open_the_run_that_out_dir_names) {
  const ScratchDirectory scratch;
  HookOptions options;
  options.out_dir = "dir://" + scratch.path() + "/run";
  options.schemes = {directory_scheme()};
  Hook hook(options);
  hook.next_step();
  hook.save_scalar("loss", 1);
  EXPECT_TRUE(hook.close().problems.empty());
  EXPECT_TRUE(std::filesystem::exists(scratch / "run/training_job_end.ts"));
}

TEST(HookSchemes, that_do_not_know_out_dir_are_a_mistake) {
  HookOptions options;
  options.out_dir = "dir:///nowhere";
  EXPECT_THAT([&] { Hook hook(options); },
              ThrowsMessage<UsageError>(HasSubstr("cannot open dir:// locations")));
}

}  // namespace
}  // namespace cupel::testing
