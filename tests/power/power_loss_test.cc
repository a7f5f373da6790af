// A run is saved to a store that remembers each call, and found again as it is when the power fails
// behind any of them: what was synchronised is there, of the rest some, and nothing is wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/store/memory_store.h"
#include "cupel/writer/hook.h"
#include "damage/damaged_run.h"
#include "power/crash_image.h"
#include "power/recording_store.h"

namespace cupel::testing {
namespace {

constexpr std::int64_t kSteps = 9;
constexpr std::int64_t kMoreSteps = 2;

HookOptions options_with(Sync sync) {
  HookOptions options;
  options.include_collections = {"weights", "late"};
  options.save_config = {.save_interval = 1};
  options.segment_bytes = 9'000;  // some steps
  options.sync = sync;
  options.existing = Existing::Continue;
  return options;
}

// What is saved at a step follows from its number.
void train(Hook& hook, std::int64_t steps, RecordingStore* recording = nullptr) {
  hook.set_mode(Mode::Train);
  std::vector<float> values(300);
  for (std::int64_t i = 0; i < steps; ++i) {
    hook.next_step();
    const std::int64_t step = hook.step();
    if (recording != nullptr) recording->acknowledged(hook.committed_step());
    std::iota(values.begin(), values.end(), static_cast<float>(step));
    hook.save_tensor("fc.weight", TensorView(values.data(), {3, 100}));
    hook.save_tensor("fc.bias.weight", TensorView(values.data(), {3}));
    if (step > 3) hook.save_tensor("tagged", TensorView(values.data(), {100}), {"late"});
    hook.save_scalar("loss", 1.0 / static_cast<double>(step + 1));
  }
}

// Collections grow while a run does.
Reading without_collections(Reading reading) {
  std::erase_if(reading.answers, [](const auto& a) { return a.first.starts_with("collection "); });
  return reading;
}
Reading read_run(const Files& files) { return without_collections(read_all(files)); }

Files files_of(const Store& store) {
  Files files;
  for (const ObjectInfo& info : store.list("")) files[info.key] = *store.get(info.key);
  return files;
}

// The steps of which there are answers.
std::int64_t steps_in(const Reading& reading) {
  return std::ranges::count_if(reading.answers,
                               [](const auto& a) { return a.first.starts_with("step "); });
}

class PowerLoss : public ::testing::TestWithParam<Sync> {
 protected:
  PowerLoss() {
    const auto store = std::make_shared<RecordingStore>();
    {
      Hook hook(options_with(GetParam()), store);
      train(hook, kSteps, store.get());
      hook.close();
      store->acknowledged(kSteps - 1);
    }
    calls_ = store->calls();
    whole_ = read_run(files_of(*store));
    const auto longer = std::make_shared<MemoryStore>();
    Hook hook(options_with(GetParam()), longer);
    train(hook, kSteps + kMoreSteps);
    hook.close();
    longer_ = read_run(files_of(*longer));
  }

  std::string place(std::size_t prefix, Fate fate) const {
    return std::to_string(prefix) + " of " + std::to_string(calls_.size()) + " calls, fate " +
           std::to_string(static_cast<int>(fate)) + ", seed " + std::to_string(seed_);
  }
  std::span<const StoreCall> before(std::size_t prefix) const {
    return std::span(calls_).first(prefix);
  }
  // The greatest step that had been acknowledged by then.
  std::int64_t acknowledged(std::size_t prefix) const {
    std::int64_t step = -1;
    for (const StoreCall& call : before(prefix)) step = std::max(step, call.step);
    return step;
  }
  // Calls `judge` with each image; several of those that chance makes.
  template <class Judge>
  void for_each_image(Judge&& judge) {
    constexpr int kRandomImages = 6;
    for (std::size_t prefix = 0; prefix <= calls_.size() && !HasFailure(); ++prefix) {
      for (const Fate fate : {Fate::Lost, Fate::Kept, Fate::Zeros, Fate::IndexKept,
                              Fate::IndexZeros, Fate::EventsKept, Fate::Random}) {
        for (int i = 0; i < (fate == Fate::Random ? kRandomImages : 1); ++i) {
          SCOPED_TRACE(place(prefix, fate));
          judge(prefix, crash_image(before(prefix), fate, random_));
          ++images_;
        }
      }
    }
    RecordProperty("images", images_);
    std::printf("%d images\n", images_);
  }

  const std::uint64_t seed_ = std::random_device()();
  std::mt19937_64 random_{seed_};
  std::vector<StoreCall> calls_;
  Reading whole_, longer_;
  int images_ = 0;
};

TEST_P(PowerLoss, leaves_steps_out_and_makes_none_wrong) {
  for_each_image([&](std::size_t /*prefix*/, const Files& image) {
    EXPECT_EQ(wrong(read_run(image), whole_), "");
  });
}

TEST_P(PowerLoss, takes_nothing_that_was_synchronised) {
  std::size_t last = 0;
  Reading synced;
  for_each_image([&](std::size_t prefix, const Files& image) {
    // The first image of each prefix is what was synchronised.
    if (images_ == 0 || prefix != last) synced = read_run(image);
    last = prefix;
    const Reading reading = read_run(image);
    EXPECT_EQ(lacking(reading, synced), "");
    if (GetParam() == Sync::Step) {
      EXPECT_GT(steps_in(reading), acknowledged(prefix));
    }
  });
}

TEST_P(PowerLoss, is_followed_by_an_attempt_that_goes_on) {
  for_each_image([&](std::size_t /*prefix*/, const Files& image) {
    const auto store = store_of(image);
    try {
      Hook hook(options_with(GetParam()), store);
      train(hook, kMoreSteps);
    } catch (const FormatError&) {
      // What the run says of itself is damaged, and nobody asked for it to be synchronised.
      EXPECT_EQ(GetParam(), Sync::Off);
      return;
    }
    const Reading reading = read_run(files_of(*store));
    EXPECT_EQ(wrong(reading, longer_), "");
    EXPECT_GE(steps_in(reading), kMoreSteps);
  });
}

// A durable put needs no further call: neither the index nor the collections file, whose put was
// durable as well, is synchronised again.
TEST_P(PowerLoss, a_seal_synchronises_values_and_puts_the_index) {
  std::vector<std::string> synced;
  int seals = 0;
  for (const StoreCall& call : calls_) {
    if (call.kind == StoreCall::Kind::Sync) synced.push_back(call.key);
    if (call.kind != StoreCall::Kind::Put || !call.key.starts_with("index/")) continue;
    ++seals;
    EXPECT_EQ(call.durable, GetParam() != Sync::Off);
  }
  EXPECT_GT(seals, 1);
  if (GetParam() == Sync::Off) {
    EXPECT_THAT(synced, ::testing::IsEmpty());
  } else if (GetParam() == Sync::Seal) {
    EXPECT_THAT(synced, ::testing::SizeIs(seals));
    EXPECT_THAT(synced, ::testing::Each(::testing::StartsWith("events/")));
  } else {
    EXPECT_THAT(synced, ::testing::Not(::testing::Contains(::testing::HasSubstr("collections"))));
  }
}

INSTANTIATE_TEST_SUITE_P(, PowerLoss, ::testing::Values(Sync::Step, Sync::Seal, Sync::Off),
                         [](const auto& row) {
                           return row.param == Sync::Step   ? "synced_each_step"
                                  : row.param == Sync::Seal ? "synced_when_sealed"
                                                            : "never_synced";
                         });

}  // namespace
}  // namespace cupel::testing
