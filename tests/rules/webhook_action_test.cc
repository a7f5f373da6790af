#include <signal.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

#include "rules/action_queue_fixture.h"
#include "rules/loopback_server.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Server = LoopbackServer;

// An HTTPS server whose certificate an authority of its own has signed; it answers 204. The
// programs are openssl, which makes the certificates, and python3.
class TlsServer {
 public:
  explicit TlsServer(const std::string& folder) {
    const std::string script =
        "cd '" + folder +
        "' && {\n"
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj "
        "/CN=ca\n"
        "openssl req -newkey rsa:2048 -nodes -keyout key.pem -out server.csr -subj /CN=127.0.0.1\n"
        "echo subjectAltName=IP:127.0.0.1 > names\n"
        "openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 "
        "-extfile names -out cert.pem\n"
        "} > openssl.log 2>&1\n"
        "exec python3 -c '\n"
        "import http.server, os, ssl, sys\n"
        "class Handler(http.server.BaseHTTPRequestHandler):\n"
        "  def do_POST(self):\n"
        "    self.rfile.read(int(self.headers[\"Content-Length\"]))\n"
        "    self.send_response(204)\n"
        "    self.end_headers()\n"
        "  def log_message(self, *rest): pass\n"
        "server = http.server.HTTPServer((\"127.0.0.1\", 0), Handler)\n"
        "context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n"
        "context.load_cert_chain(\"cert.pem\", \"key.pem\")\n"
        "server.socket = context.wrap_socket(server.socket, server_side=True)\n"
        "print(os.getpid(), server.server_port, flush=True)\n"
        "server.serve_forever()'\n";
    output_ = ::popen(script.c_str(), "r");
    if (output_ == nullptr || std::fscanf(output_, "%d %d", &process_, &port_) != 2)
      throw std::runtime_error("no TLS server: " + text_of(folder + "/openssl.log"));
  }
  ~TlsServer() {
    ::kill(process_, SIGKILL);
    ::pclose(output_);
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  std::string url() const { return "https://127.0.0.1:" + std::to_string(port_) + "/hook"; }

 private:
  std::FILE* output_ = nullptr;
  int process_ = 0;
  int port_ = 0;
};

TEST_F(ActionQueueTest, a_webhook_trusts_an_authority_that_the_options_or_the_environment_name) {
  environment_.unset("SSL_CERT_FILE");
  const TlsServer server(scratch_.path());
  EXPECT_THAT(carry_out(webhook(server.url())), StartsWith("failed"));
  options_.performer.webhook_authority = file("ca.pem");
  EXPECT_EQ(carry_out(webhook(server.url())), "done 1 the receiver answered 204");
  options_.performer.webhook_authority.clear();
  environment_.set("SSL_CERT_FILE", file("ca.pem"));
  EXPECT_EQ(carry_out(webhook(server.url())), "done 1 the receiver answered 204");
  options_.performer.webhook_authority = file("absent.pem");  // wins over the environment
  EXPECT_THAT(carry_out(webhook(server.url())), StartsWith("failed 1"));
}

TEST_F(ActionQueueTest, a_webhook_is_a_post_of_the_verdict) {
  Server server({204});
  EXPECT_EQ(carry_out(webhook(server.url("/hook?token=secret"))),
            "done 1 the receiver answered 204");
  const auto requests = server.requests();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].line(), "POST /hook?token=secret HTTP/1.1");
  EXPECT_EQ(requests[0].header("Content-Type"), "application/json");
  EXPECT_EQ(requests[0].header("Idempotency-Key"), "vg/120/0");
  EXPECT_EQ(requests[0].body, to_json(webhook("").line));
  EXPECT_THAT(lines_, ElementsAre("step 120 TRAIN  vg  webhook:" + server.url() +
                                  ": the receiver answered 204"));
}

TEST_F(ActionQueueTest, no_incident_adds_a_header) {
  Server server({200});
  carry_out(webhook(server.url(), "a\r\nX-Evil: 1\xff"));
  EXPECT_EQ(server.requests().at(0).header("Idempotency-Key"), "a%0D%0AX-Evil:%201%FF");
  EXPECT_EQ(server.requests().at(0).header("X-Evil"), "(none)");
}

TEST_F(ActionQueueTest, a_long_verdict_is_sent_whole) {
  Server server({200});
  ActionOrder order = webhook(server.url());
  order.line.message = std::string(3U << 20U, 'm');
  const std::string body = to_json(order.line);
  EXPECT_THAT(carry_out(std::move(order)), StartsWith("done 1"));
  EXPECT_EQ(server.requests().at(0).body, body);
}

TEST_F(ActionQueueTest, a_receiver_that_fails_for_a_moment_is_asked_again) {
  Server server({503, 429, 200});
  EXPECT_EQ(carry_out(webhook(server.url())), "done 3 the receiver answered 200");
  EXPECT_THAT(server.requests(), SizeIs(3));
}

