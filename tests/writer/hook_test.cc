#include "cupel/writer/hook.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "cupel/core/crc32c.h"
#include "cupel/format/index_reader.h"
#include "cupel/trial/verify_run.h"
#include "hook_fixture.h"

namespace cupel {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

const std::vector<float> kFour = {1, -2, 3, 4};

TEST_P(AnyHookTest, what_was_saved_is_read_back) {
  auto hook = make_hook();
  hook->next_step();
  hook->save_tensor("fc.weight", view(kFour));
  hook->close();
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(), ElementsAre(0));
  EXPECT_EQ(floats(trial->tensor("fc.weight").value(0)), kFour);
  EXPECT_EQ(trial->tensor("fc.weight").shape(0), Shape({4}));
  EXPECT_TRUE(trial->ended());
}

TEST_P(AnyHookTest, values_of_every_size_come_back_whole) {
  options.buffer_bytes = 1U << 20U;  // chunks of 64 KiB: inline, shared chunk, own chunk, streamed
  options.reduction_config = {
      .reductions = {"max", "median"}, .norms = {"l2"}, .save_raw_tensor = true};
  auto hook = make_hook();
  const std::vector<std::size_t> sizes = {0, 1, 16, 17, 1000, 16384, 16385, 100000, 300000};
  for (int step = 0; step < 3; ++step) {
    hook->next_step();
    for (const std::size_t size : sizes) {
      hook->save_tensor(std::to_string(size) + ".weight",
                        view(ramp(size, static_cast<float>(step))));
    }
  }
  EXPECT_THAT(hook->close().problems, IsEmpty());
  const auto trial = open_trial();
  for (std::int64_t step = 0; step < 3; ++step) {
    for (const std::size_t size : sizes) {
      const Tensor tensor = trial->tensor(std::to_string(size) + ".weight");
      EXPECT_EQ(floats(tensor.value(step)), ramp(size, static_cast<float>(step))) << size;
      if (size == 0) continue;
      EXPECT_EQ(tensor.reduction_value(step, "max"),
                static_cast<double>(step) + static_cast<double>(size) - 1)
          << size;
      EXPECT_EQ(tensor.reduction_value(step, "median"),
                static_cast<double>(step) + (static_cast<double>(size) - 1) / 2);
    }
  }
}

TEST_P(AnyHookTest, large_values_come_back_whole_wherever_they_begin_and_end) {
  constexpr std::size_t kLarge = std::size_t{512} << 10U;  // from here on they go past the caches
  std::vector<std::uint8_t> bytes(2 * kLarge);
  std::uint32_t state = 1;
  for (std::uint8_t& byte : bytes)
    byte = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24U);
  struct Part {
    std::size_t begin, size;
  };
  std::vector<Part> parts;
  for (const std::size_t begin : {0, 1, 15, 16, 63, 64})
    for (const std::size_t size : {kLarge - 1, kLarge, kLarge + 1, kLarge + 63, kLarge + 129})
      parts.push_back({begin, size});
  auto hook = make_hook();
  hook->next_step();
  for (std::size_t i = 0; i < parts.size(); ++i)
    hook->save_tensor(std::to_string(i) + ".weight",
                      TensorView(bytes.data() + parts[i].begin, {parts[i].size}));
  EXPECT_THAT(hook->close().problems, IsEmpty());
  const auto trial = open_trial();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const TensorValue value = trial->tensor(std::to_string(i) + ".weight").value(0);
    EXPECT_TRUE(std::ranges::equal(value.as<std::uint8_t>(),
                                   std::span(bytes).subspan(parts[i].begin, parts[i].size)))
        << parts[i].begin << " " << parts[i].size;
  }
}

