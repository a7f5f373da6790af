#include "cupel/trial/salvage_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/log_capture.h"
#include "cupel/core/error.h"
#include "cupel/format/format_limits.h"
#include "cupel/trial/verify_run.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// "3 w 7.5 7.5 …", a line for each tensor at each step; "3 w -" where there is no value.
std::vector<std::string> rows_of_run(const std::shared_ptr<const Store>& store) {
  const Trial trial = MemoryRun::open_over(store);
  std::vector<std::string> rows;
  for (const std::int64_t step : trial.steps()) {
    for (const std::string& name : trial.tensor_names({.step = step})) {
      for (const TensorRecord& record : trial.tensor(name).records(step)) {
        std::string text = std::to_string(step) + ' ' + name + ' ' + std::string(record.worker);
        if (!record.has_value) text += " -";
        if (record.has_value)
          text += ' ' +
                  std::to_string(trial.tensor(name).value(step, Mode::Global, record.worker).at(0));
        rows.push_back(text);
      }
    }
  }
  return rows;
}

/// A run to be damaged, and where what is whole goes.
struct DamagedRun {
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  std::shared_ptr<MemoryStore> salvaged = std::make_shared<MemoryStore>();
  WorkerWriter writer{*store};

  /// Steps 0 to 5; two segments of three steps.
  DamagedRun& two_segments() {
    writer.collection("weights", {"w"});
    for (std::int64_t step = 0; step < 6; ++step) {
      save(step);
      if (step == 2) {
        first_index = writer.index_key();
        first_events = writer.events_key();
        writer.seal();
      }
    }
    return *this;
  }
  void save(std::int64_t step) {
    const auto value = static_cast<float>(step) + 0.5F;
    writer.save(step, {filled("w", 100, value).with("mean", value), filled("v", 40, value),
                       scalar("loss", value)});
    locations.push_back(writer.last_location());
  }
  SalvageReport salvage() { return salvage_run(*store, *salvaged); }
  /// What is read of the salvaged run, in which nothing may be damaged.
  std::vector<std::string> rows() {
    const VerifyReport verified = verify_run(*salvaged);
    for (const VerifyFinding& finding : verified.findings)
      ADD_FAILURE() << finding.file << " at " << finding.offset << ": " << finding.problem;
    return rows_of_run(salvaged);
  }
  /// What is read of the run, without some lines.
  std::vector<std::string> before(const std::function<bool(const std::string&)>& without = {}) {
    std::vector<std::string> rows = rows_of_run(store);
    if (without) std::erase_if(rows, without);
    return rows;
  }

  std::string first_index, first_events;
  std::vector<ValueLocation> locations;  // of "w", which is written last
};

TEST(SalvageRun, an_undamaged_run_is_written_as_it_is) {
  DamagedRun run;
  run.two_segments().writer.finish();
  const SalvageReport report = run.salvage();
  EXPECT_THAT(report.left_out, IsEmpty());
  EXPECT_TRUE(report.ended);
  EXPECT_EQ(report.segments, 2U);
  EXPECT_EQ(report.steps, 6U);
  EXPECT_EQ(report.rows, 18U);
  EXPECT_EQ(report.values, 18U);
  EXPECT_EQ(report.value_bytes, 6U * (560U + 8U));
  EXPECT_EQ(run.rows(), run.before());
  const Trial trial = MemoryRun::open_over(run.salvaged);
  EXPECT_TRUE(trial.ended());
  EXPECT_TRUE(trial.collection("weights").contains("w"));
}

TEST(SalvageRun, a_damaged_value_is_left_out_and_its_row_stays) {
  DamagedRun run;
  run.two_segments().writer.finish();
  const auto expected = run.before();
  flip_bit(*run.store, run.first_events, run.locations[1].offset + 7);
  const SalvageReport report = run.salvage();
  ASSERT_THAT(report.left_out, SizeIs(1));
  const LeftOut& left = report.left_out[0];
  EXPECT_EQ(left.file, run.first_events);
  EXPECT_EQ(left.offset, run.locations[1].offset);
  EXPECT_EQ(left.rows, 0U);
  EXPECT_EQ(left.values, 1U);
  EXPECT_EQ(left.problem, "the value of w at step 1 does not have its checksum");
  auto rows = expected;
  std::ranges::replace(rows, "1 w worker_0 1.500000", "1 w worker_0 -");
  EXPECT_EQ(run.rows(), rows);
  const Trial trial = MemoryRun::open_over(run.salvaged);
  EXPECT_EQ(trial.tensor("w").reduction_value(1, "mean"), 1.5);
}

