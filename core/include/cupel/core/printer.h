#pragma once

#include <cstddef>
#include <ostream>
#include <string_view>
#include <type_traits>

namespace cupel {

/// Text that a program composed itself, with line ends, tabs and colours of its own. The parts that
/// it quotes went through printable().
struct Composed {
  std::string_view text;
};

/// A stream for text that a person reads. It escapes every text, so that a new message cannot
/// forget to.
///
///     void print_run(Printer out, const std::string& path) {
///       out << "run found in " << path << '\n';
///     }
///
/// Literals, numbers and single characters come out as they are; every other text comes out as
/// printable() shows it, uncut. Of a Composed text line ends, tabs and colours (ESC [ … m) stay.
/// JSON comes from printable_json(). A Printer borrows its stream and is passed by value; threads
/// share it as they share the stream.
class Printer {
 public:
  Printer(std::ostream& stream) : stream_(&stream) {}  // NOLINT(google-explicit-constructor)

  template <std::size_t kSize>
  const Printer& operator<<(const char (&literal)[kSize]) const {
    stream_->write(literal, static_cast<std::streamsize>(kSize - 1));
    return *this;
  }
  template <std::size_t kSize>
  const Printer& operator<<(char (&text)[kSize]) const {
    return *this << std::string_view(text);
  }
  const Printer& operator<<(std::string_view text) const;
  const Printer& operator<<(Composed composed) const;
  const Printer& operator<<(char character) const;
  template <class Number>
  requires std::is_arithmetic_v<Number>
  const Printer& operator<<(Number number) const {
    *stream_ << number;
    return *this;
  }
  /// std::endl and std::flush.
  const Printer& operator<<(std::ostream& (*manipulator)(std::ostream&)) const {
    manipulator(*stream_);
    return *this;
  }

  void flush() const { stream_->flush(); }
  /// Returns whether all text so far was written.
  bool is_good() const { return stream_->good(); }
  /// What the stream is made for, not a way to write to it.
  operator std::ios_base&() const { return *stream_; }  // NOLINT(google-explicit-constructor)

 private:
  std::ostream* stream_;
};

}  // namespace cupel
