// How fast an S3Store puts and gets one object, against the client of aws-c-s3 with its default
// options (which is the engine that the store is built on) and against curl: in turn, so that all
// see the same machine and server.
//
//   s3_bench [--mib N] [--repetitions N] [--endpoint URL --bucket NAME]
//
// Without an endpoint the server is a process of the bench's own that holds objects in memory, so
// that clients are what is measured. With one, credentials are those of the environment and the
// bucket must be there; the object is removed in the end.
//
// The rows give MB/s of the median, and the ratio of the bare client's time to ours: of the
// medians, and the quartiles of the pairs. 1 is as fast as the bare client, more is faster.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bare_s3_client.h"
#include "bench_directory.h"
#include "cupel/s3/s3_store.h"
#include "object_server.h"
#include "paired.h"
#include "read_arguments.h"

namespace cupel {
namespace {

constexpr const char* kKey = "cupel-s3-bench";
constexpr int kWarmUp = 2;

struct Settings {
  int mib = 64;
  int repetitions = 9;
  std::string endpoint;  // empty: our own server
  std::string bucket = "bench";
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "s3_bench: %s\n", what);
  std::exit(1);
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The program curl, which signs for itself; its own account of how long a transfer took.
class CurlClient {
 public:
  CurlClient(const Settings& settings, std::span<const std::byte> bytes)
      : url_(settings.endpoint + "/" + settings.bucket + "/" + kKey), body_(directory_ / "body") {
    std::ofstream(body_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    // What is secret stands in a file that nobody else may read, not among the arguments.
    std::ofstream config(directory_ / "config");
    config << "silent\nshow-error\nfail\nnoproxy = \"*\"\noutput = \"/dev/null\"\n"
           << "write-out = \"%{time_total}\"\naws-sigv4 = \"aws:amz:us-east-1:s3\"\n"
           << "user = \"" << environment("AWS_ACCESS_KEY_ID") << ":"
           << environment("AWS_SECRET_ACCESS_KEY") << "\"\n"
           << "header = \"x-amz-content-sha256: UNSIGNED-PAYLOAD\"\n";
    if (const std::string token = environment("AWS_SESSION_TOKEN"); !token.empty())
      config << "header = \"x-amz-security-token: " << token << "\"\n";
  }

  double put() const { return run("--upload-file " + body_); }
  double get() const { return run(""); }

 private:
  double run(const std::string& arguments) const {
    const std::string command =
        "curl --config '" + (directory_ / "config") + "' " + arguments + " '" + url_ + "'";
    std::FILE* const output = ::popen(command.c_str(), "re");
    if (output == nullptr) fail("there is no curl");
    double seconds = 0;
    const bool read = std::fscanf(output, "%lf", &seconds) == 1;
    if (::pclose(output) != 0 || !read) fail("curl failed");
    return seconds;
  }

  const BenchDirectory directory_;
  const std::string url_;
  const std::string body_;
};

/// One way to move the object, and how long each time took.
struct Case {
  const char* name;
  std::size_t plain;  // the case it is compared with
  std::function<double()> run;
  std::vector<double> seconds = {};
};

void print(const Case& shown, const Case& plain, double bytes) {
  const double median = quantile(shown.seconds, 0.5);
  std::printf("%-16s %9.1f %9.0f", shown.name, median * 1e3, bytes / median / 1e6);
  if (&shown != &plain) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < shown.seconds.size(); ++i)
      ratios.push_back(plain.seconds[i] / shown.seconds[i]);
    std::printf(" %7.2f %7.2f %7.2f", quantile(ratios, 0.25), quantile(plain.seconds, 0.5) / median,
                quantile(ratios, 0.75));
  }
  std::printf("\n");
}

void measure(const Settings& settings) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(settings.mib) << 20U);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 31 >> 7U);
  std::vector<std::byte> read(bytes.size());
  const auto check = [&](std::span<const std::byte> got) {
    if (got.size() != bytes.size() || std::memcmp(got.data(), bytes.data(), got.size()) != 0)
      fail("what was read is not what was written");
    std::memset(read.data(), 0, read.size());
  };

  S3Options options;
  options.endpoint = settings.endpoint;
  S3Store store({settings.bucket, ""}, options);
  BareS3Client bare(settings.endpoint);
  const CurlClient curl(settings, bytes);
  const std::string path = "/" + settings.bucket + "/" + kKey;

  std::vector<Case> cases = {
      {"put, bare", 0, [&] { return bare.put(path, bytes); }},
      {"put, curl", 0, [&] { return curl.put(); }},
      {"put", 0, [&] { return seconds_of([&] { store.put(kKey, bytes); }); }},
      {"get, bare", 3,
       [&] {
         const double seconds = bare.get(path, read);
         check(read);
         return seconds;
       }},
      {"get, curl", 3, [&] { return curl.get(); }},
      {"get", 3,
       [&] {
         std::optional<std::vector<std::byte>> got;
         const double seconds = seconds_of([&] { got = store.get(kKey, bytes.size()); });
         check(got.value());
         return seconds;
       }},
      {"get_range", 3,
       [&] {
         std::size_t got = 0;
         const double seconds = seconds_of([&] { got = store.get_range(kKey, 0, read); });
         check(std::span(read).first(got));
         return seconds;
       }},
  };
  for (int i = -kWarmUp; i < settings.repetitions; ++i)
    for (Case& one : cases) {
      const double seconds = one.run();
      if (i >= 0) one.seconds.push_back(seconds);
    }
  store.remove(kKey);

  std::printf("%d MiB, %d repetitions, %s\n", settings.mib, settings.repetitions,
              settings.endpoint.c_str());
  std::printf("%-16s %9s %9s %7s %7s %7s\n", "case", "ms", "MB/s", "q1", "ratio", "q3");
  for (const Case& one : cases) print(one, cases[one.plain], double(bytes.size()));
}

}  // namespace
}  // namespace cupel

int main(int argc, char** argv) {
  cupel::Settings settings;
  if (!cupel::read_arguments(argc, argv,
                             "s3_bench [--mib N] [--repetitions N] [--endpoint URL --bucket NAME]",
                             {{"--mib", &settings.mib},
                              {"--repetitions", &settings.repetitions},
                              {"--endpoint", &settings.endpoint},
                              {"--bucket", &settings.bucket}}))
    return 2;
  std::optional<cupel::ObjectServer> own;
  if (settings.endpoint.empty()) {
    settings.endpoint = own.emplace().endpoint();
    ::setenv("AWS_ACCESS_KEY_ID", "bench", 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", "bench", 1);
  }
  cupel::measure(settings);
  return 0;
}
