#include "listing.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cupel/core/error.h"
#include "identity.h"
#include "replies.h"

namespace cupel::s3_detail {
namespace {

constexpr std::uint64_t kLargestPage = std::uint64_t{8} << 20U;  // 1000 keys, all of them encoded
constexpr int kMostEmptyPages = 100;
constexpr std::size_t kMostObjects = 10'000'000;

struct Question {
  std::string base;    // of all names of the store
  std::string prefix;  // of the keys
  std::string after;   // a key
};

std::string query(const Question& question, const std::string& token) {
  std::string text = "encoding-type=url&list-type=2&max-keys=" + std::to_string(kPage);
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty())
      text.append("&").append(name).append("=").append(percent_encode(value, Slashes::Encode));
  };
  add("prefix", question.base + question.prefix);
  if (!question.after.empty()) add("start-after", question.base + question.after);
  add("continuation-token", token);
  return text;
}

ListReply read_page(Session& session, const Question& question, const std::string& token) {
  std::optional<ListReply> page;
  Call call;
  call.action = "list the objects";
  call.permission = "s3:ListBucket";
  call.method = "GET";
  call.key = question.prefix;
  call.query = query(question, token);
  call.at_most = kLargestPage;
  call.flaw = [&](const HttpResponse& response) {
    page = read_listing(response.text());
    return page ? nullptr : "it is no listing";
  };
  session.call(call);
  return *std::move(page);
}

/// Adds the objects that were asked for. Services that do not know start-after list more.
void add_objects(const ListReply& page, const Question& question, std::vector<ObjectInfo>& found) {
  for (const ListedObject& object : page.objects) {
    if (!object.name.starts_with(question.base)) continue;
    const std::string key = object.name.substr(question.base.size());
    if (!key.starts_with(question.prefix) || key <= question.after || key_defect(key) != nullptr)
      continue;
    found.push_back({key, object.size, identity_of(object.etag, object.changed)});
  }
}

}  // namespace

std::vector<ObjectInfo> list_objects(Session& session, std::string_view prefix,
                                     std::string_view after) {
  const std::string& base = session.location().prefix;
  const Question question{base.empty() ? "" : base + "/", std::string(prefix), std::string(after)};
  if (after > prefix && !after.starts_with(prefix)) return {};
  std::vector<ObjectInfo> found;
  std::string token;
  std::string first;  // of the page before
  int empty_pages = 0;
  do {
    const ListReply page = read_page(session, question, token);
    empty_pages = page.objects.empty() ? empty_pages + 1 : 0;
    // A service may repeat pages for ever.
    const std::string begin = page.objects.empty() ? "" : page.objects.front().name;
    const bool repeats =
        !page.next.empty() && (page.next == token || (!begin.empty() && begin == first));
    if (empty_pages > kMostEmptyPages || repeats || found.size() > kMostObjects)
      throw StoreError(std::string(prefix), true, "the listing does not come to an end",
                       session.location().url());
    add_objects(page, question, found);
    token = page.next;
    first = begin;
  } while (!token.empty());
  if (!std::ranges::is_sorted(found, {}, &ObjectInfo::key))
    std::ranges::sort(found, {}, &ObjectInfo::key);
  return found;
}

}  // namespace cupel::s3_detail
