#include "cupel/s3/s3_store.h"

#include <gmock/gmock.h>

#include <array>
#include <thread>

#include "cupel/core/error.h"
#include "cupel/s3/s3_scheme.h"
#include "cupel/store/open_store.h"
#include "s3/fault_proxy.h"
#include "s3/s3_server.h"
#include "store/store_contract.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using namespace std::chrono_literals;

class S3StoreTest : public S3Test {
 protected:
  void SetUp() override {
    S3Test::SetUp();
    if (!IsSkipped()) proxy_ = std::make_unique<FaultProxy>(server().port());
  }
  FaultProxy& proxy() { return *proxy_; }
  std::unique_ptr<S3Store> open_by_proxy() const { return open_at(proxy_->endpoint(), "run"); }
  /// By the proxy, with these options; its endpoint is filled in.
  std::unique_ptr<S3Store> open_with(S3Options options) const {
    options.endpoint = proxy_->endpoint();
    return std::make_unique<S3Store>(S3Location{bucket(), "run"}, options);
  }

 private:
  std::unique_ptr<FaultProxy> proxy_;
};

std::string pattern(std::size_t size) {
  std::string text(size, '.');
  for (std::size_t i = 0; i < size; i += 101) text[i] = static_cast<char>(i / 101);
  return text;
}

TEST_F(S3StoreTest, open_store_opens_it_by_its_scheme) {
  EnvironmentGuard environment;
  environment.set("AWS_ENDPOINT_URL", server().endpoint());
  const StoreSchemes schemes = {s3_scheme()};
  const auto store = open_store(" s3://" + bucket() + "/a/run/ ", schemes);
  EXPECT_EQ(store->location(), "s3://" + bucket() + "/a/run");
  store->put("b", bytes_of("x"));
  EXPECT_EQ(server().curl().get(bucket(), "a/run/b"), "x");
  EXPECT_THROW(open_store("s3://", schemes), UsageError);
  EXPECT_THROW(open_store("s3://" + bucket()), UsageError);
}

TEST_F(S3StoreTest, a_scheme_has_the_options_of_its_stores) {
  const auto store = open_store("s3://" + bucket() + "/run",
                                {s3_scheme({.endpoint = server().endpoint(), .path_style = true})});
  store->put("b", bytes_of("x"));
  EXPECT_EQ(server().curl().get(bucket(), "run/b"), "x");
}

TEST_F(S3StoreTest, nothing_can_be_appended) {
  const auto store = open();
  EXPECT_FALSE(store->can_append());
  EXPECT_THAT([&] { store->append("a", 0, {}); },
              ThrowsMessage<StoreError>(HasSubstr("nothing can be appended")));
}

TEST_F(S3StoreTest, a_bucket_that_is_not_there_is_named) {
  const S3Store store({"nowhere", "run"}, quick_options(server().endpoint()));
  const auto names_it =
      ThrowsMessage<StoreError>(AllOf(HasSubstr("bucket nowhere"), HasSubstr("NoSuchBucket"),
                                      HasSubstr("creates no buckets"), HasSubstr("HTTP 404")));
  EXPECT_THAT([&] { store.list(""); }, names_it);
  EXPECT_THAT([&] { store.get("a"); }, names_it);
  EXPECT_THAT([&] { const_cast<S3Store&>(store).put("a", {}); }, names_it);
}

TEST_F(S3StoreTest, a_server_that_is_not_there_is_told_after_some_attempts) {
  S3Options options = quick_options("http://127.0.0.1:1");
  options.attempts = 2;
  S3Store store({bucket(), ""}, options);
  try {
    store.put("a", bytes_of("x"));
    FAIL() << "it was written";
  } catch (const StoreError& error) {
    EXPECT_TRUE(error.retryable);
    EXPECT_EQ(error.key, "a");
    EXPECT_THAT(error.what(), AllOf(HasSubstr("cannot be reached"), HasSubstr("2 attempts")));
  }
}

TEST_F(S3StoreTest, a_store_sees_only_what_is_below_its_prefix) {
  for (const char* object : {"run/a", "run/b/c", "run2/a", "ru", "run/x.tmp", "other"})
    server().curl().put(bucket(), object, "x");
  const auto store = open("run");
  std::vector<std::string> keys;
  for (const ObjectInfo& info : store->list("")) keys.push_back(info.key);
  EXPECT_THAT(keys, ElementsAre("a", "b/c"));
}

TEST_F(S3StoreTest, odd_keys_are_written_listed_and_read) {
  const auto store = open("a prefix/+");
  const std::vector<std::string> odd = {
      "a b",         "a%20b", "a+b", "a=b&c", "a?b#c", "a~!*()b", "\xc3\xa4/\xe2\x82\xac",
      "a:b@c,d;e$f", "a\"b"};
  for (const std::string& key : odd) store->put(key, bytes_of(key));
  std::vector<std::string> keys;
  for (const ObjectInfo& info : store->list("")) keys.push_back(info.key);
  // This server writes '&', '<' and '>' into listings in a way that cannot be read back.
  std::erase_if(keys, [](const std::string& key) { return key.find('&') != std::string::npos; });
  std::vector<std::string> expected;
  for (const std::string& key : odd) {
    EXPECT_EQ(text_of(store->get(key).value()), key);
    if (key.find('&') == std::string::npos) expected.push_back(key);
  }
  EXPECT_THAT(keys, ::testing::UnorderedElementsAreArray(expected));
}

