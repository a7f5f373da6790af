// https with an authority of the test's own, whose certificates nobody else trusts.

#include <gmock/gmock.h>

#include <cstdlib>
#include <stdexcept>

#include "cupel/core/error.h"
#include "s3/s3_server.h"
#include "store/store_contract.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Makes keys and certificates with the program openssl.
class Authority {
 public:
  Authority() {
    run("req -x509 -subj '/CN=authority of a test' -days 2 -keyout authority.key -out "
        "authority.pem" +
        kNewKey);
    run("req -subj '/CN=server' -keyout server.key -out server.request" + kNewKey);
    scratch_.add_to_file("extensions", "subjectAltName = DNS:localhost\n");
    run("x509 -req -in server.request -CA authority.pem -CAkey authority.key -CAcreateserial "
        "-days 2 -extfile extensions -out server.pem");
  }

  /// Its own certificate,
  std::string bundle() const { return (scratch_ / "authority.pem").string(); }
  /// and that of a server called localhost.
  std::string server_key() const { return (scratch_ / "server.key").string(); }
  std::string server_certificate() const { return (scratch_ / "server.pem").string(); }

 private:
  void run(const std::string& arguments) const {
    const std::string command = "cd '" + scratch_.path() + "' && openssl " + arguments + " 2>&1";
    std::FILE* const output = ::popen(command.c_str(), "re");
    if (output == nullptr) throw std::runtime_error("no openssl");
    std::string said;
    for (int c = std::fgetc(output); c != EOF; c = std::fgetc(output)) said += char(c);
    if (::pclose(output) != 0) throw std::runtime_error("openssl failed: " + said);
  }

  inline static const std::string kNewKey =
      " -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
  ScratchDirectory scratch_;
};

class Tls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!S3Server::is_possible()) return;
    authority_ = std::make_unique<Authority>();
    server_ = std::make_unique<S3Server>("localhost", authority_->server_key(),
                                         authority_->server_certificate());
    EnvironmentGuard environment;
    environment.set("CURL_CA_BUNDLE", authority_->bundle());
    bucket_ = server_->make_bucket();
  }
  static void TearDownTestSuite() {
    server_.reset();
    authority_.reset();
  }
  void SetUp() override {
    if (!server_) GTEST_SKIP() << "node or the S3 server's package is not here";
    set("CURL_CA_BUNDLE", authority_->bundle());
  }

  void set(const std::string& name, const std::string& value) { environment_.set(name, value); }
  static const Authority& authority() { return *authority_; }
  static S3Server& server() { return *server_; }
  static const std::string& bucket() { return bucket_; }
  static std::string endpoint_as(const std::string& host) {
    return "https://" + host + ":" + std::to_string(server_->port());
  }
  static std::unique_ptr<S3Store> open(S3Options options = quick_options(server_->endpoint())) {
    return std::make_unique<S3Store>(S3Location{bucket_, ""}, options);
  }
  /// Nothing is written, and the error says what to do.
  void expect_refused(S3Options options = quick_options(server_->endpoint())) {
    const auto store = open(std::move(options));
    EXPECT_THAT(
        [&] { store->put("refused", bytes_of("x")); },
        ThrowsMessage<StoreError>(AllOf(HasSubstr("TLS could not be agreed on"),
                                        HasSubstr("AWS_CA_BUNDLE"), HasSubstr("1 attempt in"))));
    EXPECT_EQ(server().curl().get(bucket(), "refused"), std::nullopt);
  }

 private:
  inline static std::unique_ptr<Authority> authority_;
  inline static std::unique_ptr<S3Server> server_;
  inline static std::string bucket_;
  EnvironmentGuard environment_;
};

TEST_F(Tls, reaches_a_server_whose_authority_the_bundle_names) {
  set("AWS_CA_BUNDLE", authority().bundle());
  const auto store = open();
  const std::string text(100'000, 'x');
  store->put("a/b", bytes_of(text));
  EXPECT_EQ(server().curl().get(bucket(), "a/b"), text);
  EXPECT_EQ(text_of(store->get("a/b").value()), text);
  EXPECT_EQ(store->list("").size(), 1U);
  store->remove("a/b");
}

TEST_F(Tls, refuses_an_authority_that_is_not_known) { expect_refused(); }

TEST_F(Tls, refuses_an_authority_that_the_bundle_does_not_name) {
  const Authority another;
  set("AWS_CA_BUNDLE", another.bundle());
  expect_refused();
}

TEST_F(Tls, refuses_a_server_that_is_called_otherwise) {
  set("AWS_CA_BUNDLE", authority().bundle());
  expect_refused(quick_options(endpoint_as("127.0.0.1")));
}

TEST_F(Tls, asks_for_no_certificate_when_told_so) {
  S3Options options = quick_options(endpoint_as("127.0.0.1"));
  options.verify_tls = false;
  EXPECT_NO_THROW(open(options)->list(""));
}

TEST_F(Tls, is_not_spoken_by_every_server) {
  const std::string port = std::to_string(S3Server::shared()->port());
  const auto store = open(quick_options("https://localhost:" + port));
  EXPECT_THAT([&] { store->list(""); },
              ThrowsMessage<StoreError>(HasSubstr("check the endpoint, http or https")));
}

TEST_F(Tls, needs_a_bundle_that_can_be_read) {
  const ScratchDirectory scratch;
  scratch.add_to_file("junk.pem", "no certificate\n");
  for (const char* const name : {"junk.pem", "absent.pem"}) {
    const std::string path = (scratch / name).string();
    set("AWS_CA_BUNDLE", path);
    EXPECT_THAT([] { open(); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("could not be read"), HasSubstr(path))));
  }
}

}  // namespace
}  // namespace cupel::testing