TEST_P(AnyHookTest, a_strided_view_is_saved_in_row_major_order) {
  const std::vector<float> columns = {1, 4, 2, 5, 3, 6};
  auto hook = make_hook();
  hook->next_step();
  hook->save_tensor("t.weight", TensorView(columns.data(), DType::F32, {2, 3}, {1, 2}));
  hook->close();
  EXPECT_THAT(floats(open_trial()->tensor("t.weight").value(0)), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_P(AnyHookTest, every_dtype_is_saved_under_its_name) {
  auto hook = make_hook();
  hook->next_step();
  const std::vector<std::byte> zeros(64);
  for (const DType dtype : kAllDTypes) {
    if (dtype != DType::Utf8)
      hook->save_tensor(std::string(to_string(dtype)) + ".weight",
                        TensorView(zeros.data(), dtype, {3}));
  }
  const std::vector<std::string> words = {"one", "", "three"};
  hook->save_tensor("utf8.weight", TensorView(words.data(), {3}));
  hook->close();
  const auto trial = open_trial();
  for (const DType dtype : kAllDTypes) {
    EXPECT_EQ(trial->tensor(std::string(to_string(dtype)) + ".weight").value(0).dtype(), dtype);
  }
  EXPECT_EQ(trial->tensor("utf8.weight").value(0).strings(), words);
}

TEST_P(AnyHookTest, counts_rows_and_bytes_of_values_as_readers_do) {
  auto hook = make_hook();
  for (int step = 0; step < 3; ++step) {
    hook->next_step();
    hook->save_tensor("fc.weight", view(ramp(100)));
    hook->save_scalar("loss", 1);  // in the index, as everything up to 64 bytes
  }
  const HookReport report = hook->close();
  EXPECT_EQ(report.rows, 6);
  EXPECT_EQ(report.value_bytes, 3 * (400U + 8U));
  EXPECT_EQ(open_trial()->totals().rows, report.rows);
  EXPECT_EQ(open_trial()->totals().value_bytes, report.value_bytes);
  const VerifyReport verified = verify_run(*store);
  EXPECT_EQ(verified.rows, static_cast<std::uint64_t>(report.rows));
  EXPECT_EQ(verified.value_bytes, report.value_bytes);
}

TEST_P(AnyHookTest, saves_only_what_a_saved_collection_wants_at_the_step) {
  options.save_config = {.save_interval = 2};
  auto hook = make_hook();
  hook->get_collection("relu").include("relu.*out");
  for (int i = 0; i < 5; ++i) {
    hook->next_step();
    hook->save_tensor("fc.weight", view(kFour));
    hook->save_tensor("relu_out", view(kFour));
  }
  const HookReport report = hook->close();
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 2, 4));
  EXPECT_THAT(trial->tensor_names(), ElementsAre("fc.weight"));
  EXPECT_THAT(report.never_saved, ElementsAre("relu_out"));
  EXPECT_EQ(report.steps_begun, 5);
  EXPECT_EQ(report.steps_committed, 3);
  EXPECT_EQ(report.tensors_saved, 3);
}

TEST_F(HookTest, a_handle_wants_the_steps_that_its_collections_want) {
  options.save_config = {.save_interval = 3};
  auto hook = make_hook();
  const TensorHandle weight = hook->handle("fc.weight");
  const TensorHandle other = hook->handle("other");
  EXPECT_FALSE(hook->wants(weight)) << "before the first step nothing is wanted";
  std::vector<int> wanted;
  for (int i = 0; i < 7; ++i) {
    hook->next_step();
    if (hook->wants(weight)) wanted.push_back(i);
    EXPECT_FALSE(hook->wants(other));
    EXPECT_EQ(hook->wants("fc.weight"), hook->wants(weight));
  }
  EXPECT_THAT(wanted, ElementsAre(0, 3, 6));
}

TEST_F(HookTest, a_tag_puts_a_tensor_into_a_collection_also_for_live_readers) {
  auto hook = make_hook();
  const TensorHandle tagged = hook->handle("kernel", {"weights"});
  hook->next_step();
  hook->save_tensor(tagged, view(kFour));
  hook->save_tensor("later", view(kFour), {"weights", "mine"});
  hook->next_step();
  const auto trial = open_trial();
  EXPECT_THAT(trial->tensor_names({.collection = "weights"}), ElementsAre("kernel", "later"));
  EXPECT_THAT(trial->tensor_names({.collection = "mine"}), ElementsAre("later"));
}

