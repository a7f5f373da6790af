#include "cupel/s3/s3_location.h"

#include <gmock/gmock.h>

#include "cupel/core/error.h"

namespace cupel {
namespace {

using ::testing::HasSubstr;

struct GoodRow {
  std::string url, bucket, prefix;
};
class GoodLocation : public ::testing::TestWithParam<GoodRow> {};

TEST_P(GoodLocation, is_a_bucket_and_a_prefix) {
  const S3Location location = S3Location::parse(GetParam().url);
  EXPECT_EQ(location, (S3Location{GetParam().bucket, GetParam().prefix}));
  EXPECT_EQ(S3Location::parse(location.url()), location);
}

INSTANTIATE_TEST_SUITE_P(
    S3, GoodLocation,
    ::testing::Values(GoodRow{"s3://bucket", "bucket", ""}, GoodRow{"s3://bucket/", "bucket", ""},
                      GoodRow{"s3://bucket/run", "bucket", "run"},
                      GoodRow{"s3://bucket/runs/mnist/", "bucket", "runs/mnist"},
                      GoodRow{"s3://bucket/runs//", "bucket", "runs"},
                      GoodRow{"s3://my.bucket-1/a b/\xc3\xa4?x=1&y#z%20", "my.bucket-1",
                              "a b/\xc3\xa4?x=1&y#z%20"},
                      GoodRow{"s3://" + std::string(63, 'b'), std::string(63, 'b'), ""}));

struct BadRow {
  std::string url, words;
};
class BadLocation : public ::testing::TestWithParam<BadRow> {};

TEST_P(BadLocation, is_refused_with_the_reason) {
  EXPECT_THAT([] { S3Location::parse(GetParam().url); },
              ::testing::ThrowsMessage<UsageError>(HasSubstr(GetParam().words)));
}

INSTANTIATE_TEST_SUITE_P(
    S3, BadLocation,
    ::testing::Values(
        BadRow{"", "begin with s3://"}, BadRow{"bucket/run", "begin with s3://"},
        BadRow{"S3://bucket", "begin with s3://"}, BadRow{"s3://", "it is missing"},
        BadRow{"s3:///run", "it is missing"}, BadRow{"s3://ab/x", "3 to 63 characters"},
        BadRow{"s3://" + std::string(64, 'b'), "3 to 63 characters"},
        BadRow{"s3://Bucket/x", "lower-case letters"}, BadRow{"s3://a_b/x", "lower-case letters"},
        BadRow{"s3://user@bucket/x", "lower-case letters"},
        BadRow{"s3://bucket:80/x", "lower-case letters"}, BadRow{"s3://-bucket/x", "begin and end"},
        BadRow{"s3://bucket./x", "begin and end"}, BadRow{"s3://a..b/x", "two dots"},
        BadRow{"s3://127.0.0.1/x", "IP address"}, BadRow{"s3://bucket//x", "empty part"},
        BadRow{"s3://bucket/a/../b", "that is . or .."}, BadRow{"s3://bucket/a\\b", "backslash"},
        BadRow{"s3://bucket/" + std::string(1100, 'x'), "longer than 1024"}));

TEST(S3Location, a_key_stands_behind_the_prefix) {
  EXPECT_EQ((S3Location{"bucket", ""}).object_name("a/b"), "a/b");
  EXPECT_EQ((S3Location{"bucket", "run"}).object_name("a/b"), "run/a/b");
}

TEST(S3Location, prefix_and_key_together_have_1024_bytes_at_most) {
  const S3Location location{"bucket", std::string(1000, 'p')};
  EXPECT_EQ(location.object_name(std::string(23, 'k')).size(), 1024U);
  EXPECT_THAT([&] { location.object_name(std::string(24, 'k')); },
              ::testing::ThrowsMessage<UsageError>(HasSubstr("too long behind the prefix")));
}

}  // namespace
}  // namespace cupel
