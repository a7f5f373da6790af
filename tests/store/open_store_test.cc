#include "cupel/store/open_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"
#include "store/scratch_directory.h"
#include "store/store_contract.h"

namespace cupel {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(OpenStore, a_path_is_a_directory_of_this_machine) {
  const testing::ScratchDirectory scratch;
  open_store(" \t" + scratch.path() + "/run \n")->put("a", testing::bytes_of("x"));
  EXPECT_TRUE(std::filesystem::exists(scratch / "run/a"));
}

TEST(OpenStore, the_location_is_the_text_without_blanks) {
  EXPECT_EQ(open_store(" runs/mnist ")->location(), "runs/mnist");
  EXPECT_EQ(open_store("runs/a://b")->location(), "runs/a://b");
}

TEST(OpenStore, an_unknown_scheme_is_refused_by_name) {
  EXPECT_THAT([] { open_store("s3://bucket/run"); },
              ThrowsMessage<UsageError>(HasSubstr("s3://bucket/run")));
  EXPECT_THROW(open_store("gs://bucket"), UsageError);
}

TEST(OpenStore, an_empty_text_is_refused) {
  EXPECT_THROW(open_store(""), UsageError);
  EXPECT_THROW(open_store(" \n"), UsageError);
}

}  // namespace
}  // namespace cupel
