#include "cupel/trial/copy_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <stop_token>
#include <thread>

#include "core/log_capture.h"
#include "cupel/core/error.h"
#include "cupel/store/local_store.h"
#include "cupel/trial/verify_run.h"
#include "cupel/writer/hook.h"
#include "store/scratch_directory.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> keys_of(const Store& store) {
  std::vector<std::string> keys;
  for (const ObjectInfo& info : store.list("")) keys.push_back(info.key);
  return keys;
}

/// What queries over a run answer.
std::string described(const Trial& trial) {
  std::string text = trial.ended() ? "ended" : "running";
  for (const std::string& worker : trial.workers()) text += ' ' + worker;
  for (const auto& [name, collection] : trial.collections())
    text += ' ' + name + std::to_string(collection.tensor_names().size());
  for (const std::int64_t step : trial.steps()) {
    for (const std::string& name : trial.tensor_names({.step = step})) {
      text += '\n' + std::to_string(step) + ' ' + name;
      for (const std::string& worker : trial.tensor(name).workers(step)) {
        const TensorValue value = trial.tensor(name).value(step, Mode::Global, worker);
        for (std::int64_t i = 0; i < value.shape().elements(); ++i)
          text += ' ' + std::to_string(value.at(i));
      }
    }
  }
  return text;
}
std::string described(const std::shared_ptr<const Store>& store) {
  return described(MemoryRun::open_over(store));
}

/// A run, and where it is copied to.
struct CopiedRun : MemoryRun {
  std::shared_ptr<MemoryStore> copy = std::make_shared<MemoryStore>();
  WorkerWriter writer = worker();

  /// A sealed segment and an open one.
  CopiedRun& two_segments() {
    writer.collection("weights", {"w"});
    for (const std::int64_t step : {0, 1, 2, 3}) {
      writer.save(step, {filled("w", 50, static_cast<float>(step)), scalar("loss", 1)});
      if (step == 1) writer.seal();
    }
    return *this;
  }
};