TEST_P(AnyHookTest, a_tag_alone_saves_nothing) {
  auto hook = make_hook();
  hook->next_step();
  hook->save_tensor("kernel", view(kFour), {"mine"});
  EXPECT_THAT(hook->close().never_saved, ElementsAre("kernel"));
}

TEST_F(HookTest, nothing_is_due_between_set_mode_and_the_next_step) {
  auto hook = make_hook();
  hook->set_mode(Mode::Train);
  hook->next_step();
  const TensorHandle weight = hook->handle("fc.weight");
  EXPECT_TRUE(hook->wants(weight));
  hook->set_mode(Mode::Eval);
  EXPECT_FALSE(hook->wants(weight));
  hook->set_mode(Mode::Train);
  EXPECT_TRUE(hook->wants(weight));
}

TEST_P(AnyHookTest, reductions_without_raw_values_save_no_values_and_no_shape) {
  options.reduction_config = {.reductions = {"mean"}, .abs_reductions = {"max"}};
  auto hook = make_hook();
  hook->next_step();
  hook->save_tensor("fc.weight", view(kFour));
  hook->close();
  const auto trial = open_trial();
  const Tensor weight = trial->tensor("fc.weight");
  EXPECT_EQ(weight.reduction_value(0, "mean"), 1.5);
  EXPECT_EQ(weight.reduction_value(0, "max", {.abs = true}), 4);
  EXPECT_EQ(weight.record(0).counts, ValueCounts{});
  EXPECT_THROW(weight.value(0), TensorUnavailableForStep);
  EXPECT_THROW(weight.shape(0), ShapeUnavailableForStep);
  EXPECT_EQ(count(kEventsPrefix), 0);
}

TEST_P(AnyHookTest, scalars_are_saved_at_every_call_whatever_is_configured) {
  options.save_config = {.save_interval = 500};
  auto hook = make_hook();
  hook->save_scalar("early", 7);
  for (int i = 0; i < 3; ++i) {
    hook->next_step();
    hook->save_scalar("lr", 0.5 * i);
  }
  hook->close();
  const auto trial = open_trial();
  EXPECT_THAT(trial->tensor("lr").steps(), ElementsAre(0, 1, 2));
  EXPECT_EQ(trial->tensor("lr").value(2).at(0), 1.0);
  EXPECT_EQ(trial->tensor("lr").value(2).dtype(), DType::F64);
  EXPECT_EQ(trial->tensor("lr").value(2).shape(), Shape());
  EXPECT_THAT(trial->tensor("early").steps(), ElementsAre(0));
}

TEST_P(AnyHookTest, a_scalar_saved_before_any_step_is_there_after_close) {
  auto hook = make_hook();
  hook->save_scalar("early", 7);
  hook->close();
  EXPECT_EQ(open_trial()->tensor("early").value(0).at(0), 7);
}

TEST_P(AnyHookTest, the_last_of_two_saves_of_a_name_in_a_step_stays_and_one_warning_is_logged) {
  auto hook = make_hook();
  for (int i = 0; i < 2; ++i) {
    hook->next_step();
    hook->save_tensor("fc.weight", view(ramp(100)));
    hook->save_tensor("fc.weight", view(kFour));
  }
  hook->close();
  EXPECT_EQ(floats(open_trial()->tensor("fc.weight").value(1)), kFour);
  EXPECT_EQ(logged_.find("more than once"), logged_.rfind("more than once"));
  EXPECT_THAT(logged_, HasSubstr("more than once"));
}

TEST_F(HookTest, next_step_returns_when_the_step_before_is_committed) {
  auto hook = make_hook();
  EXPECT_EQ(hook->committed_step(), -1);
  for (std::int64_t i = 0; i < 4; ++i) {
    hook->next_step();
    EXPECT_EQ(hook->committed_step(), i - 1);
    EXPECT_THAT(open_trial()->steps(), ::testing::SizeIs(i));
    hook->save_tensor("fc.weight", view(ramp(5000)));
  }
}

