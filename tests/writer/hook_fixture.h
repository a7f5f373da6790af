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
#include "fake_remote.h"
#include "store/scratch_directory.h"

namespace cupel {

// A store that hands everything on, unless a test wants a call to go wrong.
class TamperedStore final : public Store {
 public:
  explicit TamperedStore(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}
  std::function<void(std::string_view key)> before_append = [](std::string_view) {};
  std::function<void(std::string_view key)> before_put = [](std::string_view) {};

  std::string location() const override { return inner_->location(); }
  void put(std::string_view key, std::span<const std::byte> bytes, Durability durability) override {
    before_put(key);
    inner_->put(key, bytes, durability);
  }
  bool can_append() const noexcept override { return true; }
  void append(std::string_view key, std::uint64_t size,
              std::span<const std::span<const std::byte>> pieces) override {
    before_append(key);
    inner_->append(key, size, pieces);
  }
  void sync(std::string_view key) override { inner_->sync(key); }
  std::optional<std::vector<std::byte>> get(std::string_view key,
                                            std::uint64_t at_most) const override {
    return inner_->get(key, at_most);
  }
  std::size_t get_range(std::string_view key, std::uint64_t offset,
                        std::span<std::byte> out) const override {
    return inner_->get_range(key, offset, out);
  }
  std::vector<ObjectInfo> list(std::string_view prefix, std::string_view after) const override {
    return inner_->list(prefix, after);
  }
  std::optional<ObjectInfo> stat(std::string_view key) const override { return inner_->stat(key); }
  void remove(std::string_view key) override { inner_->remove(key); }
  std::unique_ptr<Watch> watch(std::string_view prefix) const override {
    return inner_->watch(prefix);
  }

 private:
  std::shared_ptr<Store> inner_;
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
