// S3Store: the calls of a Store as requests to a bucket.
//
// This source knows keys, ranges and metadata. Session sends the requests, retries them and throws
// the errors; every error names the store's location. Several threads may call: the state is
// constant but for what Session guards. Answers are not trusted: a range must be the one that was
// asked for, and sizes and checksums in the metadata must agree with the bytes, else the request is
// retried and then fails. get_ranges() uses several threads for the time of the call.

#include "cupel/s3/s3_store.h"

#include <utility>

#include "crt_client.h"
#include "crt_profile.h"
#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "identity.h"
#include "listing.h"
#include "parallel.h"
#include "range_plan.h"
#include "replies.h"
#include "s3_watch.h"
#include "session.h"
#include "upload.h"

namespace cupel {
namespace {

using s3_detail::Call;
using s3_detail::HttpResponse;

Call object_call(const s3_detail::Session& session, std::string_view key, const char* method,
                 std::string_view action, std::string_view permission) {
  Call call;
  call.action = action;
  call.permission = permission;
  call.method = method;
  call.key = key;
  call.object = session.location().object_name(key);
  return call;
}

Call read_call(const s3_detail::Session& session, std::string_view key) {
  return object_call(session, key, "GET", "read the object",
                     "s3:GetObject on the objects and s3:ListBucket on the bucket");
}

StoreError absent(const s3_detail::Session& session, std::string_view key) {
  return {std::string(key), false, "there is no such object", session.location().url()};
}

/// Whether an answer means "no such object": a 404 with that code, or without any.
bool is_absent(const HttpResponse& response) {
  if (response.status != 404) return false;
  const std::string code = s3_detail::read_error(response.text()).code;
  return code == "NoSuchKey" || (code.empty() && response.body.empty());
}

const char* flaw_of_size(const HttpResponse& response) {
  const auto size = parse_integer<std::uint64_t>(response.header("content-length"));
  const auto written = parse_integer<std::uint64_t>(response.header(s3_detail::kSizeHeader));
  if (!size || *size > s3_detail::kLargestObject) return "its size is missing";
  return !written || *written == *size ? nullptr : "it has two sizes";
}

const char* flaw_of_object(const HttpResponse& response) {
  if (response.status == 206) return "it is a part of the object";
  const std::string_view checksum = response.header(s3_detail::kChecksumHeader);
  const bool fits = checksum.empty() || checksum == s3_detail::checksum_text(response.body);
  return fits ? nullptr : "its checksum is wrong";
}

/// Returns what is wrong with an answer whose header must be "bytes 0-9/100", up to the object's
/// end.
const char* flaw_of_range(const HttpResponse& response, const s3_detail::Fetch& fetch) {
  if (response.status != 206) {
    const bool is_whole = response.status == 200 && fetch.offset == 0;
    return is_whole ? nullptr : "it is not the part that was asked for";
  }
  std::string_view text = response.header("content-range");
  if (!text.starts_with("bytes ")) return "its range is missing";
  text.remove_prefix(6);
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash)
    return "its range is missing";
  const auto first = parse_integer<std::uint64_t>(text.substr(0, dash));
  const auto last = parse_integer<std::uint64_t>(text.substr(dash + 1, slash - dash - 1));
  const auto total = parse_integer<std::uint64_t>(text.substr(slash + 1));
  if (!first || !last || !total) return "its range is missing";
  const std::uint64_t end = std::min(fetch.offset + fetch.size, *total);
  const bool fits =
      *first == fetch.offset && *last + 1 == end && response.received == end - fetch.offset;
  return fits ? nullptr : "it is not the part that was asked for";
}

s3_detail::Configuration configure(const S3Options& options, const S3Location& location) {
  return s3_detail::resolve(options, location, {s3_detail::read_profile, s3_detail::read_services});
}

std::shared_ptr<s3_detail::S3Client> client_of(const s3_detail::Configuration& configuration,
                                               const S3Location& place) {
  try {
    return s3_detail::shared_client(configuration);
  } catch (const s3_detail::TransportError& error) {
    const s3_detail::Failure failure = s3_detail::failure_of(error);
    throw StoreError("(none)", false, failure.cause + "; " + failure.advice, place.url());
  }
}

}  // namespace

struct S3Store::State {
  State(S3Location place, const S3Options& options)
      : configuration(configure(options, place)),
        client(client_of(configuration, place)),
        session(client, configuration, std::move(place)) {}

  const s3_detail::Configuration configuration;
  const std::shared_ptr<s3_detail::S3Client> client;
  s3_detail::Session session;

