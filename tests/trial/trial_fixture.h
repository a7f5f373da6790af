#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "cupel/store/memory_store.h"
#include "cupel/store/open_store.h"
#include "cupel/trial/trial.h"
#include "store/request_store.h"
#include "store/wrapped_store.h"
#include "trial/run_builder.h"

namespace cupel::testing {

using Steps = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

/// The store that the suites run over: memory, unless CUPEL_TEST_STORE says otherwise. "requests"
/// is memory as it would be far away; "synced" is the same where a program beside the writer puts
/// every file anew that has grown; anything else is a location in which each store has a place of
/// its own.
inline std::shared_ptr<Store> make_test_store() {
  const char* const chosen = std::getenv("CUPEL_TEST_STORE");
  if (chosen == nullptr || *chosen == '\0') return std::make_shared<MemoryStore>();
  if (std::string_view(chosen) == "requests") return std::make_shared<RequestStore>();
  if (std::string_view(chosen) == "synced")
    return std::make_shared<RequestStore>(std::make_shared<MemoryStore>(), Writing::Synced);
  static std::atomic<int> number = 0;
  // Named alike: a run is called by the last part of where it is.
  return open_store(std::string(chosen) + "/" + std::to_string(::getpid()) + "-" +
                    std::to_string(number++) + "/run");
}

/// Where a writer writes what is read from a store: nearly always the store.
inline Store& written_store(Store& store) {
  auto* const requests = dynamic_cast<RequestStore*>(&store);
  return requests != nullptr && requests->is_synced() ? requests->inner() : store;
}

/// How far apart places are that a test tries one after another: `near`, or further where each try
/// asks a server.
inline std::size_t stride(const Store& store, std::size_t near) {
  constexpr std::size_t kFurther = 17;
  return store.location().starts_with("s3://") ? near * kFurther : near;
}

/// Ends a test that is about files that grow where the store has none.
#define CUPEL_NEEDS_APPENDING(store)      \
  if (!written_store(store).can_append()) \
  GTEST_SKIP() << "nothing grows in such a store: segments are put sealed"

/// Options with which queries poll at once and do not wait for missing values, also in a store in
/// which requests cost.
inline TrialOptions prompt(TrialOptions options = {}) {
  options.polling.min_interval = options.polling.max_interval = options.polling.full_interval =
      std::chrono::milliseconds(0);
  options.polling.value_timeout = std::chrono::milliseconds(0);
  return options;
}

/// A run in the test's store with the trial that reads it.
struct MemoryRun {
  std::shared_ptr<Store> store = make_test_store();

  Trial open(TrialOptions options = {}) const { return open_over(store, std::move(options)); }
  /// Reads it through another store.
  static Trial open_over(std::shared_ptr<const Store> through, TrialOptions options = {}) {
    return Trial(std::move(through), prompt(std::move(options)));
  }
  WorkerWriter worker(WorkerSpec spec = {}) const {
    return WorkerWriter(written_store(*store), std::move(spec));
  }
  void end() const { store->put(kEndMarker, {}); }
};

/// A store between which and the reader a test may put something.
class StoreWrapper : public WrappedStore {
 public:
  using WrappedStore::WrappedStore;

  std::function<void(std::string_view key)> before_get_range = [](std::string_view) {};
  std::function<void(std::string_view key)> before_list = [](std::string_view) {};

  std::size_t get_range(std::string_view key, std::uint64_t offset,
                        std::span<std::byte> out) const override {
    before_get_range(key);
    return WrappedStore::get_range(key, offset, out);
  }
  std::vector<ObjectInfo> list(std::string_view prefix, std::string_view after) const override {
    before_list(prefix);
    return WrappedStore::list(prefix, after);
  }
};

}  // namespace cupel::testing