TEST_F(HookTest, a_commit_that_takes_too_long_is_given_up_waiting_for_and_noted) {
  std::mutex mutex;
  std::condition_variable released;
  bool release = false;
  auto slow = std::make_shared<TamperedStore>(store);
  slow->before_append = [&](std::string_view) {
    std::unique_lock lock(mutex);
    released.wait(lock, [&] { return release; });
  };
  options.commit_timeout = 5ms;
  Hook hook(options, slow);
  hook.next_step();
  hook.save_scalar("loss", 1);
  hook.next_step();
  EXPECT_EQ(hook.committed_step(), -1);
  {
    const std::lock_guard lock(mutex);
    release = true;
    released.notify_all();
  }
  hook.save_scalar("loss", 2);
  const HookReport report = hook.close();
  EXPECT_EQ(report.steps_committed, 2);
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr("not committed within 5 ms")));
  const auto notes = open_trial()->notes();
  ASSERT_EQ(notes.size(), 1);
  EXPECT_THAT(notes[0].text, HasSubstr("commit_timeout"));
}

TEST_F(HookTest, in_the_background_next_step_does_not_wait) {
  std::mutex mutex;
  std::condition_variable released;
  bool release = false;
  auto slow = std::make_shared<TamperedStore>(store);
  slow->before_append = [&](std::string_view) {
    std::unique_lock lock(mutex);
    released.wait(lock, [&] { return release; });
  };
  options.commit = Commit::Background;
  Hook hook(options, slow);
  for (int i = 0; i < 5; ++i) {
    hook.next_step();
    hook.save_scalar("loss", i);
  }
  EXPECT_EQ(hook.committed_step(), -1);
  {
    const std::lock_guard lock(mutex);
    release = true;
    released.notify_all();
  }
  EXPECT_EQ(hook.close().steps_committed, 5);
}

TEST_F(HookTest, a_failing_store_ends_saving_but_not_training) {
  auto failing = std::make_shared<TamperedStore>(store);
  int appends = 0;
  failing->before_append = [&](std::string_view key) {
    if (++appends == 3) throw StoreError(std::string(key), false, "the disk is full");
  };
  Hook hook(options, failing);
  for (int i = 0; i < 6; ++i) {
    hook.next_step();
    hook.save_scalar("loss", i);
  }
  const HookReport report = hook.close();
  EXPECT_TRUE(report.disabled);
  EXPECT_EQ(report.steps_begun, 6);
  EXPECT_EQ(report.last_committed_step, 1);
  EXPECT_THAT(report.problems.front(), HasSubstr("the disk is full"));
  EXPECT_EQ(logged_.find("the disk is full"), logged_.rfind("the disk is full")) << "logged once";
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1));
  EXPECT_FALSE(trial->ended());
}

TEST_F(HookTest, errors_are_let_out_when_asked_for) {
  auto failing = std::make_shared<TamperedStore>(store);
  failing->before_append = [](std::string_view key) {
    throw StoreError(std::string(key), false, "no");
  };
  options.on_error = OnError::Throw;
  Hook hook(options, failing);
  hook.next_step();
  hook.save_scalar("loss", 1);
  EXPECT_THROW(hook.next_step(), StoreError);
}

TEST_P(AnyHookTest, a_view_that_cannot_be_saved_is_reported_once_and_left_out) {
  auto hook = make_hook();
  for (int i = 0; i < 3; ++i) {
    hook->next_step();
    hook->save_tensor("bad.weight", TensorView(static_cast<const float*>(nullptr), {4}));
    hook->save_tensor("good.weight", view(kFour));
  }
  const HookReport report = hook->close();
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr("bad.weight")));
  EXPECT_FALSE(report.disabled);
  EXPECT_THAT(open_trial()->tensor_names(), ElementsAre("good.weight"));
}

