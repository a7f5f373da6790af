#include <gmock/gmock.h>

#include <filesystem>

#include "cupel/core/error.h"
#include "s3/fault_proxy.h"
#include "s3/s3_server.h"
#include "store/store_contract.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

/// Credentials come from where the test puts them, and from nowhere else.
class Credentials : public S3Test {
 protected:
  void SetUp() override {
    S3Test::SetUp();
    environment_.unset("AWS_ACCESS_KEY_ID");
    environment_.unset("AWS_SECRET_ACCESS_KEY");
  }
  void set(const std::string& name, const std::string& value) { environment_.set(name, value); }
  void set_keys(const std::string& key, const std::string& secret) {
    set("AWS_ACCESS_KEY_ID", key);
    set("AWS_SECRET_ACCESS_KEY", secret);
  }
  void write_config(const std::string& text) {
    std::filesystem::remove(scratch_ / "config");
    scratch_.add_to_file("config", text);
    set("AWS_CONFIG_FILE", (scratch_ / "config").string());
  }
  const ScratchDirectory& scratch() const { return scratch_; }
  /// Writes with the store, and reads as somebody who has credentials.
  void expect_accepted() {
    open()->put("a", bytes_of("x"));
    EXPECT_EQ(server().curl().get(bucket(), "a"), "x");
  }

 private:
  ScratchDirectory scratch_;
  EnvironmentGuard environment_;
};

TEST_F(Credentials, come_from_the_environment) {
  set_keys("S3RVER", "S3RVER");
  expect_accepted();
}

TEST_F(Credentials, come_from_the_profile) {
  write_config("[profile p]\naws_access_key_id = S3RVER\naws_secret_access_key = S3RVER\n");
  set("AWS_PROFILE", "p");
  expect_accepted();
}

TEST_F(Credentials, come_from_the_profile_beside_sections_of_other_kinds) {
  write_config(
      "[services ours]\ns3 =\n  addressing_style = path\n[sso-session s]\nsso_region = x\n"
      "[profile p]\nservices = ours\naws_access_key_id = S3RVER\n"
      "aws_secret_access_key = S3RVER\n[services theirs]\nec2 =\n  endpoint_url = x\n");
  set("AWS_PROFILE", "p");
  expect_accepted();
}

TEST_F(Credentials, come_from_the_process_that_the_profile_names) {
  write_config(
      "[default]\ncredential_process = echo complaint >&2; echo '{\"Version\": 1, "
      "\"AccessKeyId\": \"S3RVER\", \"SecretAccessKey\": \"S3RVER\", \"SessionToken\": \"t\", "
      "\"Expiration\": \"2099-01-01T00:00:00Z\"}'\n");
  FaultProxy proxy(server().port());
  open_at(proxy.endpoint())->put("a", bytes_of("x"));
  EXPECT_EQ(server().curl().get(bucket(), "a"), "x");
  EXPECT_THAT(proxy.heads().at(0), HasSubstr("X-Amz-Security-Token: t\r\n"));
}

TEST_F(Credentials, come_from_the_container) {
  int port = 0;
  const LoopbackSocket listener = LoopbackSocket::listening(port);
  const std::atomic<bool> stopped = false;
  const std::jthread container([&] {
    const LoopbackSocket client = listener.accept(stopped);
    std::string rest;
    const auto request = read_request(client, rest, 1U << 20U, stopped);
    EXPECT_EQ(request.value().first_line(), "GET /keys?for=me HTTP/1.1");
    EXPECT_EQ(request->header("Authorization"), "of the file");
    const std::string body =
        R"({"AccessKeyId": "S3RVER", "SecretAccessKey": "S3RVER", "Token": "t",)"
        R"( "Expiration": "2099-01-01T00:00:00Z"})";
    client.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                body);
  });
  scratch().add_to_file("token", "of the file\n");
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI",
      "http://127.0.0.1:" + std::to_string(port) + "/keys?for=me");
  set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", (scratch() / "token").string());
  expect_accepted();
}

TEST_F(Credentials, of_a_session_go_with_their_token) {
  set_keys("S3RVER", "S3RVER");
  set("AWS_SESSION_TOKEN", "a-token");
  FaultProxy proxy(server().port());
  open_at(proxy.endpoint())->list("");
  EXPECT_THAT(proxy.heads().at(0), HasSubstr("X-Amz-Security-Token: a-token\r\n"));
}

TEST_F(Credentials, that_are_nowhere_are_asked_for) {
  const auto store = open();
  EXPECT_THAT([&] { store->list(""); },
              ThrowsMessage<StoreError>(
                  AllOf(HasSubstr("there are no credentials"), HasSubstr("AWS_ACCESS_KEY_ID"))));
}

