#include "s3/curl.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "store/scratch_directory.h"

namespace cupel::testing {

Curl::Answer Curl::ask(const std::string& arguments, const std::string& path) const {
  const std::string command =
      "curl --silent --show-error --noproxy '*' --max-time 30 --write-out '\n%{http_code}' "
      "--aws-sigv4 aws:amz:us-east-1:s3 --user S3RVER:S3RVER "
      "--header x-amz-content-sha256:UNSIGNED-PAYLOAD " +
      arguments + " '" + endpoint_ + "/" + path + "'";
  std::FILE* const output = ::popen(command.c_str(), "re");
  if (output == nullptr) throw std::runtime_error("no curl");
  Answer answer;
  std::array<char, 65536> some{};
  while (const std::size_t got = std::fread(some.data(), 1, some.size(), output))
    answer.body.append(some.data(), got);
  if (::pclose(output) != 0) throw std::runtime_error("curl failed: " + path);
  const std::size_t end = answer.body.rfind('\n');
  answer.status = std::stoi(answer.body.substr(end + 1));
  answer.body.resize(end);
  return answer;
}

void Curl::make_bucket(const std::string& bucket) const {
  if (ask("--request PUT", bucket).status != 200) throw std::runtime_error("no bucket " + bucket);
}

void Curl::put(const std::string& bucket, const std::string& object, std::string_view bytes) const {
  const ScratchDirectory scratch;
  scratch.add_to_file("body", bytes);
  const std::string path = bucket + "/" + object;
  if (ask("--upload-file '" + (scratch / "body").string() + "'", path).status != 200)
    throw std::runtime_error("not put: " + path);
}

std::optional<std::string> Curl::get(const std::string& bucket, const std::string& object) const {
  Answer answer = ask("", bucket + "/" + object);
  if (answer.status == 404) return std::nullopt;
  if (answer.status != 200) throw std::runtime_error("curl cannot read " + object);
  return std::move(answer.body);
}

std::map<std::string, std::string> Curl::objects(const std::string& bucket) const {
  const std::string listing = ask("", bucket + "?list-type=2").body;
  std::map<std::string, std::string> found;
  for (std::size_t at = listing.find("<Key>"); at != std::string::npos;) {
    const std::size_t end = listing.find("</Key>", at);
    const std::string name = listing.substr(at + 5, end - at - 5);
    found[name] = get(bucket, name).value_or("(absent)");
    at = listing.find("<Key>", end);
  }
  return found;
}

}  // namespace cupel::testing
