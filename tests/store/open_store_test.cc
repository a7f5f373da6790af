#include "cupel/store/open_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "cupel/core/error.h"
#include "cupel/store/local_store.h"
#include "cupel/store/memory_store.h"
#include "store/directory_scheme.h"
#include "store/scratch_directory.h"
#include "store/store_contract.h"

namespace cupel {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
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

TEST(OpenStore, a_program_of_single_rooms_has_no_scheme_and_reports_what_to_link) {
  EXPECT_THAT(built_in_schemes(), IsEmpty());
  EXPECT_THAT([] { open_store("s3://bucket/run"); },
              ThrowsMessage<UsageError>("This program cannot open s3:// locations, only "
                                        "directories; link cupel::cupel, or pass a StoreScheme: "
                                        "s3://bucket/run"));
}

TEST(OpenStore, the_scheme_of_that_name_opens_the_location) {
  const testing::ScratchDirectory scratch;
  const std::string location = "dir://" + scratch.path();
  const StoreSchemes schemes = {{"no", nullptr}, testing::directory_scheme()};
  const auto store = open_store(" " + location + "\n", schemes);
  EXPECT_EQ(store->location(), location);
  store->put("a", testing::bytes_of("x"));
  EXPECT_TRUE(std::filesystem::exists(scratch / "a"));
}

TEST(OpenStore, paths_are_directories_whatever_the_schemes) {
  EXPECT_EQ(open_store("runs/mnist", {testing::directory_scheme()})->location(), "runs/mnist");
}

TEST(OpenStore, a_scheme_that_is_not_among_those_given_is_refused_with_the_known_ones) {
  EXPECT_THAT([] { open_store("s3://bucket/run", {testing::directory_scheme()}); },
              ThrowsMessage<UsageError>("This program cannot open s3:// locations, only "
                                        "directories, dir://: s3://bucket/run"));
}

TEST(OpenStore, stores_are_not_copied) {
  static_assert(!std::is_copy_constructible_v<LocalStore> &&
                !std::is_copy_assignable_v<LocalStore>);
  static_assert(!std::is_copy_constructible_v<MemoryStore> &&
                !std::is_copy_assignable_v<MemoryStore>);
  static_assert(!std::is_move_constructible_v<MemoryStore>);
  static_assert(!std::is_copy_constructible_v<Watch>);
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