// Zeros that use no disk: who copied or read them would take minutes and the space of a terabyte.
TEST(CopyRun, what_lies_behind_the_values_of_a_sparse_file_is_neither_read_nor_copied) {
  CopiedRun run;
  run.two_segments();
  const ScratchDirectory sparse, copied;
  LocalStore from(sparse.path()), to(copied.path());
  for (const ObjectInfo& info : run.store->list("")) from.put(info.key, *run.store->get(info.key));
  for (const ObjectInfo& info : run.store->list(kEventsPrefix))
    std::filesystem::resize_file(sparse / info.key, std::uintmax_t{1} << 40U);
  const CopyReport report = copy_run(from, to);
  EXPECT_LT(report.bytes, 100'000U);
  for (const ObjectInfo& info : to.list("")) EXPECT_LT(info.size, 100'000U) << info.key;
  EXPECT_EQ(verify_run(to).damages(), 0U);
  EXPECT_EQ(described(std::make_shared<LocalStore>(copied.path())),
            described(std::make_shared<LocalStore>(sparse.path())));
  EXPECT_GE(verify_run(from).damages(), 1U);  // the sealed file does not end where it should
}

// A tensor that is saved again in a step, with a value that lives in the index, leaves the former
// value in the batch.
TEST(CopyRun, a_long_value_that_no_row_has_any_more_does_not_matter) {
  const ScratchDirectory written;
  const auto from = std::make_shared<LocalStore>((written / "run").string());
  const auto to = std::make_shared<MemoryStore>();
  const LogCapture log;
  HookOptions options;
  options.out_dir = (written / "run").string();
  options.save_all = true;
  options.save_config = {.save_interval = 1};
  const std::vector<float> small(100, 1), big(std::size_t{5} << 18U, 1);
  {
    Hook hook(options);
    hook.next_step();
    hook.save_tensor("a", TensorView(small.data(), {small.size()}));
    hook.save_tensor("b", TensorView(big.data(), {big.size()}));
    hook.save_scalar("b", 1);
  }
  copy_run(*from, *to);
  EXPECT_TRUE(verify_run(*to).ok());
  EXPECT_EQ(described(to), described(from));
}

TEST(CopyRun, a_copy_answers_as_the_run_does) {
  CopiedRun run;
  run.two_segments().writer.finish();
  const CopyReport report = copy_run(*run.store, *run.copy);
  EXPECT_EQ(described(run.copy), described(run.store));
  EXPECT_EQ(keys_of(*run.copy), keys_of(*run.store));
  EXPECT_TRUE(verify_run(*run.copy).findings.empty());
  EXPECT_TRUE(report.ended);
  EXPECT_FALSE(report.stopped);
  EXPECT_EQ(report.steps, 4);
  EXPECT_EQ(report.files, keys_of(*run.copy).size());
}

TEST(CopyRun, a_run_that_goes_on_is_copied_as_far_as_it_is_committed) {
  CopiedRun run;
  CUPEL_NEEDS_APPENDING(*run.store);
  run.two_segments();
  const auto next = run.writer.encode(4, {filled("w", 50, 4)});
  run.writer.append_index(std::span(next).first(next.size() - 1));
  const CopyReport report = copy_run(*run.store, *run.copy);
  EXPECT_EQ(described(run.copy), described(run.store));
  EXPECT_TRUE(verify_run(*run.copy).ok());
  EXPECT_FALSE(report.ended);
  EXPECT_EQ(report.steps, 4);
  EXPECT_EQ(run.copy->get(run.writer.index_key())->size() + next.size() - 1,
            run.store->get(run.writer.index_key())->size());
}

TEST(CopyRun, all_attempts_and_workers_come_along) {
  MemoryRun run;
  run.worker({.num_workers = 2}).save_steps({0, 1, 2}).abandon();
  run.worker({.num_workers = 2, .attempt = 1}).save_steps({1, 2, 3}).close();
  run.worker({.worker = "worker_1", .num_workers = 2}).save_steps({0, 1}).close();
  MemoryStore copy;
  EXPECT_FALSE(copy_run(*run.store, copy).ended);
  EXPECT_EQ(keys_of(copy), keys_of(*run.store));
  EXPECT_TRUE(verify_run(copy).ok());
}

TEST(CopyRun, what_does_not_belong_to_the_run_stays_behind) {
  CopiedRun run;
  run.two_segments().writer.finish();
  const auto all = keys_of(*run.store);
  for (const std::string_view key :
       {kStopFile, std::string_view("README"),
        std::string_view("events/0000-000000000/000000000009_x.arrow")})
    run.store->put(key, {});
  copy_run(*run.store, *run.copy);
  EXPECT_EQ(keys_of(*run.copy), all);
}

TEST(CopyRun, refuses_a_destination_that_holds_anything) {
  CopiedRun run;
  run.two_segments().writer.finish();
  run.copy->put("notes", {});
  EXPECT_THROW(copy_run(*run.store, *run.copy), UsageError);
  EXPECT_THAT(keys_of(*run.copy), ElementsAre("notes"));
}

TEST(CopyRun, is_an_error_where_no_run_is_and_leaves_nothing) {
  CopiedRun run;
  run.store->remove(collections_key("worker_0"));
  EXPECT_THROW(copy_run(*run.store, *run.copy), MissingCollectionFiles);
  EXPECT_TRUE(keys_of(*run.copy).empty());
}

/// Calls a function after every change of a store.
class WatchedStore : public StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;
  std::function<void()> changed;
  void put(std::string_view key, std::span<const std::byte> bytes, Durability durability) override {
    StoreWrapper::put(key, bytes, durability);
    changed();
  }
  void append(std::string_view key, std::uint64_t size,
              std::span<const std::span<const std::byte>> pieces) override {
    StoreWrapper::append(key, size, pieces);
    changed();
  }
};

TEST(CopyRun, the_copy_is_undamaged_at_every_moment) {
  CopiedRun run;
  run.two_segments().writer.finish();
  WatchedStore to(run.copy);
  std::vector<std::uint64_t> steps;
  to.changed = [&] {
    const VerifyReport report = verify_run(*run.copy);
    EXPECT_TRUE(report.ok()) << report.findings.front().problem;
    steps.push_back(report.steps);
  };
  copy_run(*run.store, to);
  EXPECT_EQ(steps.back(), 4);
  EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end()));
  EXPECT_THAT(steps, ::testing::Contains(2));
}

