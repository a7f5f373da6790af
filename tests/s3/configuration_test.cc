#include "../../s3/src/configuration.h"

#include <gmock/gmock.h>

#include "../../s3/src/crt_profile.h"
#include "cupel/core/error.h"
#include "store/scratch_directory.h"
#include "writer/environment_guard.h"

namespace cupel::s3_detail {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Variables = std::map<std::string, std::string>;

constexpr const char* kConfigFile = R"([default]
region = eu-west-1
[profile minio]
region = us-west-2
endpoint_url = https://minio.example:9000/
ca_bundle = /etc/minio.pem
[profile quiet]
ignore_configured_endpoint_urls = true
endpoint_url = http://nobody.example
[services none]
s3 =
  endpoint_url = http://not-this.example
[  services	ours ]  # what we run
ec2 =
  endpoint_url = http://not-this-either.example
s3 =
  addressing_style = path
  endpoint_url = http://storage.example:7000
[profile of_services]
services = ours
endpoint_url = http://for-everything-else.example
[profile of_no_services]
services = nowhere
endpoint_url = http://for-everything.example
)";

/// Configuration files of a test's own, and no variables but its own.
class ConfigurationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    scratch_.add_to_file("config", kConfigFile);
    scratch_.add_to_file("credentials", "[secret]\naws_access_key_id = k\n");
    environment_.set("AWS_CONFIG_FILE", (scratch_ / "config").string());
    environment_.set("AWS_SHARED_CREDENTIALS_FILE", (scratch_ / "credentials").string());
  }
  void set(const Variables& variables) {
    for (const auto& [name, value] : variables) environment_.set(name, value);
  }
  static Configuration resolved(const S3Options& options = {}, std::string bucket = "bucket") {
    return resolve(options, S3Location{std::move(bucket), ""}, {read_profile, read_services});
  }

 private:
  testing::ScratchDirectory scratch_;
  testing::EnvironmentGuard environment_;
};

struct RegionRow {
  std::string name;
  Variables variables;
  S3Options options;
  std::string region;
};
class Region : public ConfigurationTest, public ::testing::WithParamInterface<RegionRow> {};

TEST_P(Region, is_found_where_tools_of_aws_look) {
  set(GetParam().variables);
  EXPECT_EQ(resolved(GetParam().options).region, GetParam().region);
}

INSTANTIATE_TEST_SUITE_P(
    S3, Region,
    ::testing::Values(
        RegionRow{"nothing", {{"AWS_CONFIG_FILE", "/nowhere"}}, {}, "us-east-1"},
        RegionRow{"directory", {{"AWS_CONFIG_FILE", "/"}}, {}, "us-east-1"},
        RegionRow{"default_profile", {}, {}, "eu-west-1"},
        RegionRow{"named_profile", {{"AWS_PROFILE", "minio"}}, {}, "us-west-2"},
        RegionRow{"profile_option", {{"AWS_PROFILE", "quiet"}}, {.profile = "minio"}, "us-west-2"},
        RegionRow{"default_region", {{"AWS_DEFAULT_REGION", "eu-south-1"}}, {}, "eu-south-1"},
        RegionRow{"region_before_default_region",
                  {{"AWS_DEFAULT_REGION", "eu-south-1"}, {"AWS_REGION", "ap-east-1"}},
                  {},
                  "ap-east-1"},
        RegionRow{"option", {{"AWS_REGION", "ap-east-1"}}, {.region = "sa-east-1"}, "sa-east-1"}),
    [](const auto& row) { return row.param.name; });

struct OriginRow {
  std::string name;
  Variables variables;
  S3Options options;
  std::string bucket, authority, path;
  bool tls = true;
};
class Address : public ConfigurationTest, public ::testing::WithParamInterface<OriginRow> {};

TEST_P(Address, names_the_bucket_as_the_server_wants_it) {
  set(GetParam().variables);
  const Configuration configuration = resolved(GetParam().options, GetParam().bucket);
  const Origin origin = configuration.origin(GetParam().bucket, configuration.region);
  EXPECT_EQ(origin.authority(), GetParam().authority);
  EXPECT_EQ(origin.tls, GetParam().tls);
  EXPECT_EQ(configuration.base_path(GetParam().bucket), GetParam().path);
}

