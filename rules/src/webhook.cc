// POST requests by libcurl.
//
// One request at a time, on the calling thread, which is the action queue's; `go_on` is asked
// during the transfer and ends it. Certificates are verified and redirects are not followed. A
// message never holds the URL, which may hold secrets. A failure is a result, not an exception.

#include "webhook.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstddef>
#include <new>

namespace cupel::rules_detail {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestConnecting{5000};
constexpr milliseconds kPause{20};
constexpr std::size_t kMostAnswerBytes = 64U << 10U;

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* handle) const {
    Free(handle);
  }
};
using Easy = std::unique_ptr<CURL, Freer<curl_easy_cleanup>>;
using Multi = std::unique_ptr<CURLM, Freer<curl_multi_cleanup>>;
using Headers = std::unique_ptr<curl_slist, Freer<curl_slist_free_all>>;

void add_header(Headers& headers, const std::string& header) {
  curl_slist* const longer = curl_slist_append(headers.get(), header.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  static_cast<void>(headers.release());
  headers.reset(longer);
}

// Takes what is answered and keeps none of it; refuses what is beyond the cap.
std::size_t swallow(const char* /*bytes*/, std::size_t size, std::size_t count, void* total) {
  std::size_t& swallowed = *static_cast<std::size_t*>(total);
  swallowed += size * count;
  return swallowed <= kMostAnswerBytes ? size * count : 0;
}

}  // namespace

struct Webhook::State {
  Easy easy;
  Multi multi;
};

Webhook::Webhook() : state_(std::make_unique<State>()) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(ready);  // where it failed there are no handles either
  state_->easy.reset(curl_easy_init());
  state_->multi.reset(curl_multi_init());
  if (!state_->easy || !state_->multi) throw std::bad_alloc();
}

Webhook::~Webhook() = default;

WebhookAnswer Webhook::post(const Request& request, const GoOn& go_on) {
  CURL* const easy = state_->easy.get();
  CURLM* const multi = state_->multi.get();
  curl_easy_reset(easy);
  Headers headers;
  add_header(headers, "Content-Type: application/json");
  add_header(headers, "Idempotency-Key: " + request.incident);
  add_header(headers, "Expect:");  // else long bodies wait for an answer to their headers
  std::size_t swallowed = 0;
  const auto set = [easy](CURLoption option, auto value) {
    if (curl_easy_setopt(easy, option, value) != CURLE_OK) throw std::bad_alloc();
  };
  set(CURLOPT_URL, request.url.c_str());
#if LIBCURL_VERSION_NUM >= 0x075500
  set(CURLOPT_PROTOCOLS_STR, "http,https");
#else
  set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  if (!request.authority.empty()) {
    set(CURLOPT_CAINFO, request.authority.c_str());
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // the system's trust nobody else
  }
  set(CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
  set(CURLOPT_QUICK_EXIT, 1L);  // does not wait for a name that is being looked up
#endif
  set(CURLOPT_USERAGENT, "cupel");
  set(CURLOPT_POSTFIELDS, request.body.c_str());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_WRITEFUNCTION, swallow);
  set(CURLOPT_WRITEDATA, &swallowed);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  set(CURLOPT_CONNECTTIMEOUT_MS,
      static_cast<long>(std::min(request.timeout, kLongestConnecting).count()));

  if (curl_multi_add_handle(multi, easy) != CURLM_OK) throw std::bad_alloc();
  // Whatever happens below, the handle leaves before what it points to does.
  const auto leave = [multi](CURL* handle) { curl_multi_remove_handle(multi, handle); };
  const std::unique_ptr<CURL, decltype(leave)> joined(easy, leave);
  int running = 1;
  while (true) {
    if (curl_multi_perform(multi, &running) != CURLM_OK) return {.message = "the transfer failed"};
    if (running == 0) break;
    if (!go_on(milliseconds(0))) return {.how = WebhookAnswer::How::Stopped};
    curl_multi_poll(multi, nullptr, 0, static_cast<int>(kPause.count()), nullptr);
  }
  CURLcode result = CURLE_RECV_ERROR;
  for (int left = 1; left > 0;) {
    const CURLMsg* const message = curl_multi_info_read(multi, &left);
    if (message != nullptr && message->msg == CURLMSG_DONE) result = message->data.result;
  }
  if (result == CURLE_OK || swallowed > kMostAnswerBytes) {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return {WebhookAnswer::How::Answered, status, {}};
  }
  // libcurl's own text, which knows no URL: the longer one that it offers may quote it.
  const bool is_unusable = result == CURLE_URL_MALFORMAT || result == CURLE_UNSUPPORTED_PROTOCOL ||
                           result == CURLE_SSL_CACERT_BADFILE;
  return {is_unusable ? WebhookAnswer::How::Unusable : WebhookAnswer::How::Failed, 0,
          curl_easy_strerror(result)};
}

}  // namespace cupel::rules_detail
