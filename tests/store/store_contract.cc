#include "store/store_contract.h"

#include <gmock/gmock.h>

#include <array>
#include <functional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cupel/core/error.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

TEST_P(AppendingStoreContract, says_that_it_appends) { EXPECT_TRUE(store().can_append()); }

TEST_P(StoreContract, an_empty_store_holds_nothing) {
  EXPECT_EQ(content("a/b"), "(absent)");
  EXPECT_FALSE(store().stat("a/b").has_value());
  EXPECT_THAT(keys(""), IsEmpty());
  EXPECT_THAT(keys("a/b/"), IsEmpty());
}

TEST_P(StoreContract, parts_of_an_object_are_read_together) {
  put("a/b", "0123456789");
  std::array<std::byte, 3> first{}, second{}, behind{};
  std::array<Store::Range, 3> ranges = {{{7, first}, {9, second}, {20, behind}}};
  store().will_read("a/b", 2, 100);
  store().will_read("absent", 0, 100);
  store().get_ranges("a/b", ranges);
  EXPECT_EQ(ranges[0].got, 3U);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(first.data()), 3), "789");
  EXPECT_EQ(ranges[1].got, 1U);
  EXPECT_EQ(second[0], std::byte{'9'});
  EXPECT_EQ(ranges[2].got, 0U);
  EXPECT_THROW(store().get_ranges("absent", ranges), StoreError);
}

TEST_P(StoreContract, what_was_put_is_read_back) {
  const std::string binary("\0\xff\n\r\x80", 5);
  put("a/b/c", binary);
  put("empty", "");
  EXPECT_EQ(content("a/b/c"), binary);
  EXPECT_EQ(content("empty"), "");
}

TEST_P(StoreContract, a_large_object_is_read_back) {
  std::string large(8'000'001, 'x');
  for (std::size_t i = 0; i < large.size(); i += 997) large[i] = static_cast<char>(i);
  put("large", large);
  EXPECT_TRUE(content("large") == large);
  EXPECT_EQ(range("large", 8'000'000, 10), large.substr(8'000'000));
}

TEST_P(StoreContract, put_replaces_the_whole_object) {
  put("a", "a long first content");
  store().put("a", bytes_of("short"), Durability::Cached);
  EXPECT_EQ(content("a"), "short");
  EXPECT_EQ(store().stat("a")->size, 5U);
}

TEST_P(StoreContract, readers_see_the_old_content_or_the_new) {
  const std::string contents[] = {std::string(100'000, 'a'), std::string(50'000, 'b')};
  put("a", contents[0]);
  std::jthread writer([&](const std::stop_token& stop) {
    for (std::size_t i = 0; !stop.stop_requested(); ++i)
      store().put("a", bytes_of(contents[i % 2]), Durability::Cached);
  });
  for (int i = 0; i < 50; ++i) EXPECT_THAT(contents, ::testing::Contains(content("a")));
}

TEST_P(AppendingStoreContract, appended_pieces_follow_one_another) {
  append("a/b", 0, {"one ", "", "two "});
  append("a/b", 8, {"three"});
  append("a/b", 13, {});
  EXPECT_EQ(content("a/b"), "one two three");
}

TEST_P(AppendingStoreContract, many_pieces_are_appended_at_once) {
  std::vector<std::string> pieces;
  std::string all;
  for (int i = 0; i < 5000; ++i) all += pieces.emplace_back(std::to_string(i) + ",");
  append("a", 0, pieces);
  EXPECT_EQ(content("a"), all);
}

TEST_P(AppendingStoreContract, an_append_that_expects_another_size_is_refused) {
  put("a", "12345");
  for (const std::uint64_t expected : {0U, 4U, 6U})
    EXPECT_THROW(append("a", expected, {"more"}), StoreError);
  EXPECT_EQ(content("a"), "12345");
}

