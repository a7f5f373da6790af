#include "../../s3/src/failure.h"

#include <gmock/gmock.h>

namespace cupel::s3_detail {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

HttpResponse response_of(int status, const std::string& body) {
  HttpResponse response;
  response.status = status;
  const auto bytes = std::as_bytes(std::span(body));
  response.body.assign(bytes.begin(), bytes.end());
  return response;
}

HttpResponse refusal(int status, const std::string& code) {
  return response_of(status, "<Error><Code>" + code + "</Code><Message>words</Message></Error>");
}

struct Row {
  int status;
  std::string code;  // "" for an answer without words, as to HEAD
  std::string cause, advice;
  bool again, later;
};
class KnownFailure : public ::testing::TestWithParam<Row> {};

TEST_P(KnownFailure, is_told_with_what_to_do) {
  const Row& row = GetParam();
  const Failure failure = failure_of(
      row.code.empty() ? response_of(row.status, "") : refusal(row.status, row.code), "s3:X");
  EXPECT_THAT(failure.cause, HasSubstr(row.cause));
  EXPECT_THAT(failure.advice, HasSubstr(row.advice));
  EXPECT_EQ(failure.again, row.again);
  EXPECT_EQ(failure.later, row.later);
  EXPECT_THAT(failure.facts, HasSubstr("HTTP " + std::to_string(row.status)));
  EXPECT_THAT(failure.facts, HasSubstr(row.code));
}

INSTANTIATE_TEST_SUITE_P(
    S3, KnownFailure,
    ::testing::Values(
        Row{404, "NoSuchBucket", "no such bucket", "creates no buckets", false, false},
        Row{403, "AccessDenied", "access is denied", "must allow s3:X", false, false},
        Row{403, "", "access is denied", "must allow s3:X", false, false},
        Row{403, "InvalidAccessKeyId", "does not know the access key", "AWS_ACCESS_KEY_ID", false,
            false},
        Row{403, "SignatureDoesNotMatch", "does not fit", "AWS_SECRET_ACCESS_KEY", false, false},
        Row{400, "ExpiredToken", "token has expired", "get new credentials", false, true},
        Row{403, "RequestTimeTooSkewed", "clock", "set the clock", false, true},
        Row{301, "PermanentRedirect", "another region", "AWS_REGION", false, false},
        Row{301, "", "another region", "AWS_REGION", false, false},
        Row{400, "AuthorizationHeaderMalformed", "another region", "AWS_REGION", false, false},
        Row{412, "PreconditionFailed", "a condition", "", false, false},
        Row{429, "", "fewer requests", "", true, true},
        Row{503, "SlowDown", "fewer requests", "", true, true},
        Row{200, "InternalError", "the service failed", "", true, true},
        Row{500, "Unheard", "the service failed", "", true, true},
        Row{504, "", "the service failed", "", true, true},
        Row{501, "", "does not know this request", "", false, false},
        Row{507, "", "the bucket is full", "quota", false, true},
        Row{400, "BadDigest", "arrived damaged", "", true, true},
        Row{418, "", "refused the request", "", false, false}),
    [](const auto& row) {
      return std::to_string(row.param.status) + "_" +
             (row.param.code.empty() ? "without_words" : row.param.code);
    });

TEST(Failure, an_error_page_of_a_gateway_is_told_by_its_status) {
  const Failure failure = failure_of(response_of(502, "<html><p>Bad <b>Gateway"), "");
  EXPECT_EQ(failure.facts, "HTTP 502");
  EXPECT_TRUE(failure.again);
}

TEST(Failure, nothing_is_told_but_code_message_and_request) {
  const Failure failure = failure_of(
      response_of(400,
                  "<Error><Code>ExpiredToken</Code><Message>It has expired.</Message>"
                  "<Token-0>FwoGZXIvYXdzSECRET</Token-0><RequestId>R1</RequestId></Error>"),
      "");
  EXPECT_EQ(failure.facts, "HTTP 400, ExpiredToken, 'It has expired.', request R1");
}

TEST(Failure, words_of_a_service_are_made_printable_and_cut) {
  const Failure failure = failure_of(refusal(400, "Bad\x1b[31m\n" + std::string(1'000, 'x')), "");
  EXPECT_THAT(failure.facts, HasSubstr("Bad?[31m?xxx"));
  EXPECT_THAT(failure.facts, Not(HasSubstr("\n")));
  EXPECT_LT(failure.facts.size(), 400U);
}

TEST(Failure, the_region_of_the_bucket_is_named) {
  HttpResponse response = refusal(301, "PermanentRedirect");
  response.headers["x-amz-bucket-region"] = "eu-north-1";
  EXPECT_THAT(failure_of(response, "").advice, HasSubstr("eu-north-1"));
}

TEST(Failure, a_server_that_asks_for_a_pause_gets_it) {
  using namespace std::chrono_literals;
  HttpResponse response = refusal(429, "TooManyRequests");
  response.headers["retry-after"] = "3";
  EXPECT_EQ(failure_of(response, "").asked_pause, 3s);
  response.headers["retry-after"] = "Fri, 31 Dec 1999 23:59:59 GMT";
  EXPECT_EQ(failure_of(response, "").asked_pause, 0s);
  response.headers["retry-after"] = "999999999999999999999";
  EXPECT_EQ(failure_of(response, "").asked_pause, 0s);
}

}  // namespace
}  // namespace cupel::s3_detail
