#include <gmock/gmock.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "cupel/core/error.h"
#include "s3/loopback_socket.h"
#include "s3/s3_server.h"
#include "store/store_contract.h"

namespace cupel::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Answers every request with the same bytes, over and over if it is to be endless, or with what a
/// function makes of it.
class HostileServer {
 public:
  using Answer = std::function<std::string(const HttpText& request)>;

  explicit HostileServer(std::string answer, bool endless = false)
      : HostileServer([answer = std::move(answer)](const HttpText&) { return answer; }, endless) {}
  explicit HostileServer(Answer answer, bool endless = false)
      : listener_(LoopbackSocket::listening(port_)), thread_([this, answer, endless] {
          while (!stopped_) {
            const LoopbackSocket client = listener_.accept(stopped_);
            std::string rest;
            if (!client) continue;
            const auto request = read_request(client, rest, 1U << 20U, stopped_);
            if (!request) continue;
            while (client.send(answer(*request)) && endless && !stopped_) {
            }
          }
        }) {}
  ~HostileServer() { stopped_ = true; }

  S3Store open() const {
    S3Options options = quick_options("http://127.0.0.1:" + std::to_string(port_));
    options.attempts = 2;
    options.silence_limit = std::chrono::seconds(1);
    return S3Store({"bucket", ""}, options);
  }

 private:
  int port_ = 0;
  std::atomic<bool> stopped_ = false;
  LoopbackSocket listener_;
  std::jthread thread_;
};

struct Row {
  std::string name, answer;
  bool endless = false;
};
class HostileAnswer : public ::testing::TestWithParam<Row> {};

