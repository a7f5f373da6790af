#include "../../writer/src/run_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace cupel {
namespace {

using namespace writer_detail;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string dropped(int first, int last, int count, const std::string& why) {
  return R"({"kind":"dropped_steps","first":)" + std::to_string(first) + R"(,"last":)" +
         std::to_string(last) + R"(,"count":)" + std::to_string(count) + R"(,"why":")" + why +
         "\"}";
}
const std::string kBuffers = "the buffers were full";
const std::string kSpool = "the spool was full";
const std::string kRefused = "there was more in the index of a step than readers take";

void miss(RunLedger& ledger, Missed why, const std::vector<std::int64_t>& steps) {
  for (const std::int64_t step : steps) ledger.add(why, step);
}

struct Row {
  const char* name;
  std::function<void(RunLedger&)> history;
  std::vector<std::string> waiting;
};

class LedgerTable : public ::testing::TestWithParam<Row> {};

TEST_P(LedgerTable, has_what_no_confirmed_commit_has_carried) {
  RunLedger ledger;
  GetParam().history(ledger);
  EXPECT_EQ(ledger.waiting(), GetParam().waiting);
  EXPECT_EQ(ledger.is_anything_waiting(), !GetParam().waiting.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Rows, LedgerTable,
    ::testing::Values(Row{"nothing", [](RunLedger&) {}, {}},
                      Row{"steps_of_one_reason_are_one_entry",
                          [](RunLedger& l) {
                            miss(l, Missed::NoBuffers, {3, 4, 6});
                          },
                          {dropped(3, 6, 3, kBuffers)}},
                      Row{"each_reason_has_its_own",
                          [](RunLedger& l) {
                            miss(l, Missed::NoSpool, {3});
                            miss(l, Missed::NoBuffers, {4});
                            miss(l, Missed::LostOnDisk, {5});
                            miss(l, Missed::Refused, {6});
                            miss(l, Missed::NoSpool, {7});
                          },
                          {dropped(3, 7, 2, kSpool), dropped(4, 4, 1, kBuffers),
                           dropped(5, 5, 1, kSpool), dropped(6, 6, 1, kRefused)}},
                      Row{"steps_that_the_budget_leaves_out_are_counted_only",
                          [](RunLedger& l) {
                            miss(l, Missed::LeftOut, {1, 2});
                          },
                          {}},
                      Row{"what_is_carried_does_not_wait",
                          [](RunLedger& l) {
                            miss(l, Missed::NoBuffers, {3});
                            l.carry(1);
                          },
                          {}},
                      Row{"steps_behind_what_is_carried_wait_for_another",
                          [](RunLedger& l) {
                            miss(l, Missed::NoBuffers, {3});
                            l.carry(1);
                            miss(l, Missed::NoBuffers, {5, 6});
                          },
                          {dropped(5, 6, 2, kBuffers)}},
                      Row{"what_was_confirmed_has_left",
                          [](RunLedger& l) {
                            miss(l, Missed::NoBuffers, {3});
                            l.carry(1);
                            miss(l, Missed::NoBuffers, {5});
                            l.confirm(1);
                          },
                          {dropped(5, 5, 1, kBuffers)}},
                      Row{"what_is_given_back_takes_in_what_came_meanwhile",
                          [](RunLedger& l) {
                            miss(l, Missed::LostOnDisk, {3});
                            l.carry(1);
                            miss(l, Missed::LostOnDisk, {4});
                            l.give_back(1);
                            miss(l, Missed::LostOnDisk, {5});
                          },
                          {dropped(3, 5, 3, kSpool)}},
                      Row{"two_commits_that_were_lost_give_back_one_entry",
                          [](RunLedger& l) {
                            miss(l, Missed::LostOnDisk, {3});
                            l.carry(1);
                            miss(l, Missed::LostOnDisk, {4});
                            l.carry(2);
                            l.give_back(1);
                            l.give_back(2);
                          },
                          {dropped(3, 4, 2, kSpool)}},
                      Row{"a_commit_concerns_what_it_carries",
                          [](RunLedger& l) {
                            miss(l, Missed::LostOnDisk, {3});
                            l.carry(1);
                            miss(l, Missed::LostOnDisk, {4});
                            l.carry(2);
                            l.give_back(1);
                            l.confirm(2);
                          },
                          {dropped(3, 3, 1, kSpool)}},
                      Row{"a_commit_that_carries_nothing_changes_nothing",
                          [](RunLedger& l) {
                            miss(l, Missed::NoBuffers, {3});
                            l.confirm(1);
                            l.give_back(2);
                          },
                          {dropped(3, 3, 1, kBuffers)}},
                      Row{"notes_wait_in_order_and_are_given_back",
                          [](RunLedger& l) {
                            l.note(R"({"kind":"a","n":1})");
                            l.carry(1);
                            l.note(R"({"kind":"b"})");
                            l.give_back(1);
                            l.note(R"({"kind":"a","n":2})");
                          },
                          {R"({"kind":"a","n":1})", R"({"kind":"b"})", R"({"kind":"a","n":2})"}}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(RunLedger, tells_whether_a_step_is_the_first_of_its_reason) {
  RunLedger ledger;
  EXPECT_TRUE(ledger.add(Missed::NoBuffers, 1));
  EXPECT_FALSE(ledger.add(Missed::NoBuffers, 2));
  EXPECT_TRUE(ledger.add(Missed::LostOnDisk, 3));
  ledger.carry(1);
  EXPECT_FALSE(ledger.add(Missed::NoBuffers, 4)) << "nobody has confirmed that readers know";
  ledger.carry(2);
  ledger.confirm(1);
  ledger.confirm(2);
  EXPECT_TRUE(ledger.add(Missed::NoBuffers, 5));
}

TEST(RunLedger, counts_steps_by_reason_whatever_readers_know) {
  RunLedger ledger;
  miss(ledger, Missed::NoBuffers, {1, 2});
  miss(ledger, Missed::LeftOut, {3, 4, 5});
  ledger.carry(1);
  ledger.confirm(1);
  miss(ledger, Missed::Refused, {6});
  EXPECT_EQ(ledger.count(Missed::NoBuffers), 2);
  EXPECT_EQ(ledger.count(Missed::LeftOut), 3);
  EXPECT_EQ(ledger.dropped(), 3);
}

TEST(RunLedger, lists_each_note_once_confirmed_or_not) {
  RunLedger ledger;
  ledger.note(R"({"kind":"a"})");
  miss(ledger, Missed::NoBuffers, {1});
  ledger.carry(1);
  EXPECT_THAT(ledger.notes(), ElementsAre(R"({"kind":"a"})", dropped(1, 1, 1, kBuffers)));
  ledger.confirm(1);
  miss(ledger, Missed::NoBuffers, {7});
  EXPECT_THAT(ledger.notes(), ElementsAre(R"({"kind":"a"})", dropped(1, 1, 1, kBuffers),
                                          dropped(7, 7, 1, kBuffers)));
}

TEST(RunLedger, takes_a_hundred_notes_of_a_kind) {
  RunLedger ledger;
  for (int i = 0; i < 150; ++i) ledger.note(R"({"kind":"late","step":)" + std::to_string(i) + '}');
  ledger.note(R"({"kind":"other","step":1})");
  EXPECT_THAT(ledger.waiting(), SizeIs(101));
  EXPECT_THAT(ledger.waiting().back(), HasSubstr("other"));
}

TEST(RunLedger, counts_on_when_a_hundred_notes_about_missed_steps_were_written) {
  RunLedger ledger;
  for (std::uint64_t i = 1; i <= 150; ++i) {
    ledger.add(Missed::NoBuffers, static_cast<std::int64_t>(i));
    ledger.carry(i);
    ledger.confirm(i);
  }
  EXPECT_THAT(ledger.notes(), SizeIs(100));
  EXPECT_EQ(ledger.dropped(), 150);
  EXPECT_THAT(ledger.waiting(), IsEmpty());
}

}  // namespace
}  // namespace cupel
