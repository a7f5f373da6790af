#pragma once

#include <aws/http/connection.h>
#include <aws/http/request_response.h>
#include <aws/io/stream.h>

#include <atomic>
#include <stop_token>

#include "crt_handle.h"
#include "cupel/core/mutex.h"
#include "s3_client.h"

namespace cupel::s3_detail {

using Message = Handle<aws_http_message, aws_http_message_release>;

/// One request and its answer on one connection. The caller signs message(), then calls run() once.
///
/// The library calls back on its own threads; all of them are done with this object when run()
/// returns, also when it throws.
class Exchange {
 public:
  /// Borrows `request`, which must outlive the exchange.
  explicit Exchange(const HttpRequest& request);
  ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  aws_http_message* message() const noexcept { return message_.get(); }

  /// Closes the connection when the answer fails, stays away, or `stop` asks for it.
  HttpResponse run(aws_http_connection* connection, const std::stop_token& stop);

  /// The library calls these functions; AWS_OP_ERR ends the exchange.
  int on_headers(aws_http_stream* stream, aws_http_header_block block,
                 const aws_http_header* headers, std::size_t count);
  int on_headers_done(aws_http_header_block block);
  int on_body(std::string_view data);
  void on_complete(int error);

 private:
  // Returns the error of the library; 0 if the exchange was completed.
  int await(aws_http_connection* connection, const std::stop_token& stop);
  void keep(std::string_view name, std::string_view value);
  int take(std::string_view data);
  int refuse(Trouble trouble);
  [[noreturn]] void fail(int error) const;

  const HttpRequest& request_;
  Message message_;
  HttpResponse response_;
  std::size_t header_bytes_ = 0;
  std::size_t piece_ = 0;         // index of the piece that is filled
  std::uint64_t piece_done_ = 0;  // bytes of that piece
  std::uint64_t text_bytes_ = 0;  // of an answer that is no success
  Trouble trouble_ = Trouble::Broken;
  std::atomic<std::uint64_t> moved_ = 0;  // bytes in both directions

  Mutex mutex_;
  StoppableCondition completed_;
  bool done_ CUPEL_GUARDED_BY(mutex_) = false;
  int error_ CUPEL_GUARDED_BY(mutex_) = 0;
};

}  // namespace cupel::s3_detail