TEST_P(AppendingStoreContract, an_append_to_an_absent_object_creates_it_only_from_nothing) {
  EXPECT_THROW(append("a/b", 1, {"x"}), StoreError);
  EXPECT_EQ(content("a/b"), "(absent)");
  append("a/b", 0, {"x"});
  EXPECT_EQ(content("a/b"), "x");
}

TEST_P(StoreContract, sync_wants_an_object) {
  put("a/b", "x");
  EXPECT_NO_THROW(store().sync("a/b"));
  EXPECT_THROW(store().sync("a/c"), StoreError);
}

TEST_P(StoreContract, an_object_above_the_limit_is_not_read) {
  put("a", "12345");
  EXPECT_EQ(store().get("a", 5)->size(), 5U);
  EXPECT_THAT([&] { static_cast<void>(store().get("a", 4)); },
              ::testing::ThrowsMessage<StoreError>(HasSubstr("key a")));
}

TEST_P(StoreContract, every_error_names_the_location_and_the_key) {
  put("a/c", "12345");
  const std::vector<std::pair<std::string, std::function<void()>>> failures = {
      {"a/b", [&] { store().sync("a/b"); }},
      {"a/b", [&] { static_cast<void>(range("a/b", 0, 1)); }},
      {"a/c", [&] { static_cast<void>(store().get("a/c", 4)); }},
      {"a/c", [&] { store().append("a/c", 3, {}); }},
  };
  for (const auto& [key, fail] : failures) {
    try {
      fail();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const StoreError& error) {
      EXPECT_EQ(error.location, store().location());
      EXPECT_EQ(error.key, key);
      EXPECT_THAT(error.what(), HasSubstr(store().location() + ", key " + key + ": "));
    }
  }
}

TEST_P(StoreContract, a_range_ends_where_the_object_does) {
  put("a", "0123456789");
  EXPECT_EQ(range("a", 0, 4), "0123");
  EXPECT_EQ(range("a", 4, 6), "456789");
  EXPECT_EQ(range("a", 8, 6), "89");
  EXPECT_EQ(range("a", 10, 6), "");
  EXPECT_EQ(range("a", ~std::uint64_t{0}, 6), "");
  EXPECT_EQ(range("a", 3, 0), "");
}

TEST_P(StoreContract, a_range_of_an_absent_object_is_an_error) {
  try {
    range("a/b", 0, 1);
    FAIL() << "it was read";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.key, "a/b");
    EXPECT_FALSE(error.retryable);
  }
}

TEST_P(StoreContract, stat_and_list_agree) {
  put("a/b", "123");
  const ObjectInfo told = store().stat("a/b").value();
  const ObjectInfo listed = store().list("").at(0);
  EXPECT_EQ(told.key, "a/b");
  EXPECT_EQ(told.size, 3U);
  EXPECT_EQ(listed.key, told.key);
  EXPECT_EQ(listed.size, told.size);
  EXPECT_EQ(listed.identity, told.identity);
}

TEST_P(StoreContract, replacing_by_other_bytes_changes_the_identity) {
  std::set<std::string> identities;
  for (int i = 100; i < 120; ++i) {
    store().put("a", bytes_of(std::to_string(i)), Durability::Cached);
    EXPECT_TRUE(identities.insert(identity("a")).second) << i;
  }
}

TEST_P(AppendingStoreContract, replacing_by_the_same_bytes_changes_the_identity) {
  std::set<std::string> identities;
  for (int i = 0; i < 20; ++i) {
    store().put("a", bytes_of("123"), Durability::Cached);
    EXPECT_TRUE(identities.insert(identity("a")).second) << i;
  }
}

TEST_P(AppendingStoreContract, appending_keeps_the_identity) {
  append("a", 0, {"1"});
  const std::string before = identity("a");
  append("a", 1, {"2"});
  EXPECT_EQ(identity("a"), before);
}