TEST(SalvageRun, a_damaged_batch_of_an_open_segment_costs_its_step_alone) {
  DamagedRun run;
  for (std::int64_t step = 0; step < 3; ++step) run.save(step);
  const auto expected = run.before([](const std::string& row) { return row[0] == '1'; });
  const std::string key = run.writer.index_key();
  auto bytes = *run.store->get(key);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t second = text.find("cupel.crc32c=");
  second = text.find("cupel.crc32c=", second + 1);
  flip_bit(*run.store, key, second + 600);
  const SalvageReport report = run.salvage();
  EXPECT_FALSE(report.ended);
  ASSERT_THAT(report.left_out, SizeIs(1));
  EXPECT_EQ(report.left_out[0].file, key);
  EXPECT_EQ(report.left_out[0].rows, 3U);
  EXPECT_EQ(report.left_out[0].after_step, 0);
  EXPECT_EQ(report.left_out[0].before_step, 2);
  EXPECT_EQ(run.rows(), expected);
}

TEST(SalvageRun, a_lost_segment_leaves_the_others_and_no_gap_in_their_numbers) {
  DamagedRun run;
  run.two_segments().writer.finish();
  const auto expected = run.before([](const std::string& row) { return row[0] < '3'; });
  auto bytes = *run.store->get(run.first_index);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  flip_bit(*run.store, run.first_index, text.find("cupel.crc32c=") + 1000);
  const SalvageReport report = run.salvage();
  ASSERT_THAT(report.left_out, SizeIs(1));
  EXPECT_EQ(report.left_out[0].rows, 9U);
  EXPECT_EQ(report.segments, 1U);
  EXPECT_EQ(run.rows(), expected);
}

TEST(SalvageRun, a_file_that_is_gone_is_told_by_the_number_that_is_missing) {
  DamagedRun run;
  run.two_segments().writer.finish();
  run.store->remove(run.first_index);
  const SalvageReport report = run.salvage();
  ASSERT_THAT(report.left_out, SizeIs(1));
  EXPECT_EQ(report.left_out[0].rows, std::nullopt);
  EXPECT_EQ(report.left_out[0].problem, "the segment before this one is missing");
  EXPECT_THAT(run.rows(), SizeIs(9));
}

TEST(SalvageRun, an_events_file_that_is_gone_costs_the_values_alone) {
  DamagedRun run;
  run.two_segments().writer.finish();
  run.store->remove(run.first_events);
  const SalvageReport report = run.salvage();
  EXPECT_THAT(report.left_out, SizeIs(6));
  EXPECT_THAT(report.left_out[0].problem, HasSubstr("lies behind the end of the file"));
  EXPECT_EQ(report.rows, 18U);
  EXPECT_EQ(report.values, 12U);
  EXPECT_THAT(run.rows(), SizeIs(18));
}

TEST(SalvageRun, of_very_many_damaged_values_some_are_told_and_the_others_counted) {
  DamagedRun run;
  for (std::int64_t step = 0; step < 120; ++step)
    run.writer.save(step, {filled("w", 20, 1), scalar("loss", 1)});
  run.writer.finish();
  auto bytes = *run.store->get(run.writer.events_key());
  std::ranges::fill(bytes, std::byte{9});
  run.store->put(run.writer.events_key(), bytes);
  const SalvageReport report = run.salvage();
  ASSERT_THAT(report.left_out, SizeIs(101));
  EXPECT_EQ(report.left_out.back().values, 20U);
  EXPECT_EQ(report.left_out.back().problem, "20 more values");
}

TEST(SalvageRun, what_was_not_there_yet_is_not_left_out) {
  DamagedRun run;
  run.save(0);
  const auto expected = run.before();
  const auto torn = run.writer.encode(1, {scalar("loss", 1)});
  run.writer.append_index(std::span(torn).first(torn.size() / 2));
  EXPECT_THAT(run.salvage().left_out, IsEmpty());
  EXPECT_EQ(run.rows(), expected);
}

TEST(SalvageRun, a_run_that_ended_has_nothing_that_was_not_there_yet) {
  DamagedRun run;
  run.two_segments().writer.finish();
  const std::string key = run.writer.index_key();
  auto bytes = *run.store->get(key);
  bytes.resize(bytes.size() / 2);
  run.store->put(key, bytes);
  const SalvageReport report = run.salvage();
  ASSERT_THAT(report.left_out, SizeIs(1));
  EXPECT_EQ(report.left_out[0].file, key);
  EXPECT_THAT(run.rows(), SizeIs(9));
}

TEST(SalvageRun, what_a_later_attempt_hides_stays_hidden_also_where_its_first_steps_are_lost) {
  DamagedRun run;
  for (std::int64_t step = 0; step < 4; ++step) run.save(step);
  run.writer.abandon();
  WorkerWriter again(*run.store, {.attempt = 1});
  again.save(2, {scalar("loss", 20)});
  const std::string key = again.index_key();
  again.save(3, {scalar("loss", 30)}).seal().save(4, {scalar("loss", 40)}).finish();
  auto bytes = *run.store->get(key);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  flip_bit(*run.store, key, text.find("cupel.crc32c=") + 700);
  const SalvageReport report = run.salvage();
  EXPECT_THAT(report.left_out, Not(IsEmpty()));
  std::vector<std::string> losses = run.rows();
  std::erase_if(losses, [](const std::string& row) { return !row.substr(1).starts_with(" loss"); });
  EXPECT_THAT(losses,
              ElementsAre(StartsWith("0 loss"), StartsWith("1 loss"), StartsWith("4 loss")));
}

