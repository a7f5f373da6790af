#include "note_words.h"

#include <gmock/gmock.h>

#include "../../writer/src/overhead_governor.h"
#include "cli/cli_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using writer_detail::SavingLevel;

std::string level_note(const SavingLevel& level) {
  return Json{{"kind", "saving_level"}, {"step", 120},     {"level", level.to_text()},
              {"before", "full"},       {"share", 0.0312}, {"budget", 0.01}}
      .dump();
}

TEST(NoteWords, tell_what_is_saved_at_each_level) {
  const std::string why = ": 3.12 % of the time, the budget is 1 %";
  EXPECT_EQ(note_in_words(level_note({})), "saving everything" + why);
  EXPECT_EQ(note_in_words(level_note({.in_background = true})),
            "saving everything, not waiting for commits" + why);
  EXPECT_EQ(note_in_words(level_note({.in_background = true, .reductions_only = true})),
            "saving reductions in place of large raw values" + why);
  EXPECT_EQ(note_in_words(level_note({.every = 2})), "saving every 2nd due step" + why);
  EXPECT_EQ(note_in_words(level_note({.every = 512})), "saving every 512th due step" + why);
  EXPECT_EQ(note_in_words(level_note({.every = 1024})), "saving every 1024th due step" + why);
}

TEST(NoteWords, tell_which_steps_were_left_out) {
  EXPECT_EQ(note_in_words(R"({"kind":"dropped_steps","first":7,"last":19,"count":13,)"
                          R"("why":"the buffers were full"})"),
            "steps 7 to 19 left out (13): the buffers were full");
  EXPECT_EQ(note_in_words(R"({"kind":"dropped_steps","first":7,"last":7,"count":1,"why":"x"})"),
            "step 7 left out: x");
}

TEST(NoteWords, tell_which_steps_an_attempt_hides) {
  EXPECT_EQ(note_in_words(R"({"kind":"hidden_steps","first":0,"last":99,"attempt":1})"),
            "steps 0 to 99 of an earlier attempt are hidden by attempt 1");
  EXPECT_EQ(note_in_words(R"({"kind":"hidden_steps","first":9,"last":9,"attempt":2})"),
            "step 9 of an earlier attempt is hidden by attempt 2");
}

TEST(NoteWords, tell_of_late_commits_and_of_the_end_of_saving) {
  EXPECT_EQ(note_in_words(R"({"kind":"commit_timeout","step":9,"waited_ms":5000})"),
            "step 9 was not committed within 5000 ms");
  EXPECT_EQ(note_in_words(R"({"kind":"commit_timeout","step":10,"waited_ms":0})"),
            "step 10 was not committed when the next one began");
  EXPECT_EQ(note_in_words(R"({"kind":"disabled","after_step":41})"), "saving ended after step 41");
  EXPECT_EQ(note_in_words(R"({"kind":"disabled","after_step":-1})"),
            "saving ended before any step was committed");
}

TEST(NoteWords, tell_of_uploads_that_fall_behind_and_catch_up) {
  EXPECT_EQ(note_in_words(R"({"kind":"uploads_behind","step":120,"seconds":42,"segments":5,)"
                          R"("bytes":3355443,"why":"connection refused"})"),
            "5 segments, 3.2 MiB, waiting to be uploaded for 42 s: connection refused");
  EXPECT_EQ(note_in_words(R"({"kind":"uploads_behind","step":120,"seconds":31,"segments":1,)"
                          R"("bytes":512,"why":"the store is slow"})"),
            "1 segment, 512 bytes, waiting to be uploaded for 31 s: the store is slow");
  EXPECT_EQ(note_in_words(R"({"kind":"uploads_recovered","step":240,"seconds":75})"),
            "uploads have caught up after 75 s");
}

TEST(NoteWords, give_what_is_not_understood_as_it_is) {
  for (const char* text :
       {"",
        "plain text",
        "null",
        "[1,2]",
        R"({"kind":"of another version","x":1})",
        R"({"kind":17})",
        R"({"kind":"disabled"})",
        R"({"kind":"disabled","after_step":"41"})",
        R"({"kind":"disabled","after_step":1.5})",
        R"({"kind":"disabled","after_step":18446744073709551615})",
        R"({"kind":"dropped_steps","first":7,"last":19,"count":13,"why":null})",
        R"({"kind":"commit_timeout","step":9})",
        R"({"kind":"uploads_behind","seconds":42,"segments":5,"bytes":3})",
        R"({"kind":"uploads_behind","seconds":42,"segments":-5,"bytes":3,"why":"x"})",
        R"({"kind":"uploads_recovered"})",
        R"({"kind":"uploads_recovered","seconds":-1})",
        R"({"kind":"saving_level","level":"1 of 0 due steps","share":0,"budget":0.5})",
        R"({"kind":"saving_level","level":"1 of x due steps","share":0,"budget":0.5})",
        R"({"kind":"saving_level","level":"1 of  due steps","share":0,"budget":0.5})",
        R"({"kind":"saving_level","level":"1 of 4","share":0,"budget":0.5})",
        R"({"kind":"saving_level","level":"full","share":"much","budget":0.5})"})
    EXPECT_EQ(note_in_words(text), text);
}