TEST_P(StoreContract, keys_are_listed_in_byte_order) {
  for (const char* key : {"b", "a/b", "a-b", "a/a/z", "a.b", "a0", "\xc3\xa4", "B"}) put(key, "x");
  EXPECT_THAT(keys(""), ElementsAre("B", "a-b", "a.b", "a/a/z", "a/b", "a0", "b", "\xc3\xa4"));
}

TEST_P(StoreContract, a_prefix_need_not_end_at_a_part) {
  for (const char* key : {"index/0000-1/a", "index/0000-2/a", "index/0001-1/a", "indexed", "in"})
    put(key, "x");
  EXPECT_THAT(keys("index/0000"), ElementsAre("index/0000-1/a", "index/0000-2/a"));
  EXPECT_THAT(keys("index/0000-2/"), ElementsAre("index/0000-2/a"));
  EXPECT_THAT(keys("index/0000-2/a"), ElementsAre("index/0000-2/a"));
  EXPECT_THAT(keys("inde").size(), 4U);
  EXPECT_THAT(keys("in").size(), 5U);
  EXPECT_THAT(keys("index/0000-2/ab"), IsEmpty());
  EXPECT_THAT(keys("x"), IsEmpty());
}

TEST_P(StoreContract, listing_after_any_key_gives_the_rest) {
  for (const char* key : {"a-b", "a/1/x", "a/1/y", "a/2/x", "a/2/x.y/z", "a0", "b/1"})
    put(key, "x");
  const auto all = keys("");
  for (const char* after : {"", "a", "a-b", "a/", "a/1", "a/1/", "a/1/x", "a/1/y", "a/10", "a/2/x",
                            "a/2/x.", "a/2/x.y/", "a/2/x/", "a0", "b", "b/0", "b/1", "c"}) {
    std::vector<std::string> rest;
    for (const auto& key : all)
      if (key > after) rest.push_back(key);
    EXPECT_EQ(keys("", after), rest) << after;
  }
  EXPECT_THAT(keys("a/", "a/1/y"), ElementsAre("a/2/x", "a/2/x.y/z"));
  EXPECT_THAT(keys("b", "a/1/y"), ElementsAre("b/1"));
  EXPECT_THAT(keys("a/", "a0"), IsEmpty());
}

TEST_P(StoreContract, removing_is_fine_twice) {
  put("a/b", "x");
  put("a/c", "y");
  store().remove("a/b");
  store().remove("a/b");
  store().remove("x/y");
  EXPECT_EQ(content("a/b"), "(absent)");
  EXPECT_THAT(keys(""), ElementsAre("a/c"));
}

TEST_P(StoreContract, keys_that_could_lead_elsewhere_are_refused) {
  for (const std::string_view key :
       {std::string_view(""), std::string_view("/etc/passwd"), std::string_view("../a"),
        std::string_view("a/../../b"), std::string_view("a/.."), std::string_view("./a"),
        std::string_view("a//b"), std::string_view("a/"), std::string_view("a\\b"),
        std::string_view("a\0b", 3), std::string_view("a.tmp")}) {
    EXPECT_THROW(put(key, "x"), UsageError) << key;
    EXPECT_THROW(static_cast<void>(content(key)), UsageError) << key;
    EXPECT_THROW(range(key, 0, 1), UsageError) << key;
    EXPECT_THROW(static_cast<void>(store().stat(key)), UsageError) << key;
    EXPECT_THROW(store().remove(key), UsageError) << key;
    EXPECT_THROW(store().sync(key), UsageError) << key;
  }
  EXPECT_THROW(append("../a", 0, {"x"}), UsageError);
}

TEST_P(StoreContract, prefixes_that_could_lead_elsewhere_are_refused) {
  for (const char* prefix : {"/", "/etc/", "../", "a/../", "./", "a//b"}) {
    EXPECT_THROW(keys(prefix), UsageError) << prefix;
    EXPECT_THROW(static_cast<void>(store().watch(prefix)), UsageError) << prefix;
  }
  EXPECT_THAT(keys(".."), IsEmpty());
}

