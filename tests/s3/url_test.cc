#include "../../s3/src/url.h"

#include <gtest/gtest.h>

#include "../../s3/src/proxy.h"
#include "writer/environment_guard.h"

namespace cupel::s3_detail {
namespace {

TEST(Url, everything_but_unreserved_characters_is_encoded) {
  EXPECT_EQ(percent_encode("aZ09-._~/ +%\xc3\xa4&=", Slashes::Keep),
            "aZ09-._~/%20%2B%25%C3%A4%26%3D");
  EXPECT_EQ(percent_encode("a/b", Slashes::Encode), "a%2Fb");
}

TEST(Url, what_was_encoded_is_decoded) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(percent_decode(percent_encode(all, Slashes::Encode)), all);
  EXPECT_EQ(percent_decode("a+b"), "a b");
  for (const char* broken : {"%", "%4", "a%4g", "%%%"}) EXPECT_FALSE(percent_decode(broken));
}

TEST(Url, has_scheme_host_port_and_target) {
  const Url url = parse_url("http://host:8080/path?query#part").value();
  EXPECT_EQ(url.origin, (Origin{false, "host", 8080}));
  EXPECT_EQ(url.target, "/path?query");
  EXPECT_EQ(parse_url("https://[::1]")->origin, (Origin{true, "::1", 443}));
}

TEST(Url, anything_else_is_none) {
  for (const char* text :
       {"", "host", "ftp://host", "http://", "http:///x", "http://:80",
        "http://host:", "http://host:0", "http://host:65536", "http://host:8o", "http://user@host",
        "http://[::1", "http://[::1]x", "http://a b", "http://a\r\nb", "http://[[::1]",
        "http://[evil]", "http://a\"b", "http://a%2f"})
    EXPECT_FALSE(parse_url(text)) << text;
}

TEST(Host, is_this_machine_only_by_its_names) {
  for (const char* host : {"localhost", "127.0.0.1", "127.1.2.3", "::1"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host : {"127.evil.example", "127.0.0.1.evil.example", "128.0.0.1", "localhost."})
    EXPECT_FALSE(is_loopback(host)) << host;
}

TEST(Host, is_s3_only_where_nobody_else_has_names) {
  for (const char* host :
       {"s3.amazonaws.com", "bucket.s3.amazonaws.com", "s3.eu-west-1.amazonaws.com",
        "a.b.s3.eu-west-1.amazonaws.com", "bucket.s3-eu-west-1.amazonaws.com",
        "bucket.s3.dualstack.eu-west-1.amazonaws.com", "s3-fips.us-gov-west-1.amazonaws.com",
        "bucket.s3.cn-north-1.amazonaws.com.cn"})
    EXPECT_TRUE(is_s3_of_aws(host)) << host;
  for (const char* host :
       {"", "amazonaws.com", ".amazonaws.com", "s3.evil.example", "s3.amazonaws.com.evil.example",
        "s3amazonaws.com", "abc.execute-api.eu-west-1.amazonaws.com",
        "s3.execute-api.eu-west-1.amazonaws.com", "s3-abc-1.eu-west-1.elb.amazonaws.com",
        "ec2-1-2-3-4.compute-1.amazonaws.com"})
    EXPECT_FALSE(is_s3_of_aws(host)) << host;
}

TEST(Proxy, is_not_for_this_machine_nor_for_what_no_proxy_names) {
  testing::EnvironmentGuard environment;
  environment.unset("no_proxy");
  environment.set("NO_PROXY", "example.com, .internal");
  EXPECT_TRUE(goes_by_proxy("bucket.s3.eu-west-1.amazonaws.com"));
  EXPECT_TRUE(goes_by_proxy("notexample.com"));
  for (const char* host :
       {"127.0.0.1", "localhost", "::1", "example.com", "a.example.com", "minio.internal"})
    EXPECT_FALSE(goes_by_proxy(host)) << host;
  environment.set("NO_PROXY", "*");
  EXPECT_FALSE(goes_by_proxy("bucket.s3.eu-west-1.amazonaws.com"));
}

}  // namespace
}  // namespace cupel::s3_detail
