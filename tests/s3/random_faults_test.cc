// Random work through a proxy with random faults. What the store says it did must be in the bucket,
// what it says it read must have been there, and nothing else: curl reads the bucket in the end.

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "cupel/core/error.h"
#include "s3/fault_schedules.h"
#include "store/store_contract.h"

namespace cupel::testing {
namespace {

const std::string kAbsent = "(absent)";

/// What may be in the bucket: one content for each key after a call that ended well; after one that
/// failed, what was there before or what was to be.
class Expectation {
 public:
  void done(const std::string& key, const std::string& content) { possible_[key] = {content}; }
  void failed(const std::string& key, const std::string& content) {
    auto& contents = possible_.try_emplace(key, std::set{kAbsent}).first->second;
    contents.insert(content);
  }
  bool allows(const std::string& key, const std::string& content) const {
    const auto found = possible_.find(key);
    return found == possible_.end() ? content == kAbsent : found->second.contains(content);
  }
  /// It was seen, so it is what there is.
  void saw(const std::string& key, const std::string& content) { possible_[key] = {content}; }
  std::set<std::string> keys() const {
    std::set<std::string> result;
    for (const auto& [key, contents] : possible_) result.insert(key);
    return result;
  }

 private:
  std::map<std::string, std::set<std::string>> possible_;
};

class RandomWork {
 public:
  RandomWork(Store& store, unsigned seed) : store_(store), random_(seed) {}

  void step() {
    const std::string key = "run/" + std::to_string(below(6));
    try {
      switch (below(6)) {
        case 0:
          return look(key);
        case 1:
          return remove(key);
        case 2:
          return list();
        case 3:
          return read_part(key);
        default:
          return put(key);
      }
    } catch (const StoreError&) {
      ++failures_;
    }
  }

  const Expectation& expected() const { return expected_; }
  int failures() const { return failures_; }

 private:
  std::size_t below(std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_);
  }

  void put(const std::string& key) {
    std::string content(below(4) == 0 ? 300'000 + below(100'000) : below(2000), '.');
    for (std::size_t i = 0; i < content.size(); i += 7) content[i] = static_cast<char>(random_());
    change(key, content, [&] { store_.put(key, bytes_of(content)); });
  }
  void remove(const std::string& key) {
    change(key, kAbsent, [&] { store_.remove(key); });
  }
  template <class Action>
  void change(const std::string& key, const std::string& content, Action action) {
    expected_.failed(key, content);
    action();
    expected_.done(key, content);
  }

  void look(const std::string& key) {
    const auto bytes = store_.get(key);
    const std::string content = bytes ? text_of(*bytes) : kAbsent;
    EXPECT_TRUE(expected_.allows(key, content)) << key << ", " << content.size() << " bytes";
    expected_.saw(key, content);
  }
  void read_part(const std::string& key) {
    const auto info = store_.stat(key);
    if (!info || info->size < 10) return;
    std::string part(static_cast<std::size_t>(info->size) - 5, '\0');
    const std::size_t got = store_.get_range(key, 5, std::as_writable_bytes(std::span(part)));
    EXPECT_EQ(got, part.size());
    look(key);
    const auto whole = store_.get(key);
    ASSERT_TRUE(whole);
    EXPECT_EQ(part, text_of(*whole).substr(5));
  }
  void list() {
    std::set<std::string> listed;
    for (const ObjectInfo& info : store_.list("")) listed.insert(info.key);
    for (const std::string& key : listed)
      EXPECT_TRUE(expected_.keys().contains(key)) << "phantom " << key;
    for (const std::string& key : expected_.keys())
      EXPECT_TRUE(listed.contains(key) || expected_.allows(key, kAbsent)) << "lost " << key;
  }

  Store& store_;
  std::mt19937 random_;
  Expectation expected_;
  int failures_ = 0;
};

class RandomFaults : public FaultSchedules {
 protected:
  void work_through(unsigned seed, const std::string& bucket);
};

void RandomFaults::work_through(unsigned seed, const std::string& bucket) {
  FaultProxy proxy(server().port(), random_schedule(seed));
  S3Store store({bucket, "some/prefix"}, impatient_options(proxy.endpoint()));
  RandomWork work(store, seed);
  for (int steps = 0; steps < 25 || proxy.hits().size() < kLeastFaults; ++steps) {
    work.step();
    if (HasFailure()) break;
  }
  tell_faults("work of which " + std::to_string(work.failures()) + " calls failed", {&proxy});

  const auto found = server().curl().objects(bucket);
  for (const std::string& key : work.expected().keys()) {
    const auto object = found.find("some/prefix/" + key);
    const std::string& content = object == found.end() ? kAbsent : object->second;
    EXPECT_TRUE(work.expected().allows(key, content)) << key << ", " << content.size() << " bytes";
  }
  for (const auto& [object, content] : found)
    EXPECT_TRUE(work.expected().keys().contains(object.substr(object.find("run/")))) << object;
}

TEST_P(RandomFaults, lose_change_and_invent_nothing) {
  for_each_schedule([&](unsigned seed, const auto& bucket) { work_through(seed, bucket); });
}

INSTANTIATE_TEST_SUITE_P(S3, RandomFaults, FaultSchedules::tests("CUPEL_FAULT_SCHEDULES", 80));

}  // namespace
}  // namespace cupel::testing
