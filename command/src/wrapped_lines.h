#pragma once

#include <cstddef>
#include <mutex>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace cupel::command_detail {

/// Breaks a line into pieces of at most `columns`, each with its line break. The line is broken at
/// blanks. A word that is longer stays whole, and so does an indented command of `program`. Pieces
/// behind the first are indented to the last column of a table that begins, behind two blanks, in
/// the left half, else by two more than the line:
///
///     step 120 TRAIN  VanishingGradient
///                     gradient/fc1.weight
///                     abs_mean 3.1e-09 < 1e-07
std::string wrapped(std::string_view line, std::size_t columns, std::string_view program = {});

/// Wraps the lines of a stream at the columns of its terminal (terminal.h), for the life of the
/// object. Text that is flushed without a line break, or that holds a carriage return, is passed on
/// unchanged. Several threads may write to the stream, each a line at once.
class WrappedLines final : public std::streambuf {
 public:
  /// Borrows `stream`. `program` is the name whose indented commands stay whole.
  WrappedLines(std::ostream& stream, std::string program);
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

  const std::string program_;
  std::ostream& stream_;
  std::streambuf* const behind_;
  std::mutex mutex_;  // guards all members below
  std::string line_;
  bool is_begun_ = false;  // a part of the line was passed on
};

}  // namespace cupel::command_detail