TEST_F(ActionQueueTest, a_receiver_that_goes_on_failing_is_asked_three_times) {
  Server server({500});
  EXPECT_EQ(carry_out(webhook(server.url())), "failed 3 the receiver answered 500");
  EXPECT_THAT(server.requests(), SizeIs(3));
}

TEST_F(ActionQueueTest, a_receiver_that_refuses_is_not_asked_again) {
  for (const int status : {400, 401, 404, 410}) {
    Server server({status});
    EXPECT_EQ(carry_out(webhook(server.url())),
              "failed 1 the receiver answered " + std::to_string(status));
    EXPECT_THAT(server.requests(), SizeIs(1));
  }
}

TEST_F(ActionQueueTest, redirects_are_not_followed) {
  Server server({302});
  EXPECT_THAT(carry_out(webhook(server.url())),
              AllOf(StartsWith("failed 1"), HasSubstr("302; redirects are not followed")));
  EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST_F(ActionQueueTest, a_dropped_connection_is_tried_again) {
  Server server({Server::kDrop, Server::kDrop, 200});
  EXPECT_EQ(carry_out(webhook(server.url())), "done 3 the receiver answered 200");
}

TEST_F(ActionQueueTest, a_failed_connection_is_told_without_the_secrets_of_its_url) {
  EXPECT_THAT(carry_out(webhook("http://user:secret@127.0.0.1:1/?secret")),
              AllOf(StartsWith("failed 3"), Not(HasSubstr("secret"))));
  EXPECT_THAT(lines_.at(0), AllOf(HasSubstr("webhook:http://127.0.0.1:1/ failed after 3"),
                                  Not(HasSubstr("secret"))));
}

TEST_F(ActionQueueTest, a_receiver_that_does_not_answer_costs_its_timeout_at_each_attempt) {
  Server server({Server::kHang});
  ActionOrder order = webhook(server.url());
  order.action.timeout = 200ms;
  EXPECT_THAT(carry_out(std::move(order)), StartsWith("failed 3 Timeout"));
  server.await(3);
}

TEST_F(ActionQueueTest, of_a_long_answer_only_the_status_is_taken) {
  Server server({Server::kFlood});
  EXPECT_EQ(carry_out(webhook(server.url())), "done 1 the receiver answered 200");
}

TEST_F(ActionQueueTest, closing_ends_a_transfer) {
  Server server({Server::kHang});
  ASSERT_TRUE(queue().add(webhook(server.url())));
  server.await(1);
  EXPECT_THAT(closed(0ms), ElementsAre("failed 1 the transfer was ended, because the watch ended"));
}

TEST_F(ActionQueueTest, what_is_done_at_once_does_not_wait_for_a_receiver) {
  Server server({Server::kHang});
  queue().add(webhook(server.url()));
  server.await(1);
  queue().add(order_of({.kind = Action::Kind::Stop}, "b"));
  await_outcomes(1);
  EXPECT_THAT(closed(0ms),
              ElementsAre("done 1 stop_training was written", StartsWith("failed 1 the transfer")));
}

TEST_F(ActionQueueTest, a_webhook_that_was_delivered_is_not_sent_by_the_next_process) {
  keep_claims();
  Server server({404, 200});
  EXPECT_THAT(carry_out(webhook(server.url())), StartsWith("failed 1"));
  EXPECT_THAT(carry_out(webhook(server.url())), StartsWith("done 1"));
  EXPECT_EQ(carry_out(webhook(server.url())), "done 1 was done by an earlier watch");
  EXPECT_THAT(server.requests(), SizeIs(2));
  EXPECT_THAT(carry_out(webhook(server.url(), "another")), StartsWith("done 1 the receiver"));
}

TEST_F(ActionQueueTest, attempts_of_a_webhook_count_across_kills) {
  keep_claims();
  options_.first_delay = 1h;
  Server server({500, 200, 500, 200, 500});
  for (const int killed : {0, 1}) {
    ActionOrder order = webhook(server.url());
    order.taken_before = killed > 0;
    queue().add(std::move(order));
    queue().add(webhook(server.url(), "other" + std::to_string(killed)));
    await_outcomes(1);  // of the other; the first waits for its retry
    EXPECT_THAT(closed(0ms), ElementsAre(StartsWith("done 1"),
                                         StartsWith("failed " + std::to_string(killed + 1))));
  }
  ActionOrder order = webhook(server.url());
  order.taken_before = true;
  EXPECT_EQ(carry_out(order), "failed 3 the receiver answered 500");
  EXPECT_THAT(carry_out(order), StartsWith("failed 3 was tried by earlier watches"));
  EXPECT_THAT(server.requests(), SizeIs(5));
}

}  // namespace
}  // namespace cupel::testing