/// Profiles as `aws configure sso` writes them, before and since there are sessions, and one that
/// takes a role with the credentials of such a profile.
constexpr const char* kSsoProfiles = R"(
[sso-session ours]
sso_start_url = https://ours.example/start
sso_region = eu-west-1
[profile session]
sso_session = ours
sso_account_id = 123456789012
sso_role_name = Trainer
[profile legacy]
sso_start_url = https://ours.example/start
sso_region = eu-west-1
sso_account_id = 123456789012
sso_role_name = Trainer
[profile role]
role_arn = arn:aws:iam::123456789012:role/trainer
source_profile = session
[profile exported]
credential_process = echo '{"Version": 1, "AccessKeyId": "S3RVER", "SecretAccessKey": "S3RVER"}'
)";

TEST_F(Credentials, of_a_profile_that_signs_in_by_sso_have_to_be_exported) {
  write_config(kSsoProfiles);
  for (const char* const profile : {"session", "legacy", "role"}) {
    set("AWS_PROFILE", profile);
    const auto store = open();
    EXPECT_THAT([&] { store->list(""); },
                ThrowsMessage<StoreError>(AllOf(
                    HasSubstr("signs in by SSO, which is not supported"),
                    HasSubstr("credential_process = aws configure export-credentials"),
                    HasSubstr("profile '" + std::string(profile) + "'"), HasSubstr("1 attempt"))));
  }
  set("AWS_PROFILE", "exported");
  expect_accepted();
}

TEST_F(Credentials, of_the_environment_come_before_a_profile_that_signs_in_by_sso) {
  write_config(kSsoProfiles);
  set("AWS_PROFILE", "session");
  set_keys("S3RVER", "S3RVER");
  expect_accepted();
}

TEST_F(Credentials, that_appear_later_are_taken_then) {
  const auto store = open();
  EXPECT_THROW(store->list(""), StoreError);
  set_keys("S3RVER", "S3RVER");
  EXPECT_TRUE(store->list("").empty());
}

TEST_F(Credentials, with_a_wrong_secret_are_refused) {
  set_keys("S3RVER", "another");
  const auto store = open();
  EXPECT_THAT(
      [&] { store->put("a", bytes_of("x")); },
      ThrowsMessage<StoreError>(AllOf(HasSubstr("check AWS_SECRET_ACCESS_KEY"),
                                      HasSubstr("HTTP 403"), HasSubstr("SignatureDoesNotMatch"),
                                      HasSubstr("bucket " + bucket()), HasSubstr("object a"))));
}

TEST_F(Credentials, of_an_unknown_user_are_refused) {
  set_keys("NOBODY", "another");
  const auto store = open();
  EXPECT_THAT([&] { store->list(""); },
              ThrowsMessage<StoreError>(
                  AllOf(HasSubstr("InvalidAccessKeyId"), HasSubstr("check AWS_ACCESS_KEY_ID"))));
}

TEST_F(Credentials, that_are_wrong_are_explained_also_where_answers_have_no_words) {
  set_keys("S3RVER", "another");
  const auto store = open();
  EXPECT_THAT([&] { store->stat("a"); },
              ThrowsMessage<StoreError>(HasSubstr("SignatureDoesNotMatch")));
}

TEST_F(Credentials, that_expired_are_looked_up_anew) {
  write_config("[default]\naws_access_key_id = NOBODY\naws_secret_access_key = x\n");
  FaultProxy proxy(server().port(), FaultProxy::first("", {Fault::ExpiredToken}));
  const auto store = open_at(proxy.endpoint());
  // The first use keeps what the file says; it says something else by the time they expire.
  EXPECT_THROW(store->list(""), StoreError);
  write_config("[default]\naws_access_key_id = S3RVER\naws_secret_access_key = S3RVER\n");
  proxy.set_schedule(FaultProxy::first("", {Fault::ExpiredToken}));
  EXPECT_NO_THROW(store->list(""));
}

TEST_F(Credentials, are_in_no_error) {
  set_keys("AKEY", "a+very/secret");
  set("AWS_SESSION_TOKEN", "secrettoken");
  FaultProxy proxy(server().port());
  S3Options options = quick_options(proxy.endpoint());
  options.silence_limit = std::chrono::milliseconds(100);
  options.attempts = 1;
  S3Store store({bucket(), ""}, options);
  for (const Fault fault : all_faults()) {
    proxy.set_schedule(FaultProxy::always({fault}));
    try {
      store.put("a", bytes_of("x"));
    } catch (const StoreError& error) {
      EXPECT_THAT(error.what(), Not(HasSubstr("secret"))) << name_of(fault);
    }
  }
}

}  // namespace
}  // namespace cupel::testing
