// Whatever a hook commits, readers open: each limit of theirs, at the limit and above. Most limits
// are lowered for a test; the runs with many names have their real size.

#include "cupel/format/format_limits.h"

#include <limits>
#include <string>
#include <vector>

#include "cupel/format/collections_file.h"
#include "cupel/format/index_writer.h"
#include "cupel/trial/salvage_run.h"
#include "cupel/trial/verify_run.h"
#include "hook_fixture.h"

namespace cupel {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Limits = format_detail::FormatLimitsForTest;

class FormatLimitsTest : public HookTest {
 protected:
  // Counts what is put as the collections file.
  void count_collections_puts() {
    auto tampered = std::make_shared<TamperedStore>(store);
    tampered->before_put = [this](std::string_view key) {
      if (key == collections_key("worker_0")) ++collections_puts;
    };
    into = tampered;
  }
  std::unique_ptr<Hook> hook_into() { return std::make_unique<Hook>(options, into ? into : store); }
  CollectionsFile collections_file() const {
    const std::string key = collections_key("worker_0");
    return decode_collections_file(key, *store->get(key, format_limits().collections_file));
  }
  void expect_whole() const {
    const VerifyReport report = verify_run(*store);
    EXPECT_TRUE(report.ok()) << report.findings.front().problem;
  }

  std::shared_ptr<Store> into;
  int collections_puts = 0;
};

// Saves steps of so many scalars, and returns the report.
HookReport save_scalars(Hook& hook, const std::vector<int>& counts) {
  for (const int count : counts) {
    hook.next_step();
    for (int i = 0; i < count; ++i) hook.save_scalar("s" + std::to_string(i), i);
  }
  return hook.close();
}

// What the writer reckons for the rows of such a step, with the note or the overhead beside them.
std::uint64_t bytes_of_step(int count) {
  constexpr std::uint64_t kMost = 200;
  return (64U << 10U) + static_cast<std::uint64_t>(count) * kMost;
}

TEST_F(FormatLimitsTest, a_step_whose_index_rows_no_reader_takes_is_dropped_and_reported) {
  const Limits limits({.index_message = bytes_of_step(100)});
  auto hook = hook_into();
  const HookReport report = save_scalars(*hook, {10, 3000, 10, 4000, 100});
  EXPECT_FALSE(report.disabled);
  EXPECT_EQ(report.steps_committed, 3);
  EXPECT_EQ(report.steps_dropped, 2);
  EXPECT_THAT(report.problems, ElementsAre(AllOf(HasSubstr("step 1 is left out"),
                                                 HasSubstr(std::to_string(bytes_of_step(100))))));
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 2, 4));
  EXPECT_THAT(trial->tensor_names({.step = 4}), SizeIs(100));
  EXPECT_THAT(trial->notes(), SizeIs(2));
  expect_whole();
}

