#include "cupel/store/local_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

#include "cupel/core/error.h"
#include "store/file_size_limit.h"
#include "store/scratch_directory.h"
#include "store/store_contract.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;
using testing::bytes_of;
using ::testing::ElementsAre;
using testing::FileSizeLimit;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ScratchDirectory;
using testing::text_of;

class LocalStoreTest : public ::testing::Test {
 protected:
  void put(std::string_view key, std::string_view text) { store_.put(key, bytes_of(text)); }
  void append(std::string_view key, std::uint64_t size, std::string_view text) {
    const auto piece = bytes_of(text);
    store_.append(key, size, {&piece, 1});
  }
  std::string content(std::string_view key) {
    const auto bytes = store_.get(key);
    return bytes ? text_of(*bytes) : "(absent)";
  }
  std::vector<std::string> keys(std::string_view prefix = {}) {
    std::vector<std::string> result;
    for (const ObjectInfo& info : store_.list(prefix)) result.push_back(info.key);
    return result;
  }
  /// The names of all files in a directory, objects or not.
  std::vector<std::string> files_in(const fs::path& directory) {
    std::vector<std::string> result;
    for (const auto& entry : fs::directory_iterator(directory))
      result.push_back(entry.path().filename().string());
    std::ranges::sort(result);
    return result;
  }

  ScratchDirectory scratch_;
  LocalStore store_{scratch_.path()};
};

TEST_F(LocalStoreTest, a_private_store_is_for_its_owner_whatever_the_umask_is) {
  for (const mode_t mask : {0, 077}) {
    const std::string root = (scratch_ / ("private" + std::to_string(mask))).string();
    const mode_t before = ::umask(mask);
    LocalStore store(root, WatchMethod::Notify, FileAccess::Private);
    store.put("put/a", bytes_of("x"));
    const auto piece = bytes_of("x");
    store.append("appended/b", 0, {&piece, 1});
    const auto lock = DirectoryLock::try_acquire(root, ".lock", FileAccess::Private);
    ::umask(before);
    for (const char* const file : {"put/a", "appended/b", ".lock"})
      EXPECT_EQ(static_cast<unsigned>(fs::status(root + "/" + file).permissions()), 0600U) << file;
    for (const char* const folder : {"", "/put", "/appended"})
      EXPECT_EQ(static_cast<unsigned>(fs::status(root + folder).permissions()), 0700U) << folder;
  }
}

TEST_F(LocalStoreTest, a_planted_link_is_neither_appended_to_nor_written_through) {
  scratch_.add_to_file("victim", "untouched");
  fs::create_symlink(scratch_ / "victim", scratch_ / "a");
  EXPECT_THROW(append("a", 0, "x"), StoreError);
  put("a", "new");
  EXPECT_EQ(content("victim"), "untouched");
  EXPECT_EQ(content("a"), "new");
}

TEST_F(LocalStoreTest, a_held_directory_is_not_made_anew) {
  const fs::path root = scratch_ / "run";
  LocalStore store(root.string());
  store.hold_directory();
  store.put("a", bytes_of("x"));
  const auto expect_refusals = [&] {
    EXPECT_THROW(store.put("b", bytes_of("x")), StoreError);
    const auto piece = bytes_of("x");
    EXPECT_THROW(store.append("c", 0, {&piece, 1}), StoreError);
    EXPECT_THROW(store.remove("a"), StoreError);
  };
  fs::rename(root, scratch_ / "moved");
  expect_refusals();
  EXPECT_FALSE(fs::exists(root));
  fs::create_directory(root);
  expect_refusals();
  EXPECT_TRUE(fs::is_empty(root));
  fs::remove(root);
  fs::rename(scratch_ / "moved", root);
  store.put("b", bytes_of("x"));
}

TEST_F(LocalStoreTest, keys_are_paths_below_the_directory) {
  put("a/b", "x");
  EXPECT_EQ(fs::file_size(scratch_ / "a/b"), 1U);
  scratch_.add_to_file("c/d", "yz");
  EXPECT_EQ(content("c/d"), "yz");
}

TEST_F(LocalStoreTest, an_append_behind_a_torn_write_is_refused) {
  append("a", 0, "whole");
  scratch_.add_to_file("a", "to");
  EXPECT_THAT([&] { append("a", 5, "more"); },
              ::testing::ThrowsMessage<StoreError>(
                  ::testing::AllOf(HasSubstr("size 7"), HasSubstr("expected 5"))));
  EXPECT_EQ(content("a"), "wholeto");
}

TEST_F(LocalStoreTest, an_append_that_fails_midway_is_cut_back) {
  append("a", 0, "12345");
  {
    const FileSizeLimit limit(8);
    EXPECT_THROW(append("a", 5, "6789abc"), StoreError);
  }
  EXPECT_EQ(content("a"), "12345");
  append("a", 5, "67");
  EXPECT_EQ(content("a"), "1234567");
}

