#pragma once

#include <cstddef>
#include <mutex>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace cupel {

/// A line in pieces of at most `columns`, each with its line break. It is broken at blanks; a word
/// that is longer stays whole, and so does an indented command of cupel's. Pieces behind the first
/// are indented to the last column of a table that begins, behind two blanks, in the left half,
/// else by two more than the line:
///
///     step 120 TRAIN  VanishingGradient
///                     gradient/fc1.weight
///                     abs_mean 3.1e-09 < 1e-07
std::string wrapped(std::string_view line, std::size_t columns);

/// Wraps the lines of a stream at the columns of its terminal (terminal.h), as long as it lives.
/// What is flushed without a line break, or holds a carriage return, is passed on as it is. Several
/// threads may write to the stream, each a line at once.
class WrappedLines final : public std::streambuf {
 public:
  /// Borrows `stream`.
  explicit WrappedLines(std::ostream& stream);
  ~WrappedLines() override;
  WrappedLines(const WrappedLines&) = delete;
  WrappedLines& operator=(const WrappedLines&) = delete;

 private:
  int_type overflow(int_type character) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;
  int flush_line();
  bool end_line();
  bool pass_on(std::string_view text);

  std::ostream& stream_;
  std::streambuf* const behind_;
  std::mutex mutex_;  // of all below
  std::string line_;
  bool is_begun_ = false;  // a part of the line was passed on
};

}  // namespace cupel
