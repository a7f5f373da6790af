#include "s3/s3_server.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

/// What the runtime's TLS library makes when it begins, it keeps until the process ends: some
/// kilobytes, once. The leak sanitizer asks for this by name.
extern "C" const char* __lsan_default_suppressions();                                // NOLINT
extern "C" const char* __lsan_default_suppressions() { return "leak:libcrypto\n"; }  // NOLINT

namespace cupel::testing {
namespace {

constexpr int kMostStarts = 20;

/// Takes what this machine's user has of AWS's out of the environment before any test.
class OnlyTheServersUser final : public ::testing::Environment {
 public:
  void SetUp() override {
    std::vector<std::string> names;
    for (char** variable = environ; *variable != nullptr; ++variable)
      if (std::strncmp(*variable, "AWS_", 4) == 0)
        names.emplace_back(*variable, std::strcspn(*variable, "="));
    for (const std::string& name : names) ::unsetenv(name.c_str());
    ::setenv("AWS_CONFIG_FILE", "/dev/null", 1);
    ::setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null", 1);
    ::setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    ::setenv("AWS_ACCESS_KEY_ID", "S3RVER", 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", "S3RVER", 1);
  }
};

const auto* const registered = ::testing::AddGlobalTestEnvironment(new OnlyTheServersUser);

}  // namespace

S3Server::S3Server(std::string origin, std::vector<std::string> key_and_certificate)
    : origin_(std::move(origin)), key_and_certificate_(std::move(key_and_certificate)) {
  start();
}

void S3Server::start() {
  std::vector<std::string> command = {CUPEL_NODE,        "--openssl-legacy-provider",
                                      CUPEL_S3_SERVER,   CUPEL_S3_SERVER_PACKAGE,
                                      directory_.path(), std::to_string(port_)};
  command.insert(command.end(), key_and_certificate_.begin(), key_and_certificate_.end());
  // While it is stopped, somebody's connection may have its port for a moment.
  for (int i = 0; i < kMostStarts; ++i) {
    process_ = std::make_unique<Program>(command);
    if (const std::string port = process_->read_line(); !port.empty()) {
      port_ = std::stoi(port);
      return;
    }
  }
  throw std::runtime_error("the S3 server does not start");
}

void S3Server::stop() {
  process_->interrupt();
  process_->read_line();  // the end of its output
  process_->end();
}

bool S3Server::is_possible() { return *CUPEL_NODE != '\0' && *CUPEL_S3_SERVER_PACKAGE != '\0'; }

S3Server* S3Server::shared() {
  static const std::unique_ptr<S3Server> server(is_possible() ? new S3Server : nullptr);
  return server.get();
}

std::string S3Server::make_bucket() {
  const std::string bucket = "bucket-" + std::to_string(++buckets_);
  curl().make_bucket(bucket);
  return bucket;
}

S3Options quick_options(const std::string& endpoint) {
  using namespace std::chrono_literals;
  S3Options options;
  options.endpoint = endpoint;
  options.shortest_pause = 1ms;
  options.longest_pause = 20ms;
  options.silence_limit = 5s;
  options.shortest_look = 5ms;
  options.longest_look = 100ms;
  return options;
}

}  // namespace cupel::testing
