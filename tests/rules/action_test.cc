#include "cupel/rules/action.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "cupel/core/error.h"

namespace cupel {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Kind = Action::Kind;

std::string refusal_of(std::string_view text) {
  try {
    parse_action(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "(none)";
}

TEST(ParseAction, each_form_of_the_command_line_is_read) {
  EXPECT_EQ(parse_action("stop"), (Action{.kind = Kind::Stop}));
  EXPECT_EQ(parse_action("exec:notify a:b, c"),
            (Action{.kind = Kind::Exec, .target = "notify a:b, c"}));
  EXPECT_EQ(parse_action("webhook:HTTPS://host:1/x?y"),
            (Action{.kind = Kind::Webhook, .target = "HTTPS://host:1/x?y"}));
  EXPECT_EQ(parse_action("signal:2147483646"),
            (Action{.kind = Kind::Signal, .process = 2147483646, .signal = SIGTERM}));
}

TEST(ParseAction, a_signal_is_named_in_any_way_or_numbered) {
  for (const char* text : {"signal:4242:USR1", "signal:4242:SIGUSR1", "signal:4242:sigusr1"})
    EXPECT_EQ(parse_action(text).signal, SIGUSR1) << text;
  EXPECT_EQ(parse_action("signal:4242:9").signal, SIGKILL);
  EXPECT_THAT(refusal_of("signal:4242:NOPE"), HasSubstr("HUP, INT"));
  EXPECT_THAT(refusal_of("signal:4242:0"), HasSubstr("A signal is"));
  EXPECT_THAT(refusal_of("signal:4242:10000"), HasSubstr("A signal is"));
}

TEST(ParseAction, groups_everybodys_parent_and_the_watching_process_are_not_signalled) {
  for (const char* process : {"", "0", "1", "-1", "-4242", "4242x", "99999999999", "+4242"})
    EXPECT_THAT(refusal_of("signal:" + std::string(process)), HasSubstr("above 1")) << process;
  EXPECT_THAT(refusal_of("signal:" + std::to_string(::getpid())), HasSubstr("watches"));
}

TEST(ParseAction, what_is_no_action_is_refused_with_what_is_legal) {
  for (const char* text : {"", "Stop", "stop:", "stop now", "email:a@b.de", "explode:now"})
    EXPECT_THAT(refusal_of(text), HasSubstr("signal:PID[:SIGNAL], exec:COMMAND")) << text;
  EXPECT_THAT(refusal_of("exec:"), HasSubstr("empty"));
  EXPECT_THAT(refusal_of("exec: \t"), HasSubstr("empty"));
}

TEST(ParseAction, only_urls_of_http_are_taken_and_a_refused_one_is_not_shown) {
  for (const char* url : {"", "ftp://host/x", "file:///etc/passwd", "host/x", "http:/host"})
    EXPECT_THAT(refusal_of("webhook:" + std::string(url)), HasSubstr("http:// or https://")) << url;
  EXPECT_THAT(refusal_of("webhook:http://"), HasSubstr("name a host"));
  EXPECT_THAT(refusal_of("webhook:http://user@/x"), HasSubstr("name a host"));
  for (const char* url :
       {"http://host/a b", "http://host/\n", "http://good\\@evil", "http://h/\xc3"})
    EXPECT_THAT(refusal_of("webhook:" + std::string(url)), HasSubstr("must not hold")) << url;
  EXPECT_THAT(refusal_of("webhook:http://u:secret@host/a b"), Not(HasSubstr("secret")));
}

TEST(ActionText, is_what_the_command_line_takes) {
  for (const char* text : {"stop", "signal:4242:TERM", "signal:4242:34", "exec:notify 'x'",
                           "webhook:https://host:8443/hooks/1"})
    EXPECT_EQ(to_text(parse_action(text)), text);
}

TEST(ActionText, a_url_is_shown_without_user_password_query_and_fragment) {
  EXPECT_EQ(to_text(parse_action("webhook:https://user:p@ss@host/path?token=secret#secret")),
            "webhook:https://host/path");
  EXPECT_EQ(to_text(parse_action("webhook:http://host?secret")), "webhook:http://host");
  EXPECT_EQ(to_text(parse_action("webhook:http://host/a@b#secret")), "webhook:http://host/a@b");
}

struct Read {
  std::vector<std::string> actions;
  std::vector<std::string> warnings;
};
Read read(std::string_view json) {
  Read result;
  for (const Action& action : parse_action_json(json, result.warnings))
    result.actions.push_back(to_text(action));
  return result;
}

TEST(ParseActionJson, an_object_or_an_array_of_them_is_read) {
  EXPECT_THAT(read(R"({"name":"log"})").actions, ElementsAre("log"));
  EXPECT_THAT(read(R"([{"name":"email","endpoint":"ops@example.com"},
                       {"name":"sms","endpoint":"+4912345"},
                       {"name":"webhook","url":"http://h/Path"},
                       {"name":"stopfile","path":"/tmp/Stop"}])")
                  .actions,
              ElementsAre("email:ops@example.com", "sms:+4912345", "webhook:http://h/Path",
                          "stopfile:/tmp/Stop"));
  for (const char* nothing : {"", " \n", "[]"}) {
    EXPECT_THAT(read(nothing).actions, IsEmpty());
    EXPECT_THAT(read(nothing).warnings, IsEmpty());
  }
}

TEST(ParseActionJson, names_are_compared_without_case_and_values_keep_it) {
  const Read got = read(R"([{"name":"StopTraining","training_job_prefix":"Job"},
                            {"name":"EXEC","command":"Notify ME"}])");
  EXPECT_THAT(got.actions, ElementsAre("stop", "exec:Notify ME"));
  EXPECT_THAT(got.warnings, IsEmpty());
}

TEST(ParseActionJson, quotes_that_were_escaped_once_too_often_are_read) {
  const Read got = read(R"({\"name\": \"exec\", \"command\": \"say \\\"hi\\\"\"})");
  EXPECT_THAT(got.actions, ElementsAre("exec:say \"hi\""));
  EXPECT_THAT(got.warnings, IsEmpty());
}

TEST(ParseActionJson, the_words_of_a_command_reach_it_as_they_are) {
  EXPECT_THAT(read(R"({"name":"exec","command":["/bin/echo","it's $HOME",""]})").actions,
              ElementsAre("exec:'/bin/echo' 'it'\\''s $HOME' ''"));
}

TEST(ParseActionJson, a_timeout_is_a_number_of_seconds_or_its_text) {
  std::vector<std::string> warnings;
  const auto timeout = [&](const std::string& value) {
    return parse_action_json(R"({"name":"exec","command":"x","timeout":)" + value + "}", warnings)
        .at(0)
        .timeout;
  };
  EXPECT_EQ(timeout("2.5"), 2500ms);
  EXPECT_EQ(timeout(R"("30")"), 30s);
  EXPECT_THAT(warnings, IsEmpty());
  for (const char* value : {"0", "-1", "1e9", "\"NaN\"", "null", "[1]"})
    EXPECT_EQ(timeout(value), std::nullopt) << value;
  EXPECT_EQ(warnings.size(), 6U);
}

TEST(ParseActionJson, what_cannot_be_used_is_left_out_with_a_warning_and_the_rest_stays) {
  for (const char* bad : {R"({"name":"teleport"})",
                          R"("log")",
                          "7",
                          "null",
                          R"({"endpoint":"x"})",
                          R"({"name":1})",
                          R"({"name":"email"})",
                          R"({"name":"email","endpoint":"Ops@example.com"})",
                          R"({"name":"email","endpoint":"a@b.museum"})",
                          R"({"name":"email","endpoint":"-a@b.de"})",
                          R"({"name":"email","endpoint":"a@b.de\n"})",
                          R"({"name":"sms","endpoint":"12345"})",
                          R"({"name":"sms","endpoint":"+1234567890123456"})",
                          R"({"name":"exec"})",
                          R"({"name":"exec","command":""})",
                          R"({"name":"exec","command":[]})",
                          R"({"name":"exec","command":["a",1]})",
                          R"({"name":"exec","command":"a\u0000b"})",
                          R"({"name":"webhook","url":"ftp://h/x"})",
                          R"({"name":"webhook","url":1})",
                          R"({"name":"stopfile","path":""})"}) {
    const Read got = read("[" + std::string(bad) + R"(,{"name":"log"}])");
    EXPECT_THAT(got.actions, ElementsAre("log")) << bad;
    EXPECT_THAT(got.warnings, ElementsAre(HasSubstr("left out"))) << bad;
  }
}

TEST(ParseActionJson, an_unknown_key_is_told_and_the_action_stays) {
  const Read got = read(R"({"name":"exec","command":"x","tiemout":5})");
  EXPECT_THAT(got.actions, ElementsAre("exec:x"));
  EXPECT_THAT(got.warnings, ElementsAre(HasSubstr("tiemout")));
}

TEST(ParseActionJson, no_text_is_fatal) {
  for (const std::string& text :
       {std::string("{"), std::string("stop"), std::string("\\"), std::string(40'000, '['),
        std::string("[") + std::string(100'000, ' ') + "]", std::string("\xff\0{", 3)}) {
    const Read got = read(text);
    EXPECT_THAT(got.actions, IsEmpty());
    EXPECT_THAT(got.warnings, ElementsAre(HasSubstr("left out")));
  }
}

}  // namespace
}  // namespace cupel