  /// Carries out one ranged GET.
  void fetch(std::string_view key, s3_detail::Fetch& fetch) {
    Call call = read_call(session, key);
    call.headers = {{"Range", "bytes=" + std::to_string(fetch.offset) + "-" +
                                  std::to_string(fetch.offset + fetch.size - 1)}};
    call.into = fetch.pieces;
    call.answers = {404, 416};
    call.flaw = [&](const HttpResponse& response) { return flaw_of_range(response, fetch); };
    const HttpResponse response = session.call(call);
    if (is_absent(response)) throw absent(session, key);
    if (response.status == 404) session.refuse(call, response);
    fetch.got = response.ok() ? response.received : 0;  // 416: the object ends before it
  }
};

S3Store::S3Store(S3Location location, const S3Options& options)
    : state_(std::make_shared<State>(std::move(location), options)) {}

S3Store::~S3Store() = default;

std::string S3Store::location() const { return state_->session.location().url(); }

void S3Store::put(std::string_view key, std::span<const std::byte> bytes,
                  Durability /*durability*/) {
  check_key(key);
  s3_detail::upload(state_->session, key, bytes);
}

void S3Store::append(std::string_view key, std::uint64_t /*expected_size*/,
                     std::span<const std::span<const std::byte>> /*pieces*/) {
  check_key(key);
  throw StoreError(std::string(key), false, "nothing can be appended to an object in S3",
                   location());
}

void S3Store::sync(std::string_view key) {
  if (!stat(key)) throw absent(state_->session, key);
}

std::optional<std::vector<std::byte>> S3Store::get(std::string_view key,
                                                   std::uint64_t at_most) const {
  check_key(key);
  s3_detail::Session& session = state_->session;
  Call call = read_call(session, key);
  call.at_most = at_most;
  call.answers = {404};
  call.flaw = flaw_of_object;
  HttpResponse response = session.call(call);
  if (response.ok()) return std::move(response.body);
  if (!is_absent(response)) session.refuse(call, response);
  return std::nullopt;
}

std::size_t S3Store::get_range(std::string_view key, std::uint64_t offset,
                               std::span<std::byte> out) const {
  Range range{offset, out, 0};
  get_ranges(key, {&range, 1});
  return range.got;
}

void S3Store::get_ranges(std::string_view key, std::span<Range> ranges) const {
  check_key(key);
  const S3Options& options = state_->session.options();
  std::vector<Range> within(ranges.begin(), ranges.end());
  // No object reaches there, and servers stumble over such numbers.
  std::erase_if(within, [](const Range& range) {
    return range.out.empty() || range.offset >= s3_detail::kLargestObject;
  });
  std::vector<s3_detail::Fetch> fetches =
      s3_detail::plan_fetches(within, options.read_gap, options.read_size);
  if (fetches.empty() && !stat(key)) throw absent(state_->session, key);
  s3_detail::run_parallel(fetches.size(), options.parallel,
                          [&](std::size_t i) { state_->fetch(key, fetches[i]); });
  s3_detail::spread_results(fetches, ranges);
  for (Range& range : ranges)
    if (range.offset >= s3_detail::kLargestObject) range.got = 0;
}

std::vector<ObjectInfo> S3Store::list(std::string_view prefix, std::string_view after) const {
  check_prefix(prefix);
  return s3_detail::list_objects(state_->session, prefix, after);
}

std::optional<ObjectInfo> S3Store::stat(std::string_view key) const {
  check_key(key);
  s3_detail::Session& session = state_->session;
  Call call = object_call(session, key, "HEAD", "read the metadata of the object",
                          "s3:GetObject on the objects and s3:ListBucket on the bucket");
  call.answers = {400, 403, 404};
  call.flaw = flaw_of_size;
  const HttpResponse response = session.call(call);
  if (response.ok())
    return ObjectInfo{
        std::string(key),
        parse_integer<std::uint64_t>(response.header("content-length")).value_or(0),
        s3_detail::identity_of(response.header("etag"), response.header("last-modified"))};
  if (response.status == 404) return std::nullopt;
  // An answer to HEAD has no words. One to GET does.
  std::byte first{};
  s3_detail::Fetch fetch{0, 1, {{&first, 1}}, 0};
  state_->fetch(key, fetch);
  session.refuse(call, response);
}

void S3Store::remove(std::string_view key) {
  check_key(key);
  s3_detail::Session& session = state_->session;
  Call call = object_call(session, key, "DELETE", "remove the object", "s3:DeleteObject");
  call.answers = {404};
  const HttpResponse response = session.call(call);
  if (!response.ok() && !is_absent(response)) session.refuse(call, response);
}

std::unique_ptr<Watch> S3Store::watch(std::string_view prefix) const {
  check_prefix(prefix);
  return s3_detail::watch_bucket(state_->client, state_->configuration, state_->session.location(),
                                 prefix);
}

void S3Store::interrupt() noexcept { state_->session.stop(); }

}  // namespace cupel
