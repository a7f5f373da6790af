// Hooks with very many collections: what that costs, and what is refused.

#include <gmock/gmock.h>

#include <chrono>
#include <ctime>

#include "hook_fixture.h"

namespace cupel {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ManyCollections : public HookTest {
 protected:
  std::unique_ptr<Hook> hook_with(std::size_t collections) {
    options.include_collections = {"all"};
    auto hook = make_hook();
    while (hook->get_collections().size() < collections)
      hook->add_collection(Collection(name(hook->get_collections().size())));
    return hook;
  }
  // In the order of the numbers, and before all built-in ones.
  static std::string name(std::size_t number) {
    std::string digits = std::to_string(number);
    return "_" + std::string(6 - digits.size(), '0') + digits;
  }

  template <class F>
  static double processor_seconds_of(F&& work) {
    const auto now = [] {
      timespec time{};
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
    };
    const double begin = now();
    work();
    return now() - begin;
  }
};

// Where each collection costs a few compiled patterns, or a look at all others, it is ten seconds.
TEST_F(ManyCollections, cost_a_first_step_and_a_close_that_are_linear) {
  const auto hook = hook_with(30'000);
  EXPECT_LT(processor_seconds_of([&] { hook->next_step(); }), 1.5);
  hook->save_tensor("t", view({1}), name(29'000));
  EXPECT_LT(processor_seconds_of([&] { hook->close(); }), 1.5);
  EXPECT_THAT(open_trial()->tensor_names({.collection = name(29'000)}), ElementsAre("t"));
}

TEST_F(ManyCollections, that_are_empty_are_named_up_to_twenty) {
  const auto hook = hook_with(1000);
  hook->next_step();
  const HookReport report = hook->close();
  EXPECT_THAT(report.problems, SizeIs(21));
  EXPECT_THAT(report.problems.back(), HasSubstr("further collections without patterns"));
}

TEST_F(ManyCollections, are_told_apart_beyond_the_first_65536) {
  const auto hook = hook_with(70'000);
  const auto number = [&](std::size_t place) {
    return std::next(hook->get_collections().begin(), static_cast<std::ptrdiff_t>(place))->first;
  };
  hook->get_collection(number(0)).set_save_config({.end_step = 0});
  hook->get_collection(number(65'536)).add_tensor_name("t");
  hook->next_step();
  EXPECT_TRUE(hook->wants("t"));
}

TEST_F(ManyCollections, above_the_limit_of_a_run_are_refused_before_anything_is_saved) {
  const auto hook = hook_with(kMostCollections + 1);
  for (int step = 0; step < 2; ++step) {
    hook->next_step();
    hook->save_tensor("t", view({1}), name(1000));
  }
  const HookReport report = hook->close();
  EXPECT_TRUE(report.disabled);
  EXPECT_THAT(report.problems, Contains(HasSubstr("at most 250000 collections")));
  EXPECT_THAT(store->list(""), IsEmpty());
}

TEST_F(ManyCollections, above_the_limit_are_refused_at_each_step_where_errors_are_thrown) {
  options.on_error = OnError::Throw;
  auto hook = hook_with(kMostCollections + 1);
  for (int step = 0; step < 2; ++step) {
    EXPECT_THROW(hook->next_step(), UsageError);
    hook->save_tensor("t", view({1}));
    hook->save_scalar("loss", step);
    EXPECT_NO_THROW(hook->end_step());
  }
  EXPECT_EQ(hook->step(), 1);
  hook.reset();
  EXPECT_THAT(store->list(""), IsEmpty());
}

TEST_F(ManyCollections, as_many_as_a_run_may_have_are_saved_and_one_more_is_reported) {
  const auto hook = hook_with(kMostCollections);
  hook->next_step();
  hook->save_tensor("t", view({1}), name(1000));
  hook->save_tensor("u", view({1}), "one more");
  const HookReport report = hook->close();
  EXPECT_FALSE(report.disabled);
  EXPECT_THAT(report.problems, Contains(HasSubstr("there is no room for those given with u")));
  EXPECT_THAT(open_trial()->tensor_names(), ElementsAre("t"));
}

TEST_F(ManyCollections, of_names_that_take_more_memory_than_readers_allow_are_left_to_the_index) {
  options.include_collections = {"c0"};
  std::vector<std::string> tags;
  for (int i = 0; i < 180; ++i) tags.push_back("c" + std::to_string(i));
  const auto hook = make_hook();
  for (int i = 0; i < 6000; ++i) {
    std::string name(3, 'a');
    int rest = i;
    for (char& letter : name) {
      letter = static_cast<char>('a' + rest % 26);
      rest /= 26;
    }
    static_cast<void>(hook->handle(name, tags));
  }
  hook->next_step();
  hook->save_tensor("aaa", view({1}));
  const HookReport report = hook->close();
  EXPECT_FALSE(report.disabled);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_THAT(open_trial()->tensor_names({.collection = "c179"}), ElementsAre("aaa"));
}

TEST_F(ManyCollections, with_names_that_no_reader_takes_cost_the_tag_or_the_configuration) {
  const std::string longest(kMaxCollectionName, 'c');
  auto hook = make_hook();
  hook->next_step();
  hook->save_tensor("t.weight", view({1}), longest);
  hook->save_tensor("u.weight", view({1}), longest + 'c');
  hook->save_tensor("v.weight", view({1}), "\xff");
  EXPECT_THAT(hook->close().problems,
              ElementsAre(HasSubstr("longer than 4096 bytes"), HasSubstr("is not UTF-8")));
  EXPECT_THAT(open_trial()->tensor_names({.collection = longest}), ElementsAre("t.weight"));
  EXPECT_THAT(open_trial()->tensor_names(), ElementsAre("t.weight", "u.weight", "v.weight"));

  options.existing = Existing::Replace;
  hook = make_hook();
  hook->add_collection(Collection(longest + 'c'));
  hook->next_step();
  EXPECT_THAT(hook->close().problems, Contains(HasSubstr("longer than 4096 bytes")));
}

TEST_F(ManyCollections, with_more_patterns_than_a_run_may_have_are_refused) {
  options.include_collections = {"mine"};
  const auto hook = make_hook();
  PatternList patterns;
  for (std::size_t i = 0; i < kMostPatterns; ++i)
    patterns.add_compiled(i == 0 ? Pattern(std::string(60, 'a')) : patterns.patterns().front());
  hook->get_collection("mine").include(patterns);
  hook->next_step();
  EXPECT_THAT(hook->close().problems, Contains(HasSubstr("at most 250000 patterns")));
}

}  // namespace
}  // namespace cupel
