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
  EXPECT_THAT([] { open_store("gs://bucket/run"); },
              ThrowsMessage<UsageError>(HasSubstr("gs://bucket/run")));
}

TEST(OpenStore, a_program_without_the_room_s3_says_what_to_link) {
  EXPECT_THAT([] { open_store("s3://bucket/run"); },
              ThrowsMessage<UsageError>(HasSubstr("cupel::s3: s3://bucket/run")));
}

TEST(OpenStore, a_scheme_is_a_word_before_two_slashes) {
  EXPECT_EQ(location_scheme(" s3://bucket/a"), "s3");
  EXPECT_EQ(location_scheme("gs://"), "gs");
  for (const char* path : {"", "a", "/a", "s3:/a", "runs/a://b", "./s3://a", "a b://c"})
    EXPECT_EQ(location_scheme(path), "") << path;
}

TEST(OpenStore, an_empty_text_is_refused) {
  EXPECT_THROW(open_store(""), UsageError);
  EXPECT_THROW(open_store(" \n"), UsageError);
}

}  // namespace
}  // namespace cupel