TEST(CopyRun, a_segment_that_is_sealed_while_it_is_read_is_read_again) {
  CopiedRun run;
  run.two_segments();
  StoreWrapper from(run.store);
  bool sealed = false;
  from.before_get_range = [&](std::string_view key) {
    if (key == run.writer.index_key() && !std::exchange(sealed, true)) run.writer.seal();
  };
  copy_run(from, *run.copy);
  EXPECT_EQ(run.copy->get(run.writer.index_key()), run.store->get(run.writer.index_key()));
  EXPECT_EQ(described(run.copy), described(run.store));
}

// The mark of the end came after the look at what there is.
TEST(CopyRun, a_run_that_ends_meanwhile_is_copied_as_one_that_goes_on) {
  CopiedRun run;
  run.two_segments();
  StoreWrapper from(run.store);
  bool ended = false;
  from.before_list = [&](std::string_view) {
    if (std::exchange(ended, true)) return;
    run.writer.save(4, {scalar("loss", 2)}).finish();
  };
  EXPECT_FALSE(copy_run(from, *run.copy).ended);
  EXPECT_TRUE(verify_run(*run.copy).ok());
  EXPECT_FALSE(run.copy->stat(kEndMarker));
}

TEST(CopyRun, a_run_that_was_replaced_meanwhile_is_an_error) {
  CopiedRun run;
  run.two_segments();
  StoreWrapper from(run.store);
  from.before_get_range = [&](std::string_view key) {
    if (key != run.writer.events_key()) return;
    run.store->put(collections_key("worker_0"),
                   encode_collections_file({1, "beef", "worker_0", 0, {}}));
  };
  try {
    copy_run(from, *run.copy);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("replaced by another"));
  }
  EXPECT_FALSE(run.copy->stat(run.writer.index_key()));
}

TEST(CopyRun, damage_ends_the_copy_before_the_index_that_has_it) {
  CopiedRun run;
  run.two_segments().writer.finish();
  flip_bit(*run.store, run.writer.index_key(), 900);
  EXPECT_THROW(copy_run(*run.store, *run.copy), FormatError);
  EXPECT_FALSE(run.copy->stat(run.writer.index_key()));
  EXPECT_FALSE(run.copy->stat(kEndMarker));
  EXPECT_TRUE(verify_run(*run.copy).ok());
}

TEST(CopyRun, an_events_file_that_lacks_values_is_damage) {
  CopiedRun run;
  run.two_segments().writer.finish();
  auto bytes = *run.store->get(run.writer.events_key());
  bytes.resize(static_cast<std::size_t>(run.writer.last_location().offset) + 1);
  run.store->put(run.writer.events_key(), bytes);
  try {
    copy_run(*run.store, *run.copy);
    FAIL() << "nothing was thrown";
  } catch (const FormatError& error) {
    EXPECT_EQ(error.file, run.writer.events_key());
    EXPECT_EQ(error.offset, bytes.size());
  }
  EXPECT_FALSE(run.copy->stat(run.writer.index_key()));
}

// Another program takes values without an index for remains, and removes them.
struct TidiedStore : StoreWrapper {
  using StoreWrapper::StoreWrapper;
  void sync(std::string_view key) override {
    StoreWrapper::sync(key);
    if (key.starts_with(kEventsPrefix)) remove(key);
  }
};

TEST(CopyRun, values_that_somebody_removes_meanwhile_are_an_error) {
  CopiedRun run;
  run.two_segments().writer.finish();
  TidiedStore tidied(run.copy);
  EXPECT_THAT([&] { copy_run(*run.store, tidied); },
              ::testing::ThrowsMessage<StoreError>(HasSubstr("another program")));
  EXPECT_TRUE(run.copy->list(kIndexPrefix).empty());
}

TEST(CopyRun, ends_early_when_it_is_told_to_and_leaves_what_is_whole) {
  CopiedRun run;
  run.two_segments().writer.finish();
  std::stop_source source;
  const auto stop_at_first = [&](std::uint64_t, std::uint64_t) { source.request_stop(); };
  const CopyReport report =
      copy_run(*run.store, *run.copy, {.progress = stop_at_first, .stop = source.get_token()});
  EXPECT_TRUE(report.stopped);
  EXPECT_FALSE(report.ended);
  EXPECT_FALSE(run.copy->stat(kEndMarker));
  EXPECT_TRUE(verify_run(*run.copy).ok());
}

/// A store that takes only whole objects.
class WholeObjects : public StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;
  bool can_append() const noexcept override { return false; }
  void append(std::string_view key, std::uint64_t,
              std::span<const std::span<const std::byte>>) override {
    throw StoreError(std::string(key), false, "nothing can be appended here");
  }
};