TEST_F(LocalStoreTest, want_of_room_is_told_from_other_errors) {
  put("a", "12345678");
  const FileSizeLimit limit(10);
  EXPECT_THROW(append("a", 8, "12345678"), StoreFull);
  EXPECT_THROW(put("b", "12345678901"), StoreFull);
  EXPECT_EQ(content("a"), "12345678");
}

TEST_F(LocalStoreTest, an_object_is_cut_back_and_can_be_appended_to_again) {
  put("a", "12345678");
  const std::string identity = store_.stat("a").value().identity;
  store_.cut_back("a", 3);
  append("a", 3, "x");
  EXPECT_EQ(content("a"), "123x");
  EXPECT_EQ(store_.stat("a").value().identity, identity);
  EXPECT_THROW(store_.cut_back("a", 5), StoreError);
  EXPECT_THROW(store_.cut_back("absent", 0), StoreError);
  EXPECT_EQ(content("a"), "123x");
}

TEST_F(LocalStoreTest, free_bytes_are_known_before_the_directory_is_made) {
  const LocalStore later((scratch_ / "not/there").string());
  EXPECT_GT(later.free_bytes(), 0U);
  EXPECT_FALSE(fs::exists(scratch_ / "not"));
}

TEST_F(LocalStoreTest, a_put_that_fails_midway_leaves_the_old_content_and_no_temporary_file) {
  put("a", "old");
  {
    const FileSizeLimit limit(8);
    EXPECT_THROW(put("a", "a new and longer content"), StoreError);
  }
  EXPECT_EQ(content("a"), "old");
  EXPECT_THAT(files_in(scratch_.path()), ElementsAre("a"));
}

TEST_F(LocalStoreTest, a_put_that_cannot_rename_leaves_no_temporary_file) {
  put("a/b", "x");
  EXPECT_THROW(put("a", "y"), StoreError);
  EXPECT_THAT(files_in(scratch_.path()), ElementsAre("a"));
}

TEST_F(LocalStoreTest, errors_carry_key_and_reason) {
  put("a", "x");
  try {
    put("a/b", "y");
    FAIL() << "a file became a directory";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.key, "a/b");
    EXPECT_FALSE(error.retryable);
    EXPECT_THAT(error.what(), HasSubstr("Not a directory"));
  }
  EXPECT_THROW(append("a/b", 0, "y"), StoreError);
}

TEST_F(LocalStoreTest, what_fails_for_want_of_descriptors_may_be_tried_again) {
  put("a", "x");  // UBSan needs descriptors where it meets a type for the first time
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  bool retryable = false;
  try {
    put("a", "x");
  } catch (const StoreError& error) {
    retryable = error.retryable;
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(retryable);
}

TEST_F(LocalStoreTest, devices_are_no_objects) {
  const LocalStore devices("/dev");
  EXPECT_FALSE(devices.stat("null").has_value());
  EXPECT_FALSE(devices.get("null").has_value());
}

TEST_F(LocalStoreTest, what_is_below_a_file_is_absent) {
  put("a", "x");
  EXPECT_EQ(content("a/b"), "(absent)");
  EXPECT_FALSE(store_.stat("a/b").has_value());
  EXPECT_THAT(keys("a/"), IsEmpty());
  EXPECT_NO_THROW(store_.remove("a/b"));
}

TEST_F(LocalStoreTest, directories_and_pipes_are_no_objects) {
  put("a/b", "x");
  ASSERT_EQ(mkfifo((scratch_ / "pipe").c_str(), 0600), 0);
  for (const char* key : {"a", "pipe"}) {
    EXPECT_EQ(content(key), "(absent)");
    EXPECT_FALSE(store_.stat(key).has_value());
    EXPECT_THROW(append(key, 0, "y"), StoreError);
  }
  store_.remove("a");
  EXPECT_THAT(keys(), ElementsAre("a/b"));
}

TEST_F(LocalStoreTest, temporary_and_foreign_names_are_not_listed) {
  put("a/b", "x");
  scratch_.add_to_file("a/b.123.tmp", "half");
  scratch_.add_to_file("a/c\\d", "foreign");
  EXPECT_THAT(keys(), ElementsAre("a/b"));
}

TEST_F(LocalStoreTest, links_below_the_root_are_not_followed) {
  const ScratchDirectory elsewhere;
  elsewhere.add_to_file("secret", "s");
  put("a/b", "x");
  fs::create_directory_symlink(elsewhere.path(), scratch_ / "linked");
  fs::create_symlink(elsewhere / "secret", scratch_ / "a/link");
  EXPECT_THAT(keys(), ElementsAre("a/b"));
  EXPECT_THAT(keys("linked/"), IsEmpty());
  EXPECT_EQ(content("linked/secret"), "(absent)");
  EXPECT_EQ(content("a/link"), "(absent)");
  EXPECT_FALSE(store_.stat("a/link").has_value());
  EXPECT_THROW(put("linked/new", "y"), StoreError);
  EXPECT_THROW(append("a/link", 1, "y"), StoreError);
  store_.remove("linked/secret");
  EXPECT_THAT(files_in(elsewhere.path()), ElementsAre("secret"));
}

TEST_F(LocalStoreTest, put_replaces_a_link_and_not_what_it_leads_to) {
  const ScratchDirectory elsewhere;
  elsewhere.add_to_file("secret", "s");
  fs::create_symlink(elsewhere / "secret", scratch_ / "link");
  put("link", "mine");
  EXPECT_EQ(content("link"), "mine");
  EXPECT_EQ(fs::file_size(elsewhere / "secret"), 1U);
}

TEST_F(LocalStoreTest, the_root_may_be_a_link) {
  fs::create_directory(scratch_ / "real");
  fs::create_directory_symlink(scratch_ / "real", scratch_ / "link");
  LocalStore linked((scratch_ / "link").string());
  linked.put("a", bytes_of("x"));
  EXPECT_EQ(fs::file_size(scratch_ / "real/a"), 1U);
}

/// Returns in another tick of the file system's clock.
void await_next_tick() {
  timespec begin = {};
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &begin);
  do {
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
  } while (std::pair(now.tv_sec, now.tv_nsec) <= std::pair(begin.tv_sec, begin.tv_nsec));
}

