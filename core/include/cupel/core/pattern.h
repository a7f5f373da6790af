#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel {

/// A regular expression over tensor names (PCRE2 dialect: look-ahead and look-behind work).
///
/// It is *searched anywhere* in the name, case sensitive and not anchored unless it says so:
/// "relu*" finds every name that contains "rel". Compiled once, cheap to copy, usable from any
/// thread. Machine code is made of it at the first search.
class Pattern {
 public:
  /// Throws UsageError naming the pattern, the place and the reason when it does not compile.
  explicit Pattern(std::string_view text);

  const std::string& text() const noexcept;

  /// Whether the pattern is found in `name`. A search that exceeds the match limits counts as not
  /// found and is logged; it never runs away.
  bool search(std::string_view name) const;

  /// Returns the bytes of memory of the pattern, without its machine code.
  std::size_t bytes() const noexcept;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

/// Patterns of which any may match; made from a string or a list of strings.
class PatternList {
 public:
  PatternList() = default;
  PatternList(const char* pattern) : PatternList(std::string_view(pattern)) {}
  PatternList(std::string_view pattern) { patterns_.emplace_back(pattern); }
  PatternList(const std::string& pattern) : PatternList(std::string_view(pattern)) {}
  PatternList(std::initializer_list<std::string_view> patterns) { add_all(patterns); }
  PatternList(const std::vector<std::string>& patterns) { add_all(patterns); }

  /// Appends a pattern or several: `add("relu")`, `add({"relu", "tanh"})`. One that does not
  /// compile throws UsageError and leaves the list as it was.
  void add(PatternList others);
  void add_compiled(Pattern pattern) { patterns_.push_back(std::move(pattern)); }

  bool empty() const noexcept { return patterns_.empty(); }
  bool matches(std::string_view name) const;
  std::span<const Pattern> patterns() const noexcept { return patterns_; }
  std::vector<std::string> texts() const;

 private:
  template <class Texts>
  void add_all(const Texts& texts) {
    patterns_.reserve(texts.size());
    for (const auto& text : texts) patterns_.emplace_back(std::string_view(text));
  }
  std::vector<Pattern> patterns_;
};

}  // namespace cupel