TEST(SalvageRun, the_workers_of_a_run_are_salvaged_each_by_itself) {
  DamagedRun run;
  WorkerWriter first(*run.store, {.worker = "worker_0", .num_workers = 2});
  WorkerWriter second(*run.store, {.worker = "worker_1", .num_workers = 2});
  for (WorkerWriter* writer : {&first, &second}) {
    writer->collection("losses", {"loss"});
    writer->save_steps({0, 1}).close();
  }
  run.store->put(kEndMarker, {});
  flip_bit(*run.store, collections_key("worker_1"), 30);
  const SalvageReport report = run.salvage();
  ASSERT_THAT(report.left_out, SizeIs(1));
  EXPECT_EQ(report.left_out[0].file, collections_key("worker_1"));
  EXPECT_THAT(report.left_out[0].problem, HasSubstr("got the collections of worker_0"));
  EXPECT_TRUE(report.ended);
  EXPECT_THAT(run.rows(), SizeIs(4));
}

TEST(SalvageRun, a_run_of_one_worker_whose_collections_are_damaged_has_none) {
  DamagedRun run;
  run.two_segments().writer.finish();
  const auto expected = run.before();
  flip_bit(*run.store, collections_key("worker_0"), 30);
  const SalvageReport report = run.salvage();
  ASSERT_THAT(report.left_out, SizeIs(1));
  EXPECT_THAT(report.left_out[0].problem, HasSubstr("got no collections"));
  EXPECT_EQ(run.rows(), expected);
}

TEST(SalvageRun, a_collections_file_that_is_too_long_is_as_a_damaged_one) {
  DamagedRun run;
  run.two_segments().writer.finish();
  const auto expected = run.before();
  FormatLimits limits;
  limits.collections_file = 5000;
  const format_detail::FormatLimitsForTest low(limits);
  run.store->put(collections_key("worker_0"), std::vector<std::byte>(5001));
  const SalvageReport report = run.salvage();
  ASSERT_THAT(report.left_out, SizeIs(1));
  EXPECT_THAT(report.left_out[0].problem, HasSubstr("too long"));
  EXPECT_EQ(run.rows(), expected);
}

TEST(SalvageRun, any_changed_byte_of_a_small_run_is_survived_and_what_is_written_is_right) {
  DamagedRun whole;
  whole.two_segments().writer.finish();
  const auto expected = whole.before();
  for (const ObjectInfo& info : whole.store->list("")) {
    for (std::uint64_t at = 5; at < info.size; at += 61) {
      DamagedRun run;
      for (const ObjectInfo& other : whole.store->list(""))
        run.store->put(other.key, *whole.store->get(other.key));
      flip_bit(*run.store, info.key, at);
      const SalvageReport report = run.salvage();
      for (const std::string& row : run.rows()) {
        const bool has_no_value = row.ends_with(" -");
        const auto is_it = [&](const std::string& line) {
          return has_no_value ? line.starts_with(row.substr(0, row.size() - 1)) : line == row;
        };
        ASSERT_TRUE(std::ranges::any_of(expected, is_it)) << info.key << " " << at << ": " << row;
      }
      const std::uint64_t lost = 18 - report.values;
      ASSERT_EQ(report.left_out.empty(), lost == 0 && report.rows == 18 && report.ended &&
                                             !info.key.starts_with("collections"))
          << info.key << " " << at;
    }
  }
}

TEST(SalvageRun, needs_an_empty_destination_that_can_append_and_a_run) {
  DamagedRun run;
  run.two_segments().writer.finish();
  run.salvaged->put("something", {});
  EXPECT_THROW(run.salvage(), UsageError);
  RequestStore far;
  EXPECT_THROW(salvage_run(*run.store, far), UsageError);
  MemoryStore nothing, there;
  EXPECT_THROW(salvage_run(nothing, there), MissingCollectionFiles);
}

TEST(SalvageRun, a_stop_ends_it_and_is_told) {
  DamagedRun run;
  run.two_segments().writer.finish();
  std::stop_source stop;
  const SalvageReport report =
      salvage_run(*run.store, *run.salvaged,
                  {.progress = [&](std::uint64_t, std::uint64_t) { stop.request_stop(); },
                   .stop = stop.get_token()});
  EXPECT_TRUE(report.stopped);
  EXPECT_FALSE(run.salvaged->stat(kEndMarker).has_value());
}

}  // namespace
}  // namespace cupel::testing