INSTANTIATE_TEST_SUITE_P(
    S3, Address,
    ::testing::Values(OriginRow{"aws", {}, {}, "bucket", "bucket.s3.eu-west-1.amazonaws.com", ""},
                      OriginRow{"aws_in_china",
                                {},
                                {.region = "cn-north-1"},
                                "bucket",
                                "bucket.s3.cn-north-1.amazonaws.com.cn",
                                ""},
                      OriginRow{
                          "bucket_with_dots", {}, {}, "a.b", "s3.eu-west-1.amazonaws.com", "/a.b"},
                      OriginRow{"endpoint_of_variable",
                                {{"AWS_ENDPOINT_URL", "http://127.0.0.1:9000"}},
                                {},
                                "bucket",
                                "127.0.0.1:9000",
                                "/bucket",
                                false},
                      OriginRow{"endpoint_of_s3_before_endpoint_of_all",
                                {{"AWS_ENDPOINT_URL", "http://other"},
                                 {"AWS_ENDPOINT_URL_S3", "http://[::1]:80/"}},
                                {},
                                "bucket",
                                "[::1]",
                                "/bucket",
                                false},
                      OriginRow{"endpoint_of_profile",
                                {{"AWS_PROFILE", "minio"}},
                                {},
                                "bucket",
                                "minio.example:9000",
                                "/bucket"},
                      OriginRow{"endpoint_of_services_before_profile",
                                {{"AWS_PROFILE", "of_services"}},
                                {},
                                "bucket",
                                "storage.example:7000",
                                "/bucket",
                                false},
                      OriginRow{"endpoint_of_variable_before_services",
                                {{"AWS_PROFILE", "of_services"}, {"AWS_ENDPOINT_URL", "http://v"}},
                                {},
                                "bucket",
                                "v",
                                "/bucket",
                                false},
                      OriginRow{"services_that_are_not_there",
                                {{"AWS_PROFILE", "of_no_services"}},
                                {},
                                "bucket",
                                "for-everything.example",
                                "/bucket",
                                false},
                      OriginRow{"endpoint_that_is_ignored",
                                {{"AWS_PROFILE", "quiet"}, {"AWS_ENDPOINT_URL", "http://other"}},
                                {.region = "eu-west-1"},
                                "bucket",
                                "bucket.s3.eu-west-1.amazonaws.com",
                                ""},
                      OriginRow{"endpoint_of_options_below_a_path",
                                {{"AWS_ENDPOINT_URL", "http://other"}},
                                {.endpoint = "https://gateway.example/s3/"},
                                "bucket",
                                "gateway.example",
                                "/s3/bucket"},
                      OriginRow{"endpoint_with_virtual_hosts",
                                {},
                                {.endpoint = "https://storage.example", .path_style = false},
                                "bucket",
                                "bucket.storage.example",
                                ""}),
    [](const auto& row) { return row.param.name; });

struct RefusedRow {
  std::string name;
  Variables variables;
  S3Options options;
  std::string words;
};
class Refused : public ConfigurationTest, public ::testing::WithParamInterface<RefusedRow> {};

TEST_P(Refused, is_what_makes_no_sense) {
  set(GetParam().variables);
  EXPECT_THAT([] { resolved(GetParam().options); },
              ::testing::ThrowsMessage<UsageError>(HasSubstr(GetParam().words)));
}

INSTANTIATE_TEST_SUITE_P(
    S3, Refused,
    ::testing::Values(
        RefusedRow{"unknown_profile", {{"AWS_PROFILE", "nobody"}}, {}, "no such profile"},
        RefusedRow{"endpoint_without_scheme", {}, {.endpoint = "127.0.0.1:9000"}, "not a URL"},
        RefusedRow{"endpoint_with_password", {}, {.endpoint = "http://a:b@host"}, "not a URL"},
        RefusedRow{"endpoint_with_query", {}, {.endpoint = "http://host/?x"}, "not a URL"},
        RefusedRow{"endpoint_with_bad_port", {}, {.endpoint = "http://host:99999"}, "not a URL"},
        RefusedRow{"region_with_dots", {{"AWS_REGION", "a.evil.example/"}}, {}, "not a name like"},
        RefusedRow{"no_attempts", {}, {.attempts = 0}, "attempts"},
        RefusedRow{"small_parts", {}, {.part_size = 1024}, "part_size"},
        RefusedRow{"no_parallel_requests", {}, {.parallel = 0}, "parallel"}),
    [](const auto& row) { return row.param.name; });

TEST_F(ConfigurationTest, the_bundle_of_authorities_comes_from_profile_or_variable) {
  set({{"AWS_PROFILE", "minio"}});
  EXPECT_EQ(resolved().ca_bundle, "/etc/minio.pem");
  set({{"AWS_CA_BUNDLE", "/etc/mine.pem"}});
  EXPECT_EQ(resolved().ca_bundle, "/etc/mine.pem");
}

TEST_F(ConfigurationTest, a_password_in_an_endpoint_is_not_told) {
  EXPECT_THAT([] { resolved({.endpoint = "https://me:secret@storage.example"}); },
              ::testing::ThrowsMessage<UsageError>(
                  ::testing::AllOf(HasSubstr("@storage.example"), Not(HasSubstr("secret")))));
}

TEST_F(ConfigurationTest, a_profile_of_the_credentials_file_alone_is_one) {
  EXPECT_EQ(resolved({.profile = "secret"}).profile, "secret");
}

}  // namespace
}  // namespace cupel::s3_detail