TEST_F(LocalStoreTest, a_file_that_is_made_again_under_its_name_has_another_identity) {
  put("a", "x");
  const auto before = store_.stat("a")->identity;
  store_.remove("a");
  await_next_tick();
  append("a", 0, "x");
  EXPECT_NE(store_.stat("a")->identity, before);
}

TEST_F(LocalStoreTest, the_root_is_made_by_the_first_write_only) {
  LocalStore deep((scratch_ / "x/y/z").string());
  EXPECT_THAT(deep.list({}), IsEmpty());
  EXPECT_FALSE(deep.get("a").has_value());
  deep.remove("a");
  EXPECT_FALSE(fs::exists(scratch_ / "x"));
  deep.put("a", bytes_of("x"));
  EXPECT_TRUE(fs::exists(scratch_ / "x/y/z/a"));
}

TEST_F(LocalStoreTest, the_first_append_makes_directories_too) {
  LocalStore deep((scratch_ / "x/y").string());
  const auto piece = bytes_of("x");
  deep.append("b/c/d", 0, {&piece, 1});
  EXPECT_TRUE(fs::exists(scratch_ / "x/y/b/c/d"));
  EXPECT_NO_THROW(deep.sync("b/c/d"));
}

TEST_F(LocalStoreTest, a_relative_root_stays_where_it_was_opened) {
  const fs::path before = fs::current_path();
  fs::current_path(scratch_.path());
  LocalStore relative("runs/mnist/");
  fs::current_path(before);
  relative.put("a", bytes_of("x"));
  EXPECT_TRUE(fs::exists(scratch_ / "runs/mnist/a"));
  EXPECT_EQ(relative.location(), "runs/mnist");
}

TEST_F(LocalStoreTest, a_tilde_is_the_home_directory) {
  const std::string before = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  setenv("HOME", scratch_.path().c_str(), 1);
  LocalStore home("~/runs");
  setenv("HOME", before.c_str(), 1);
  home.put("a", bytes_of("x"));
  EXPECT_TRUE(fs::exists(scratch_ / "runs/a"));
}

TEST_F(LocalStoreTest, a_root_without_a_name_is_refused) {
  EXPECT_THROW(LocalStore(""), UsageError);
  EXPECT_THROW(LocalStore(std::string("a\0b", 3)), UsageError);
}

TEST_F(LocalStoreTest, listing_beside_removal_skips_what_vanishes) {
  for (int i = 0; i < 200; ++i)
    scratch_.add_to_file("d" + std::to_string(i % 20) + "/" + std::to_string(i), "x");
  const std::jthread remover([&] {
    for (const char* directory : {"d7", "d3"}) fs::remove_all(scratch_ / directory);
  });
  std::size_t listed = 200;
  while (listed > 180) ASSERT_NO_THROW(listed = keys().size());
}

TEST(LocalStore, errors_of_the_system_name_the_directory_of_the_store) {
  const testing::ScratchDirectory scratch;
  LocalStore store((scratch / "run").string());
  store.put("a/b", {});
  scratch.add_to_file("file", "x");
  const std::vector<std::function<void()>> failures = {
      [&] { store.put("a", {}); },      // a directory has the name
      [&] { store.put("a/b/c", {}); },  // a file is on the way
      [&] { store.append("a/b/c", 0, {}); },
      [&] { store.cut_back("a/b", 1); },
      [&] { DirectoryLock::try_acquire((scratch / "run").string(), "a"); },
  };
  for (const auto& fail : failures) {
    try {
      fail();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const StoreError& error) {
      EXPECT_EQ(error.location, (scratch / "run").string()) << error.what();
    }
  }
}

}  // namespace
}  // namespace cupel