TEST(CopyRun, puts_whole_objects_where_nothing_can_be_appended) {
  CopiedRun run;
  run.two_segments().writer.finish();
  WholeObjects to(run.copy);
  copy_run(*run.store, to);
  EXPECT_EQ(described(run.copy), described(run.store));
}

// A sparse file may have values of any length.
TEST(CopyRun, values_that_are_too_long_for_one_piece_are_refused_before_they_are_read) {
  constexpr std::uint64_t kLength = std::uint64_t{1} << 40U;
  const ScratchDirectory sparse;
  LocalStore from(sparse.path());
  const SegmentIdentity identity{"cafe", "worker_0", 0, 0};
  const SegmentName name{0, 0, "worker_0"};
  EventsWriter events(identity);
  const EventsValue value{"w", kLength};
  const EventsWriter::Batch batch = events.begin_batch(0, {&value, 1});
  from.append(name.events_key(), 0, std::vector{std::span<const std::byte>(batch.before)});
  std::filesystem::resize_file(sparse / name.events_key(), kLength + (kLength >> 1U));
  IndexWriter index(identity, {});
  IndexRow row;
  row.tensor = "w";
  row.elements = static_cast<std::int64_t>(kLength / 4);
  row.location = ValueLocation{batch.data_offset, kLength, 0};
  from.put(name.index_key(), index.encode_step({0, Mode::Global, 0, 0}, {&row, 1}));
  from.put(collections_key("worker_0"), encode_collections_file({1, "cafe", "worker_0", 0, {}}));
  WholeObjects to(std::make_shared<MemoryStore>());
  EXPECT_THAT([&] { copy_run(from, to); },
              ::testing::ThrowsMessage<StoreError>(HasSubstr("too large to be put in one piece")));
}

TEST(CopyRun, values_longer_than_a_piece_arrive_whole) {
  CopiedRun run;
  std::vector<float> values(std::size_t{5} << 20U);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  run.writer.save(0, {raw_of("w", values)}).finish();
  copy_run(*run.store, *run.copy);
  EXPECT_TRUE(verify_run(*run.copy).findings.empty());
}

TEST(CopyRun, a_run_that_a_hook_is_writing_is_copied_and_verified_again_and_again) {
  constexpr int kCopies = 4;  // while it is written
  constexpr int kStepsForEach = 200;
  const ScratchDirectory scratch;
  const LogCapture log;
  HookOptions options;
  options.out_dir = (scratch / "run").string();
  options.save_all = true;
  options.save_config = {.save_interval = 1};
  options.segment_bytes = 50'000;  // some are sealed under each copy
  options.sync = Sync::Off;
  Hook hook(options);
  const std::vector<float> values(300, 1);
  std::uint64_t trained = 0;
  const auto train = [&] {
    hook.next_step();
    hook.save_tensor("w", TensorView(values.data(), {values.size()}));
    hook.save_scalar("loss", 0.5);
    ++trained;
  };
  train();
  std::atomic<int> copies = 0;
  std::jthread training([&] {
    for (int block = 0; block < kCopies; ++block) {
      for (int i = 0; i < kStepsForEach; ++i) train();
      copies.wait(block);
    }
    hook.close();
  });
  struct LetGo {
    ~LetGo() { done = kCopies, done.notify_all(); }
    std::atomic<int>& done;
  } const let_go{copies};  // also when something is thrown below
  const LocalStore from(options.out_dir);
  std::uint64_t steps = 0;
  for (bool ended = false; !ended; ++copies, copies.notify_all()) {
    LocalStore to((scratch / ("copy" + std::to_string(copies))).string());
    const CopyReport report = copy_run(from, to);
    const VerifyReport verified = verify_run(to);
    EXPECT_TRUE(verified.ok()) << verified.findings.front().problem;
    EXPECT_EQ(verified.steps, report.steps);
    EXPECT_GE(report.steps, steps);
    const VerifyReport source = verify_run(from);
    EXPECT_TRUE(source.ok()) << source.findings.front().problem;
    EXPECT_GE(source.steps, report.steps);
    steps = report.steps;
    ended = report.ended;
  }
  training.join();
  EXPECT_EQ(steps, trained);
}

}  // namespace
}  // namespace cupel::testing