TEST_P(StoreContract, a_key_of_1024_bytes_is_the_longest) {
  std::string key;
  while (key.size() + 128 <= 1024) key += std::string(127, 'k') + "/";
  key.back() = 'k';
  put(key, "x");
  EXPECT_THAT(keys("k"), ElementsAre(key));
  EXPECT_THROW(put(key + "k", "x"), UsageError);
}

TEST_P(StoreContract, threads_write_and_read_side_by_side) {
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([this, i] {
      for (int k = 0; k < 10; ++k) {
        const std::string key = "t/" + std::to_string(k) + "/" + std::to_string(i);
        store().put(key, bytes_of(key), Durability::Cached);
        EXPECT_EQ(content(key), key);
        EXPECT_THAT(keys("t/"), ::testing::Contains(key));
      }
    });
  threads.clear();
  EXPECT_EQ(keys("t/").size(), 40U);
}

/// Waits until the watch reports something, and takes all it has to report.
bool reports(Watch& watch) { return watch.wait(20s) && (static_cast<void>(watch.changed()), true); }

TEST_P(StoreContract, a_watch_reports_what_is_put_replaced_and_removed) {
  const auto watch = store().watch();
  put("a/b", "x");
  EXPECT_TRUE(reports(*watch));
  put("a/b", "y");
  EXPECT_TRUE(reports(*watch));
  store().remove("a/b");
  EXPECT_TRUE(reports(*watch));
}

TEST_P(AppendingStoreContract, a_watch_reports_what_is_appended) {
  append("a/b", 0, {"x"});
  const auto watch = store().watch("a/");
  append("a/b", 1, {"y"});
  EXPECT_TRUE(reports(*watch));
}

TEST_P(StoreContract, a_watch_reports_once) {
  const auto watch = store().watch();
  put("a", "x");
  EXPECT_TRUE(watch->wait(20s));
  EXPECT_FALSE(watch->changed());
  EXPECT_FALSE(watch->wait(0ms));
}

TEST_P(StoreContract, a_watch_does_not_report_what_came_before_it) {
  put("a", "x");
  const auto watch = store().watch();
  EXPECT_FALSE(watch->changed());
}

TEST_P(StoreContract, changed_answers_at_once) {
  const auto watch = store().watch("a/");
  EXPECT_FALSE(watch->changed());
  put("a/b", "x");
  EXPECT_TRUE(watch->changed());
  EXPECT_FALSE(watch->changed());
}

TEST_P(StoreContract, a_watch_is_woken_before_or_while_it_waits) {
  const auto watch = store().watch();
  watch->wake();
  EXPECT_FALSE(watch->wait(std::chrono::hours(1)));
  const std::jthread waker([&] { watch->wake(); });
  EXPECT_FALSE(watch->wait(std::chrono::milliseconds::max()));
  EXPECT_FALSE(watch->wait(0ms));
}

TEST_P(StoreContract, a_follower_sees_everything_a_writer_does) {
  constexpr std::size_t kObjects = 30;
  const auto watch = store().watch("run/");
  const std::jthread writer([&] {
    for (std::size_t i = 0; i < kObjects; ++i) {
      const std::string key = "run/" + std::to_string(i / 5) + "/" + std::to_string(i);
      store().put(key, bytes_of("x"), Durability::Cached);
    }
  });
  while (keys("run/").size() < kObjects) ASSERT_TRUE(watch->wait(20s));
}

TEST_P(AppendingStoreContract, a_follower_sees_every_append) {
  constexpr std::uint64_t kAppends = 50;
  const auto watch = store().watch("run/");
  const std::jthread writer([&] {
    for (std::uint64_t i = 0; i < kAppends; ++i) append("run/log", i, {"x"});
  });
  while (store().stat("run/log").value_or(ObjectInfo()).size < kAppends)
    ASSERT_TRUE(watch->wait(20s));
}

}  // namespace
}  // namespace cupel::testing