TEST_P(HostileAnswer, is_an_error_whatever_was_asked) {
  const HostileServer server(GetParam().answer, GetParam().endless);
  S3Store store = server.open();
  std::array<std::byte, 16> some{};
  EXPECT_THROW(store.get("a", 1'000), StoreError);
  EXPECT_THROW(store.get_range("a", 5, some), StoreError);
  EXPECT_THROW(store.list(""), StoreError);
}

const std::string kOk = "HTTP/1.1 200 OK\r\n";

INSTANTIATE_TEST_SUITE_P(
    S3, HostileAnswer,
    ::testing::Values(
        Row{"empty", ""}, Row{"noise", std::string("\0\xff\x16\x03", 4)},
        Row{"cut_head", "HTTP/1.1 200 OK\r\nContent-Le"},
        Row{"large_length", kOk + "Content-Length: 18446744073709551615\r\n\r\n"},
        Row{"no_number", kOk + "Content-Length: many\r\n\r\n"},
        Row{"negative_length", kOk + "Content-Length: -1\r\n\r\n"},
        Row{"long_body", kOk + "Content-Length: 5000\r\n\r\n" + std::string(5'000, 'x')},
        Row{"chunk_of_no_size", kOk + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n"},
        Row{"endless_head", "HTTP/1.1 200 OK\r\nX-A: b\r\nX-A: b\r\nX-A: b\r\n", true},
        Row{"endless_continue", "HTTP/1.1 100 Continue\r\n\r\n", true},
        Row{"object_that_is_too_large_to_be_true",
            kOk + "Content-Length: 2000000000000000000\r\n\r\n"},
        Row{"many_headers", kOk + std::string(100'000, 'h') + ": x\r\n\r\n"},
        Row{"endless_refusal",
            "HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nxxxxx\r\n", true},
        Row{"other_range",
            "HTTP/1.1 206 Part\r\nContent-Range: bytes 0-15/100\r\nContent-Length: 5000\r\n\r\n"}),
    [](const auto& row) { return row.param.name; });

std::string answer_of(const std::string& head, const std::string& body) {
  return "HTTP/1.1 " + head +
         "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

TEST(HostileServer, cannot_have_a_request_sent_to_whom_it_names) {
  int port = 0;
  const LoopbackSocket other = LoopbackSocket::listening(port);
  // The same machine, and yet another name.
  const HostileServer server(
      answer_of("307 Go\r\nLocation: http://localhost:" + std::to_string(port) + "/bucket/a", ""));
  S3Store store = server.open();
  EXPECT_THROW(store.put("a", bytes_of("x")), StoreError);
  EXPECT_THROW(store.get("a"), StoreError);
  // Who connects first is the test.
  const LoopbackSocket own = LoopbackSocket::connected_to(port);
  own.send("of the test");
  const std::atomic<bool> stopped = false;
  std::string came;
  EXPECT_TRUE(other.accept(stopped).receive(came, stopped));
  EXPECT_EQ(came, "of the test");
}

TEST(HostileServer, cannot_have_a_token_told) {
  const std::string token = "FwoGZXIvYXdzEJr//////////wEaDKn+secret+";
  EnvironmentGuard environment;
  environment.set("AWS_SESSION_TOKEN", token);
  for (const std::string& head : {std::string("400 No"), "403 No\r\nx-amz-request-id: " + token}) {
    const HostileServer server(answer_of(
        head, "<Error><Code>" + token + "</Code><Message>It was " + token + ".</Message></Error>"));
    S3Store store = server.open();
    EXPECT_THAT([&] { store.put("a", bytes_of("x")); },
                ThrowsMessage<StoreError>(::testing::AllOf(HasSubstr("It was (withheld)."),
                                                           ::testing::Not(HasSubstr(token)))));
  }
}

TEST(HostileServer, cannot_have_a_signature_told) {
  const HostileServer server([](const HttpText& request) {
    return answer_of("403 No", "<Error><Code>No</Code><Message>" + request.header("Authorization") +
                                   "</Message></Error>");
  });
  S3Store store = server.open();
  EXPECT_THAT([&] { store.put("a", bytes_of("x")); },
              ThrowsMessage<StoreError>(HasSubstr("Signature=(withheld)")));
}

TEST(HostileServer, cannot_say_that_an_object_is_larger_than_any) {
  const HostileServer server("HTTP/1.1 200 OK\r\nContent-Length: 2000000000000000000\r\n\r\n");
  const S3Store store = server.open();
  // A connection that ends in the middle of what it promises may be all that the client sees.
  EXPECT_THAT([&] { store.stat("a"); },
              ThrowsMessage<StoreError>(AnyOf(HasSubstr("is damaged"), HasSubstr("connection"))));
  const HostileServer lister(
      answer_of("200 OK",
                "<ListBucketResult><Contents><Key>a</Key><Size>2000000000000000000</Size>"
                "</Contents></ListBucketResult>"));
  EXPECT_THAT([&] { lister.open().list(""); }, ThrowsMessage<StoreError>(HasSubstr("no listing")));
}

TEST(HostileServer, cannot_have_a_part_taken_for_the_object) {
  const HostileServer server(
      answer_of("206 Partial Content\r\nContent-Range: bytes 0-2/10", "abc"));
  const S3Store store = server.open();
  EXPECT_THAT([&] { store.get("a"); }, ThrowsMessage<StoreError>(HasSubstr("is damaged")));
}

TEST(HostileServer, cannot_send_a_store_to_another_host) {
  const HostileServer server(
      "HTTP/1.1 307 Go\r\nLocation: http://169.254.169.254/bucket/a\r\nContent-Length: 0\r\n\r\n");
  const S3Store store = server.open();
  EXPECT_THAT([&] { store.get("a"); }, ThrowsMessage<StoreError>(HasSubstr("HTTP 307")));
}

TEST(HostileServer, cannot_make_a_region_of_anything) {
  const HostileServer server(
      "HTTP/1.1 301 Go\r\nx-amz-bucket-region: evil.example/\r\nContent-Length: 0\r\n\r\n");
  const S3Store store = server.open();
  EXPECT_THAT([&] { store.get("a"); }, ThrowsMessage<StoreError>(HasSubstr("HTTP 301")));
}

TEST(HostileServer, cannot_list_for_ever) {
  const std::string page =
      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t"
      "</NextContinuationToken></ListBucketResult>";
  const HostileServer server(answer_of("200 OK", page));
  const S3Store store = server.open();
  EXPECT_THAT([&] { store.list(""); }, ThrowsMessage<StoreError>(HasSubstr("come to an end")));
}

TEST(HostileServer, cannot_list_the_same_for_ever) {
  std::atomic<int> pages = 0;
  const HostileServer server([&](const HttpText&) {
    return answer_of("200 OK",
                     "<ListBucketResult><Contents><Key>a</Key><Size>1</Size></Contents>"
                     "<IsTruncated>true</IsTruncated><NextContinuationToken>t" +
                         std::to_string(++pages) + "</NextContinuationToken></ListBucketResult>");
  });
  const S3Store store = server.open();
  EXPECT_THAT([&] { store.list(""); }, ThrowsMessage<StoreError>(HasSubstr("come to an end")));
}

TEST(HostileServer, cannot_have_a_token_of_any_length_sent_back) {
  const HostileServer server(answer_of(
      "200 OK", "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>" +
                    std::string(5'000, 't') + "</NextContinuationToken></ListBucketResult>"));
  const S3Store store = server.open();
  EXPECT_THAT([&] { store.list(""); }, ThrowsMessage<StoreError>(HasSubstr("no listing")));
}

TEST(Server, may_hang_up_behind_every_answer) {
  const std::string body(3'000'000, 'x');
  const HostileServer server(answer_of("200 OK", body));
  const S3Store store = server.open();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(store.get("a").value().size(), body.size());
}

TEST_F(S3Test, a_child_of_a_fork_is_told_instead_of_hanging) {
  const auto store = open();
  store->list("");
  const pid_t child = ::fork();
  if (child == 0) {
    int refused = 0;
    try {
      store->list("");
    } catch (const StoreError& error) {
      refused += std::string(error.what()).find("fork") != std::string::npos ? 1 : 0;
    }
    try {
      open();
    } catch (const StoreError&) {
      ++refused;
    }
    ::_exit(refused == 2 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace cupel::testing