TEST(NoteWords, fit_into_a_line_of_a_terminal) {
  EXPECT_EQ(note_in_words("\x1b[2J\n"), "\\x1b[2J\\x0a");
  EXPECT_EQ(note_in_words(R"({"kind":"dropped_steps","first":7,"last":8,"count":2,)"
                          R"("why":"\u001b[2J\n"})"),
            "steps 7 to 8 left out (2): \\x1b[2J\\x0a");
  EXPECT_EQ(note_in_words(std::string(1000, 'x')), std::string(300, 'x') + "... (700 bytes more)");
  EXPECT_EQ(note_in_words(std::string(300, 'x')), std::string(300, 'x'));
  EXPECT_EQ(note_in_words(std::string(299, 'x') + "\u00e9"),
            std::string(299, 'x') + "... (2 bytes more)");
  EXPECT_EQ(note_in_words(std::string(1000, '\n')).size(), 320U);
}

class NotesOfARun : public CliTest {
 protected:
  NotesOfARun() {
    writer_.save(0, {scalar("loss", 0), texts("cupel/note", {"in the beginning"})});
    writer_.save(10,
                 {scalar("loss", 1), scalar("cupel/overhead", 0.0312),
                  texts("cupel/note", {level_note({.every = 4}),
                                       R"({"kind":"commit_timeout","step":9,"waited_ms":5})"})});
    writer_.save(20, {scalar("loss", 2), texts("cupel/note", {deep()})});
    writer_.save(21, {texts("cupel/note", {R"({"kind":"disabled","after_step":20})"})});
    writer_.finish();
  }
  static std::string deep() { return std::string(200'000, '[') + std::string(200'000, ']'); }
  std::vector<std::string> watch(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {
        "watch", path(), "--rule", "ExplodingTensor", "--explain", "--rule", "VanishingGradient"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  WorkerWriter writer_{store_};
};

TEST_F(NotesOfARun, info_tells_them_in_words) {
  const std::string out = run({"info", path()}).out;
  EXPECT_THAT(out, HasSubstr("overhead  3.12 % of the run's time\n"));
  EXPECT_THAT(out, HasSubstr("\nnotes of the hook\n"
                             "step 0  worker_0  in the beginning\n"
                             "step 10  worker_0  saving every 4th due step: 3.12 % of the time, "
                             "the budget is 1 %\n"
                             "step 10  worker_0  step 9 was not committed within 5 ms\n"
                             "step 20  worker_0  [["));
  EXPECT_THAT(
      out, EndsWith("[... (399700 bytes more)\nstep 21  worker_0  saving ended after step 20\n"));
}

TEST_F(NotesOfARun, info_as_json_has_their_objects_and_their_words) {
  const Json notes = run({"info", path(), "--json"}).json()["notes"];
  ASSERT_THAT(notes, SizeIs(5));
  EXPECT_EQ(notes[0]["note"], "in the beginning");
  EXPECT_EQ(notes[2].dump(),
            R"({"step":10,"worker":"worker_0","note":{"kind":"commit_timeout","step":9,)"
            R"("waited_ms":5},"message":"step 9 was not committed within 5 ms"})");
  EXPECT_EQ(notes[3]["note"], deep());
}

TEST_F(NotesOfARun, watch_explains_a_step_with_what_was_noted_up_to_it) {
  const Ran ran = run(watch({"--start-step", "10"}));
  EXPECT_EQ(ran.code, kExitFine);
  std::vector<std::string> begins;
  std::istringstream lines(ran.out);
  for (std::string line; std::getline(lines, line);) begins.push_back(line.substr(0, 35));
  begins.resize(10);
  EXPECT_THAT(
      begins,
      ElementsAre("step 0  worker_0  in the beginning", "step 10  worker_0  saving every 4th",
                  "step 10  worker_0  step 9 was not c", "step 10 TRAIN  ExplodingTensor  los",
                  "step 10 TRAIN  VanishingGradient  E", "step 20  worker_0  [[[[[[[[[[[[[[[[",
                  "step 20 TRAIN  ExplodingTensor  los", "step 20 TRAIN  VanishingGradient  E",
                  "step 21  worker_0  saving ended aft", "RULE               STATUS         F"));
}

TEST_F(NotesOfARun, watch_as_json_keeps_the_keys_of_verdict_lines) {
  const Json line = run(watch({"--json"})).json_lines().at(0);
  std::vector<std::string> keys;
  for (const auto& [key, value] : line.items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("time", "trial", "rule", "name", "step", "mode", "mode_step",
                                "status", "tensors", "message", "worker", "note"));
  EXPECT_EQ(line["status"], "Noted");
  EXPECT_TRUE(line["rule"].is_null());
  EXPECT_EQ(line["step"], 0);
  EXPECT_EQ(line["message"], "in the beginning");
  EXPECT_EQ(line["worker"], "worker_0");
  EXPECT_EQ(line["note"], "in the beginning");
}

TEST_F(NotesOfARun, watch_tells_them_only_to_explain) {
  EXPECT_THAT(run({"watch", path(), "--rule", "ExplodingTensor"}).out,
              ::testing::Not(HasSubstr("worker_0")));
}

}  // namespace
}  // namespace cupel::testing