TEST_P(AnyHookTest, names_that_cannot_be_are_refused) {
  auto hook = make_hook();
  hook->next_step();
  for (const std::string& name :
       {std::string(), std::string("cupel/note"), std::string(5000, 'x'), std::string("\xff")}) {
    hook->save_scalar(name, 1);
  }
  hook->save_scalar("fine \xc3\xa9\n\"", 1);
  const HookReport report = hook->close();
  EXPECT_EQ(report.problems.size(), 4);
  EXPECT_THAT(open_trial()->tensor_names(), ElementsAre("fine \xc3\xa9\n\""));
}

TEST_P(AnyHookTest, a_name_that_cannot_be_is_reported_once_and_escaped) {
  auto hook = make_hook();
  for (int i = 0; i < 200; ++i) {
    hook->next_step();
    hook->save_tensor("\xff\x1b[2J.weight", view(kFour));
    hook->save_scalar("loss", 1);
  }
  const HookReport report = hook->close();
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr(R"("\xff\x1b[2J.weight")")));
  EXPECT_EQ(logged_.find('\x1b'), std::string::npos);
  EXPECT_EQ(report.steps_committed, 200);
}

TEST_P(AnyHookTest, names_that_cannot_be_leave_room_for_other_problems) {
  auto hook = make_hook();
  hook->next_step();
  for (int i = 0; i < 200; ++i) hook->save_scalar("\xff" + std::to_string(i), 1);
  hook->save_tensor("bad.weight", TensorView(static_cast<const float*>(nullptr), {4}));
  const HookReport report = hook->close();
  EXPECT_THAT(report.problems, SizeIs(11));
  EXPECT_THAT(report.problems[9], HasSubstr("further names"));
  EXPECT_THAT(report.problems.back(), HasSubstr("bad.weight"));
}

TEST_P(AnyHookTest, segments_are_sealed_when_they_are_large) {
  options.segment_bytes = 40000;
  auto hook = make_hook();
  for (int i = 0; i < 10; ++i) {
    hook->next_step();
    hook->save_tensor("fc.weight", view(ramp(5000)));
  }
  hook->close();
  EXPECT_EQ(count(kIndexPrefix), 5);
  EXPECT_EQ(count(kEventsPrefix), 5);
  EXPECT_THAT(open_trial()->steps(), ::testing::SizeIs(10));
}

TEST_F(HookTest, a_segment_is_sealed_by_age_without_further_saves) {
  std::mutex mutex;
  std::condition_variable changed;
  bool sealed = false;
  auto told = std::make_shared<TamperedStore>(store);
  told->before_put = [&](std::string_view key) {
    if (!key.starts_with(kIndexPrefix)) return;
    const std::lock_guard lock(mutex);
    sealed = true;
    changed.notify_all();
  };
  options.segment_age = 10ms;
  Hook hook(options, told);
  hook.next_step();
  hook.save_scalar("loss", 1);
  hook.next_step();
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, 10s, [&] { return sealed; }));
}

TEST_P(AnyHookTest, a_finished_run_is_not_touched_unless_asked) {
  make_hook()->close();
  EXPECT_THROW(make_hook(), UsageError);
  EXPECT_TRUE(store->stat(kEndMarker));
}

TEST_P(AnyHookTest, replace_removes_what_was_there) {
  auto first = make_hook();
  first->next_step();
  first->save_tensor("old.weight", view(ramp(100)));
  first->close();
  options.existing = Existing::Replace;
  auto second = make_hook();
  second->next_step();
  second->save_tensor("new.weight", view(kFour));
  second->close();
  EXPECT_THAT(open_trial()->tensor_names(), ElementsAre("new.weight"));
  EXPECT_EQ(count(kEventsPrefix), 0);
}

TEST_F(HookTest, replacing_one_of_several_workers_leaves_no_values_of_it_behind) {
  const std::string mine = "events/0000-000000000/000000000003_worker_0.arrow";
  const std::string of_another = "events/0000-000000000/000000000003_worker_1.arrow";
  for (const std::string& key : {mine, of_another}) store->put(key, {});
  options.existing = Existing::Replace;
  options.include_workers = "all";
  options.num_workers = 2;
  make_hook();
  EXPECT_FALSE(store->stat(mine));
  EXPECT_TRUE(store->stat(of_another));
}

