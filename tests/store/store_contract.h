#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/store/store.h"

namespace cupel::testing {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A store to test, with whatever it stands on; both go when it does.
struct StoreUnderTest {
  virtual ~StoreUnderTest() = default;
  virtual Store& store() = 0;
};

/// `make` returns null where what the store stands on is not there.
struct StoreCase {
  std::string name;
  std::function<std::unique_ptr<StoreUnderTest>()> make;
};

/// What every store must do, told in store_contract.cc. A further store joins by compiling that
/// and instantiating the suite with its own StoreCase:
///
///     INSTANTIATE_TEST_SUITE_P(S3, StoreContract, ::testing::Values(StoreCase{"s3", make_s3}),
///     name_of_case);
class StoreContract : public ::testing::TestWithParam<StoreCase> {
 protected:
  void SetUp() override {
    if (!under_test_) GTEST_SKIP() << "what this store stands on is not here";
  }

  Store& store() { return under_test_->store(); }

  void put(std::string_view key, std::string_view text) { store().put(key, bytes_of(text)); }
  void append(std::string_view key, std::uint64_t size, const std::vector<std::string>& texts) {
    std::vector<std::span<const std::byte>> pieces;
    for (const std::string& text : texts) pieces.push_back(bytes_of(text));
    store().append(key, size, pieces);
  }
  /// The object as text, "(absent)" if there is none.
  std::string content(std::string_view key) {
    const auto bytes = store().get(key);
    return bytes ? text_of(*bytes) : "(absent)";
  }
  std::string range(std::string_view key, std::uint64_t offset, std::size_t size) {
    std::string text(size, '?');
    const auto out = std::as_writable_bytes(std::span(text));
    text.resize(store().get_range(key, offset, out));
    return text;
  }
  std::vector<std::string> keys(std::string_view prefix, std::string_view after = {}) {
    std::vector<std::string> result;
    for (const ObjectInfo& info : store().list(prefix, after)) result.push_back(info.key);
    return result;
  }
  std::string identity(std::string_view key) { return store().stat(key).value().identity; }

 private:
  std::unique_ptr<StoreUnderTest> under_test_ = GetParam().make();
};

inline std::string name_of_case(const ::testing::TestParamInfo<StoreCase>& row) {
  return row.param.name;
}

/// What holds of a store that appends, beside the rest.
class AppendingStoreContract : public StoreContract {};

}  // namespace cupel::testing