TEST_F(S3StoreTest, long_listings_come_page_by_page) {
  const auto store = open_by_proxy();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = t; i < 1'100; i += 4) store->put("k" + std::to_string(10'000 + i), {});
    });
  threads.clear();
  proxy().forget_counts();
  EXPECT_EQ(store->list("").size(), 1'100U);
  EXPECT_EQ(proxy().count("LIST"), 2);
  EXPECT_EQ(store->list("", "k11098").size(), 1U);
  EXPECT_EQ(proxy().count("LIST"), 3);
}

TEST_F(S3StoreTest, each_call_costs_one_request) {
  const auto store = open_by_proxy();
  store->put("a", bytes_of(pattern(1'000)));
  store->get("a");
  std::array<std::byte, 10> first{}, second{};
  std::array<Store::Range, 2> ranges = {{{500, first}, {700, second}}};
  store->get_ranges("a", ranges);
  store->stat("a");
  store->remove("a");
  store->list("", "a");
  EXPECT_EQ(proxy().count("PUT"), 1);
  EXPECT_EQ(proxy().count("GET"), 2);
  EXPECT_EQ(proxy().count("HEAD"), 1);
  EXPECT_EQ(proxy().count("DELETE"), 1);
  EXPECT_EQ(proxy().count("LIST"), 1);
  EXPECT_EQ(proxy().count(""), 6);
}

TEST_F(S3StoreTest, a_large_range_is_read_in_pieces) {
  S3Options options = quick_options("");
  options.read_size = 1'000;
  const auto store = open_with(options);
  const std::string text = pattern(10'500);
  store->put("a", bytes_of(text));
  std::string read(10'600, '?');
  EXPECT_EQ(store->get_range("a", 200, std::as_writable_bytes(std::span(read))), 10'300U);
  EXPECT_EQ(read.substr(0, 10'300), text.substr(200));
  EXPECT_EQ(proxy().count("GET"), 11);
}

/// Parts are 5 MiB at least.
S3Options options_for_parts() {
  S3Options options = quick_options("");
  options.largest_put = 6U << 20U;
  options.part_size = 5U << 20U;
  return options;
}

TEST_F(S3StoreTest, a_large_object_is_uploaded_in_parts) {
  const auto store = open_with(options_for_parts());
  const std::string text = pattern(12U << 20U);
  store->put("a", bytes_of(text));
  EXPECT_EQ(proxy().count("PART"), 3);
  EXPECT_TRUE(server().curl().get(bucket(), "run/a") == text);
  EXPECT_TRUE(text_of(store->get("a").value()) == text);
}

TEST_F(S3StoreTest, an_upload_in_parts_survives_faults) {
  const std::string text = pattern(12U << 20U);
  for (const char* kind : {"BEGIN", "PART", "COMPLETE"})
    for (const Fault fault : {Fault::Unavailable, Fault::ResetRequest, Fault::ResetAnswer}) {
      const auto store = open_with(options_for_parts());
      const std::string key = std::string(kind) + "-" + std::string(name_of(fault));
      proxy().set_schedule(FaultProxy::first(kind, {fault, 100}));
      store->put(key, bytes_of(text));
      EXPECT_TRUE(server().curl().get(bucket(), "run/" + key) == text) << key;
    }
}

TEST_F(S3StoreTest, an_upload_in_parts_that_fails_leaves_nothing) {
  const auto store = open_with(options_for_parts());
  proxy().set_schedule(FaultProxy::first("PART", {Fault::Precondition}, 3));
  EXPECT_THROW(store->put("a", bytes_of(pattern(12U << 20U))), StoreError);
  EXPECT_EQ(proxy().count("ABORT"), 1);
  EXPECT_EQ(server().curl().get(bucket(), "run/a"), std::nullopt);
}

TEST_F(S3StoreTest, who_interrupts_does_not_wait_for_a_silent_server) {
  S3Options options = quick_options("");
  options.silence_limit = 1h;
  const auto store = open_with(options);
  proxy().set_schedule(FaultProxy::always({Fault::SilentBefore}));
  std::jthread interrupter([&] {
    while (proxy().count("PUT") == 0) std::this_thread::yield();
    store->interrupt();
  });
  try {
    store->put("a", bytes_of("x"));
    FAIL() << "it was written";
  } catch (const StoreError& error) {
    EXPECT_TRUE(error.retryable);
    EXPECT_THAT(error.what(), HasSubstr("ended from outside"));
  }
  interrupter.join();
  EXPECT_THROW(store->list(""), StoreError);
}

TEST_F(S3StoreTest, a_watch_asks_seldom_while_nothing_changes) {
  S3Options options = quick_options("");
  options.shortest_look = 50ms;
  options.longest_look = 10min;
  const auto store = open_with(options);
  const auto watch = store->watch();
  EXPECT_FALSE(watch->wait(500ms));
  // One to begin with, then after 50, 150, 350 ms.
  EXPECT_LE(proxy().count("LIST"), 5);
}

TEST_F(S3StoreTest, a_watch_is_woken_while_the_server_is_silent) {
  S3Options options = quick_options("");
  options.silence_limit = 1h;
  const auto store = open_with(options);
  const auto watch = store->watch();
  proxy().set_schedule(FaultProxy::always({Fault::SilentBefore}));
  const std::jthread waker([&] {
    while (proxy().count("LIST") < 2) std::this_thread::yield();
    watch->wake();
  });
  EXPECT_FALSE(watch->wait(1h));
}

TEST_F(S3StoreTest, a_watch_outlives_an_outage) {
  const auto store = open_by_proxy();
  const auto watch = store->watch();
  proxy().set_schedule(FaultProxy::first("LIST", {Fault::Unavailable}, 3));
  server().curl().put(bucket(), "run/a", "x");
  EXPECT_TRUE(watch->wait(20s));
}

}  // namespace
}  // namespace cupel::testing