TEST_P(AnyHookTest, a_restart_is_a_new_attempt_whose_steps_hide_the_old_ones) {
  {
    auto killed = make_hook();
    for (int i = 0; i < 5; ++i) {
      killed->next_step();
      killed->save_scalar("loss", i);
    }
    killed->close();
    store->remove(kEndMarker);
  }
  auto hook = make_hook();
  hook->next_step();
  hook->save_scalar("loss", 100);
  hook->close();
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(), ElementsAre(0));
  EXPECT_EQ(trial->tensor("loss").value(0).at(0), 100);
  EXPECT_TRUE(store->stat("index/0001-000000000/000000000000_worker_0.arrow"));
}

TEST_P(AnyHookTest, the_last_of_several_workers_ends_the_run) {
  options.include_workers = "all";
  options.num_workers = 2;
  options.worker = "worker_1";
  auto one = make_hook();
  options.worker = "worker_0";
  auto zero = make_hook();
  one->close();
  EXPECT_FALSE(store->stat(kEndMarker));
  EXPECT_TRUE(store->stat("ended/worker_1"));
  zero->close();
  EXPECT_TRUE(store->stat(kEndMarker));
}

TEST_P(AnyHookTest, only_the_chief_writes_unless_all_are_asked_for) {
  options.num_workers = 2;
  options.worker = "worker_1";
  auto hook = make_hook();
  hook->next_step();
  EXPECT_FALSE(hook->wants("fc.weight"));
  hook->save_scalar("loss", 1);
  hook->close();
  EXPECT_EQ(count(""), 0);
}

TEST_P(AnyHookTest, a_stop_file_is_seen_at_a_step_boundary) {
  auto hook = make_hook();
  hook->next_step();
  EXPECT_FALSE(hook->stop_requested());
  store->put(kStopFile, {});
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (!hook->stop_requested() && std::chrono::steady_clock::now() < until) hook->next_step();
  EXPECT_TRUE(hook->stop_requested());
}

TEST_P(AnyHookTest, illegal_options_are_refused_by_the_constructor) {
  const auto refuses = [&](auto change) {
    HookOptions illegal = options;
    change(illegal);
    EXPECT_THROW(Hook(illegal, store), UsageError);
  };
  refuses([](HookOptions& o) { o.save_config.save_interval = 0; });
  refuses([](HookOptions& o) { o.reduction_config = {.reductions = {"average"}}; });
  refuses([](HookOptions& o) { o.include_workers = "some"; });
  refuses([](HookOptions& o) { o.worker = "../w"; });
  refuses([](HookOptions& o) { o.include_regex = {"("}; });
  refuses([](HookOptions& o) { o.num_workers = 0; });
  EXPECT_THROW(Hook(HookOptions{}), UsageError) << "out_dir is not set";
}

TEST_P(AnyHookTest, several_threads_save_at_once) {
  options.buffer_bytes = 1U << 20U;
  auto hook = make_hook();
  constexpr int kThreads = 4, kTensors = 12;
  for (int step = 0; step < 5; ++step) {
    hook->next_step();
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kTensors; ++i) {
          const std::string name = std::to_string(t) + "." + std::to_string(i) + ".weight";
          hook->save_tensor(name,
                            view(ramp(i == 0 ? 40000 : 3000, static_cast<float>(step + t + i))));
        }
      });
    }
  }
  EXPECT_THAT(hook->close().problems, IsEmpty());
  const auto trial = open_trial();
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kTensors; ++i) {
      const std::string name = std::to_string(t) + "." + std::to_string(i) + ".weight";
      EXPECT_EQ(floats(trial->tensor(name).value(4)),
                ramp(i == 0 ? 40000 : 3000, static_cast<float>(4 + t + i)))
          << name;
    }
  }
}

TEST_P(AnyHookTest, a_second_close_tells_the_same_and_later_saves_do_nothing) {
  auto hook = make_hook();
  hook->next_step();
  hook->save_scalar("loss", 1);
  const HookReport first = hook->close();
  hook->next_step();
  hook->save_scalar("loss", 2);
  EXPECT_EQ(hook->close().tensors_saved, first.tensors_saved);
  EXPECT_EQ(first.tensors_saved, 1);
}