TEST_F(FormatLimitsTest, a_step_that_just_fits_is_read_and_one_row_more_is_refused) {
  // The least limit at which a step of 1000 scalars is committed is found by halving.
  const auto commits = [&](std::uint64_t limit, int count) {
    const Limits limits({.index_message = limit});
    store = std::make_shared<MemoryStore>();
    auto hook = hook_into();
    const bool committed = save_scalars(*hook, {count}).steps_committed == 1;
    if (committed) {
      EXPECT_THAT(open_trial()->tensor_names(), SizeIs(count));
      expect_whole();
    }
    return committed;
  };
  std::uint64_t too_small = 0, fits = bytes_of_step(2000);
  while (fits - too_small > 1) {
    const std::uint64_t middle = (fits + too_small) / 2;
    (commits(middle, 1000) ? fits : too_small) = middle;
  }
  EXPECT_TRUE(commits(fits, 1000));
  EXPECT_FALSE(commits(fits, 1001));
  EXPECT_GT(fits, 100'000U);
}

TEST_F(FormatLimitsTest, a_segment_is_sealed_before_its_index_file_is_too_large_to_be_sealed) {
  const Limits limits({.index_file = 64U << 10U});
  auto hook = hook_into();
  save_scalars(*hook, std::vector<int>(200, 3));
  EXPECT_GT(count(kIndexPrefix), 2U);
  for (const ObjectInfo& info : store->list(kIndexPrefix)) EXPECT_LE(info.size, 64U << 10U);
  EXPECT_THAT(open_trial()->steps(), SizeIs(200));
}

TEST_F(FormatLimitsTest, the_columns_of_an_events_batch_are_cut) {
  const Limits limits({.events_columns = 10'000});
  auto hook = hook_into();
  hook->next_step();
  const std::vector<float> values = ramp(20);
  for (int i = 0; i < 50; ++i)
    hook->save_tensor(std::string(1000, 'n') + std::to_string(i) + ".weight", view(values));
  EXPECT_FALSE(hook->close().disabled);
  EXPECT_THAT(open_trial()->tensor_names(), SizeIs(50));
  expect_whole();
  const Limits lower({.events_columns = 5'000});
  EXPECT_FALSE(verify_run(*store).ok());
}

TEST_F(FormatLimitsTest, a_segment_is_sealed_before_the_footer_of_its_values_is_too_long) {
  const Limits limits({.events_footer = 4000});
  auto hook = hook_into();
  const std::vector<float> values = ramp(20);
  for (int i = 0; i < 300; ++i) {
    hook->next_step();
    hook->save_tensor("fc.weight", view(values));
  }
  EXPECT_FALSE(hook->close().disabled);
  EXPECT_GT(count(kEventsPrefix), 2U);
  expect_whole();
  const Limits lower({.events_footer = 1000});
  EXPECT_FALSE(verify_run(*store).ok());
}

TEST_F(FormatLimitsTest, a_configuration_that_no_reader_opens_is_refused_at_the_first_step) {
  const auto report_with = [&](std::uint64_t most, std::uint64_t* size) {
    const Limits limits({.collections_file = most, .written_collections_file = most});
    store = std::make_shared<MemoryStore>();
    auto hook = hook_into();
    for (int i = 0; i < 1000; ++i)
      hook->get_collection("weights").add_tensor_name("listed" + std::to_string(i));
    hook->next_step();
    hook->save_tensor("listed7", view({1}));
    hook->next_step();
    const auto file = store->get(collections_key("worker_0"));
    if (size != nullptr && file) *size = file->size();
    const HookReport report = hook->close();
    if (!report.disabled) {
      EXPECT_THAT(open_trial()->tensor_names({.collection = "weights"}), ElementsAre("listed7"));
    }
    return report;
  };
  std::uint64_t size = 0;
  EXPECT_THAT(report_with(1U << 20U, &size).problems, IsEmpty());
  // At the limit there is no room for the counters, which come at the end.
  EXPECT_THAT(report_with(size, nullptr).problems,
              ElementsAre(HasSubstr("collections file of at most")));
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0));
  const HookReport refused = report_with(size - 1, nullptr);
  EXPECT_TRUE(refused.disabled);
  EXPECT_EQ(refused.steps_committed, 0);
  EXPECT_THAT(refused.problems.front(),
              AllOf(HasSubstr(std::to_string(size)), HasSubstr(std::to_string(size - 1))));
  EXPECT_EQ(count(kIndexPrefix), 0U);
}

TEST_F(FormatLimitsTest, a_join_is_committed_by_its_step_and_writes_no_collections_file) {
  count_collections_puts();
  auto hook = hook_into();
  hook->next_step();
  EXPECT_EQ(collections_puts, 1);
  const auto trial = open_trial();
  for (int i = 0; i < 3; ++i) {
    const std::string name = "t" + std::to_string(i);
    hook->save_tensor(name, view({1}), {"weights", "mine"});
    hook->next_step();
    trial->refresh();
    EXPECT_THAT(trial->tensor_names({.collection = "mine"}), SizeIs(i + 1));
    EXPECT_THAT(trial->tensor_names({.collection = "weights"}), SizeIs(i + 1));
  }
  EXPECT_EQ(collections_puts, 1);
  hook->close();
  EXPECT_EQ(collections_puts, 2);
  EXPECT_THAT(collections_file().collections.at("mine").tensor_names(),
              ElementsAre("t0", "t1", "t2"));
}

TEST_F(FormatLimitsTest, every_index_file_names_what_its_tensors_joined) {
  options.segment_bytes = 1;  // a segment for each step
  auto hook = hook_into();
  hook->get_collection("listing").add_tensor_name("a");
  for (int i = 0; i < 3; ++i) {
    hook->next_step();
    hook->save_tensor("a", view({1}), {"weights"});
    if (i == 1) hook->save_tensor("a", view({1}), {"mine"});
  }
  hook->close();
  // The last file alone tells all.
  const auto segments = store->list(kIndexPrefix);
  ASSERT_THAT(segments, SizeIs(3));
  store->remove(segments[0].key);
  store->remove(segments[1].key);
  const std::string key = collections_key("worker_0");
  CollectionsFile file = collections_file();
  file.collections.clear();
  store->put(key, encode_collections_file(file));
  const auto trial = open_trial();
  for (const char* collection : {"weights", "mine", "listing"})
    EXPECT_THAT(trial->tensor_names({.collection = collection}), ElementsAre("a")) << collection;
}

TEST_F(FormatLimitsTest, an_attempt_keeps_what_joined_in_the_one_before_and_a_new_run_does_not) {
  options.include_collections = {"mine", "weights"};
  const auto save_one = [&](const std::string& name, Existing existing) {
    options.existing = existing;
    auto hook = hook_into();
    hook->next_step();
    hook->save_tensor(name, view({1}), {"mine"});
    hook->close();
    return open_trial()->tensor_names({.collection = "mine"});
  };
  EXPECT_THAT(save_one("a", Existing::Refuse), ElementsAre("a"));
  EXPECT_THAT(save_one("b", Existing::Continue), ElementsAre("a", "b"));
  EXPECT_THAT(save_one("c", Existing::Replace), ElementsAre("c"));
}

TEST_F(FormatLimitsTest, names_that_the_collections_file_has_no_room_for_are_in_the_index) {
  const Limits limits({.joined_names = 500});
  auto hook = hook_into();
  hook->next_step();
  for (int i = 0; i < 100; ++i)
    hook->save_tensor("tagged" + std::to_string(i), view({1}), {"weights"});
  EXPECT_THAT(hook->close().problems, IsEmpty());
  const CollectionsFile file = collections_file();
  const auto listed =
      static_cast<std::int64_t>(file.collections.at("weights").tensor_names().size());
  EXPECT_GT(listed, 20);
  EXPECT_EQ(file.joined_left_out, 100 - listed);
  const auto trial = open_trial();
  EXPECT_THAT(trial->tensor_names({.collection = "weights"}), SizeIs(100));
  EXPECT_THAT(trial->collection("weights").tensor_names(), SizeIs(100));
}

TEST_F(FormatLimitsTest, collections_without_number_that_calls_make_are_in_the_index) {
  const Limits limits(
      {.collections_file = 20'000, .written_collections_file = 20'000, .joined_names = 5'000});
  auto hook = hook_into();
  hook->next_step();
  for (int i = 0; i < 200; ++i)
    hook->save_tensor("t" + std::to_string(i), view({1}), {"weights", "own" + std::to_string(i)});
  EXPECT_THAT(hook->close().problems, IsEmpty());
  const auto trial = open_trial();
  EXPECT_THAT(trial->tensor_names({.collection = "own199"}), ElementsAre("t199"));
  EXPECT_GE(trial->collections().size(), 200U);
}

TEST_F(FormatLimitsTest, a_salvaged_run_knows_what_joined_its_collections) {
  auto hook = hook_into();
  for (int i = 0; i < 3; ++i) {
    hook->next_step();
    hook->save_tensor("t" + std::to_string(i), view({1}), {"weights"});
  }
  hook->close();
  store->put(collections_key("worker_0"), std::as_bytes(std::span("{", 1)));
  const auto salvaged = std::make_shared<MemoryStore>();
  salvage_run(*store, *salvaged, {});
  const Trial trial(salvaged);
  EXPECT_THAT(trial.tensor_names({.collection = "weights"}), ElementsAre("t0", "t1", "t2"));
}

TEST_F(FormatLimitsTest, the_longest_name_the_deepest_shape_and_the_largest_inline_value_are_read) {
  auto hook = hook_into();
  hook->next_step();
  const std::vector<float> values = ramp(17);
  const auto save = [&](const std::string& name, const std::vector<float>& of, std::size_t rank) {
    std::vector<std::int64_t> extents(rank, 1);
    extents[0] = static_cast<std::int64_t>(of.size());
    hook->save_tensor(name, TensorView(of.data(), Shape(extents)), {"weights"});
  };
  save(std::string(kMaxTensorName, 'n'), {1}, 1);
  save(std::string(kMaxTensorName + 1, 'n'), {1}, 1);
  save("deep", {1}, Shape::kMaxRank);
  save("too_deep", {1}, Shape::kMaxRank + 1);
  save("inline", ramp(kMaxInlineBytes / sizeof(float)), 1);
  save("outside", ramp(kMaxInlineBytes / sizeof(float) + 1), 1);
  EXPECT_THAT(hook->close().problems, SizeIs(2));
  EXPECT_THAT(open_trial()->tensor_names(),
              ElementsAre("deep", "inline", std::string(kMaxTensorName, 'n'), "outside"));
  expect_whole();
}

TEST_F(FormatLimitsTest, a_worker_has_no_attempt_that_no_collections_file_can_name) {
  constexpr std::int32_t kLast = std::numeric_limits<std::int32_t>::max() - 1;
  options.existing = Existing::Continue;
  store->put(collections_key("worker_0"),
             encode_collections_file({1, "cafe", "worker_0", kLast - 1, {}}));
  EXPECT_THAT(hook_into()->close().problems, IsEmpty());
  EXPECT_EQ(collections_file().attempt, kLast);
  EXPECT_THROW(hook_into(), UsageError);
}

// 70 MB of names, which a pattern finds again or which joined, and as few that are long.
struct ManyNames {
  const char* name;
  int count;
  std::size_t length;
  bool join;
};

class ManyNamesTest : public FormatLimitsTest, public ::testing::WithParamInterface<ManyNames> {};

TEST_P(ManyNamesTest, leave_a_run_that_opens) {
  const ManyNames& names = GetParam();
  options.include_collections = {"named"};
  auto hook = hook_into();
  if (!names.join) hook->get_collection("named").include("^n");
  const std::string stem(names.length - 8, 'n');
  const float value = 1;
  hook->next_step();
  for (int i = 0; i < names.count; ++i) {
    std::string name = std::to_string(10'000'000 + i);
    name.insert(0, stem);
    if (names.join) {
      hook->save_tensor(name, TensorView(&value, {}), {"named"});
    } else {
      hook->save_tensor(name, TensorView(&value, {}));
    }
  }
  EXPECT_THAT(hook->close().problems, IsEmpty());
  EXPECT_LE(store->stat(collections_key("worker_0"))->size,
            format_limits().written_collections_file);
  const auto trial = open_trial();
  EXPECT_EQ(trial->tensor_names({.collection = "named"}).size(), std::size_t(names.count));
  options.existing = Existing::Continue;
  EXPECT_EQ(hook_into()->close().disabled, false);
}

INSTANTIATE_TEST_SUITE_P(Rows, ManyNamesTest,
                         ::testing::Values(ManyNames{"found_by_a_pattern", 700'000, 100, false},
                                           ManyNames{"joined", 700'000, 100, true},
                                           ManyNames{"long_and_joined", 20'000, 4'000, true}),
                         [](const auto& row) { return std::string(row.param.name); });

// As versions before 1.1 of the format wrote it at the close.
TEST_F(FormatLimitsTest, a_collections_file_that_lists_700000_names_opens) {
  auto hook = hook_into();
  hook->next_step();
  hook->save_tensor("fc.weight", view({1}));
  hook->close();
  CollectionsFile file = collections_file();
  Collection& weights = file.collections.at("weights");
  for (int i = 0; i < 700'000; ++i)
    weights.add_tensor_name(std::string(92, 'n') + std::to_string(10'000'000 + i));
  const auto bytes = encode_collections_file(file);
  EXPECT_GT(bytes.size(), 64U << 20U);
  store->put(collections_key("worker_0"), bytes);
  EXPECT_THAT(open_trial()->tensor_names(), ElementsAre("fc.weight"));
  options.existing = Existing::Continue;
  auto next = hook_into();
  next->next_step();
  next->save_tensor("fc.weight", view({1}));
  EXPECT_THAT(next->close().problems, IsEmpty());
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 1));
  expect_whole();
}

}  // namespace
}  // namespace cupel
