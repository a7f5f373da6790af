#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/format/layout.h"
#include "cupel/store/memory_store.h"
#include "cupel/trial/trial.h"
#include "cupel/writer/hook.h"
#include "delivery/fake_remote.h"
#include "store/scratch_directory.h"
#include "store/wrapped_store.h"

namespace cupel {

// A store that hands everything on, unless a test wants a call to go wrong.
class TamperedStore final : public testing::WrappedStore {
 public:
  using WrappedStore::WrappedStore;

  std::function<void(std::string_view key)> before_append = [](std::string_view) {};
  std::function<void(std::string_view key)> before_put = [](std::string_view) {};

  void put(std::string_view key, std::span<const std::byte> bytes, Durability durability) override {
    before_put(key);
    WrappedStore::put(key, bytes, durability);
  }
  void append(std::string_view key, std::uint64_t size,
              std::span<const std::span<const std::byte>> pieces) override {
    before_append(key);
    WrappedStore::append(key, size, pieces);
  }
};

// Hooks that write into memory, at once or through a spool, and trials of what they wrote.
class HookTest : public ::testing::Test {
 protected:
  HookTest() {
    set_log_sink(
        [this](LogLevel, std::string_view message) { logged_ += std::string(message) + '\n'; });
    options.save_config = {.save_interval = 1};
    options.include_collections = {"weights", "gradients"};
  }
  ~HookTest() override { set_log_sink({}); }

  // Hooks write to a spool from now on, and what they have written is uploaded to `store`.
  void write_through_spool() {
    remote_ = std::make_shared<testing::FakeRemote>();
    store = remote_->content();
    scratch_spool_.emplace();
    options.spool_dir = scratch_spool_->path();
    options.close_timeout = std::chrono::seconds(30);
  }

  std::unique_ptr<Hook> make_hook() {
    return std::make_unique<Hook>(options, remote_ ? std::shared_ptr<Store>(remote_) : store);
  }
  std::unique_ptr<Trial> open_trial() const { return std::make_unique<Trial>(store); }
  std::size_t count(std::string_view prefix) const { return store->list(prefix).size(); }

  static TensorView view(const std::vector<float>& values) {
    return TensorView(values.data(), {values.size()});
  }
  static std::vector<float> ramp(std::size_t elements, float first = 0) {
    std::vector<float> values(elements);
    std::iota(values.begin(), values.end(), first);
    return values;
  }
  static std::vector<float> floats(const TensorValue& value) {
    const auto span = value.as<float>();
    return {span.begin(), span.end()};
  }

  HookOptions options;
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  std::shared_ptr<testing::FakeRemote> remote_;
  std::string logged_;

 private:
  std::optional<testing::ScratchDirectory> scratch_spool_;
};

enum class Into { Memory, Spool };

// A fixture of hooks for what holds wherever they write to.
template <class Fixture>
class IntoAny : public Fixture, public ::testing::WithParamInterface<Into> {
 protected:
  IntoAny() {
    if (GetParam() == Into::Spool) this->write_through_spool();
  }
  ~IntoAny() override {
    if (this->remote_) {
      EXPECT_THAT(this->remote_->offences(), ::testing::IsEmpty());
    }
  }
};
using AnyHookTest = IntoAny<HookTest>;

inline auto any_store() { return ::testing::Values(Into::Memory, Into::Spool); }
inline std::string name_of_store(const ::testing::TestParamInfo<Into>& info) {
  return info.param == Into::Spool ? "spool" : "memory";
}

}  // namespace cupel