TEST_P(AnyHookTest, more_threads_than_chunks_save_at_once) {
  options.buffer_bytes = 1U << 20U;  // 16 chunks of 64 KiB, of which values may take 14
  auto hook = make_hook();
  constexpr int kThreads = 40;
  for (int step = 0; step < 5; ++step) {
    hook->next_step();
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back(
          [&hook, t] { hook->save_tensor(std::to_string(t) + ".weight", view(ramp(12000))); });
    }
  }
  EXPECT_EQ(hook->close().tensors_saved, 5 * kThreads);
}

TEST_P(AnyHookTest, an_included_collection_may_come_into_being_by_a_tag_in_the_loop) {
  options.include_collections = {"activations"};
  auto hook = make_hook();
  hook->next_step();
  hook->save_tensor("a", view(kFour), {"activations"});
  hook->close();
  EXPECT_THAT(open_trial()->tensor_names({.collection = "activations"}), ElementsAre("a"));
}

TEST_P(AnyHookTest, a_complaint_that_is_thrown_costs_only_its_call) {
  options.on_error = OnError::Throw;
  auto hook = make_hook();
  hook->next_step();
  EXPECT_THROW(hook->save_tensor("bad.weight", TensorView(static_cast<const float*>(nullptr), {4})),
               UsageError);
  hook->save_tensor("good.weight", view(kFour));
  EXPECT_FALSE(hook->close().disabled);
  EXPECT_THAT(open_trial()->tensor_names(), ElementsAre("good.weight"));
}

TEST_P(AnyHookTest, committed_step_still_answers_after_close) {
  auto hook = make_hook();
  hook->next_step();
  hook->save_scalar("loss", 1);
  hook->close();
  EXPECT_EQ(hook->committed_step(), 0);
}

TEST_F(HookTest, a_seal_that_fails_ends_saving_and_leaves_what_was_committed) {
  auto failing = std::make_shared<TamperedStore>(store);
  failing->before_put = [](std::string_view key) {
    if (key.starts_with(kIndexPrefix))
      throw StoreError(std::string(key), false, "the disk is full");
  };
  options.segment_bytes = 1;
  Hook hook(options, failing);
  for (int i = 0; i < 20; ++i) {
    hook.next_step();
    hook.save_scalar("loss", i);
  }
  const HookReport report = hook.close();
  EXPECT_TRUE(report.disabled);
  EXPECT_THAT(report.problems.front(), HasSubstr("the disk is full"));
  EXPECT_THAT(open_trial()->steps(), ::testing::Contains(0));
}

TEST_F(HookTest, a_sealed_segment_names_the_collections_file_that_its_steps_need) {
  options.segment_bytes = 1;  // a segment for each step
  auto hook = make_hook();
  const auto save_step = [&](const std::vector<std::string>& tags) {
    hook->next_step();
    hook->save_tensor("fc.weight", view({1}), tags);
    hook->next_step();
    return crc32c(*store->get(collections_key("worker_0")));
  };
  const auto named_by = [&](std::int64_t first_step) {
    const std::string key = SegmentName{0, first_step, "worker_0"}.index_key();
    const auto bytes = *store->get(key);
    auto file = std::make_shared<AlignedBuffer>(bytes.size());
    std::ranges::copy(bytes, file->data());
    IndexReader reader(key);
    reader.read(file, [](const IndexBatch&) {});
    return reader.collections_crc32c();
  };
  const std::uint32_t first = save_step({}), tagged = save_step({"mine"});
  hook->close();
  EXPECT_EQ(first, tagged) << "what a tensor joins is in the index";
  EXPECT_EQ(named_by(0), first);
  EXPECT_EQ(named_by(2), first);
}

INSTANTIATE_TEST_SUITE_P(Into, AnyHookTest, any_store(), name_of_store);

}  // namespace
}  // namespace cupel
