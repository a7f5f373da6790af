#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel {

/// A regular expression (PCRE2 dialect) from an untrusted source, over untrusted texts. A search
/// returns where the pattern was found, and can be interrupted.
///
/// Compiled once, cheap to copy, usable from any thread. Pattern is the faster one, for names.
class TextPattern {
 public:
  static constexpr std::size_t kLongest = 2000;
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  /// Bytes [begin, end) of the text; kNowhere: a group that took no part.
  struct Range {
    std::size_t begin = kNowhere;
    std::size_t end = kNowhere;
  };
  enum class Outcome : std::uint8_t {
    Found,
    NotFound,
    LimitReached,  ///< Too many attempts, or more than 2 MiB for them.
    Interrupted,   ///< By the caller.
  };
  struct Search {
    std::size_t from = 0;        ///< Where in the text to begin; look-behind sees what is before.
    bool empty_at_start = true;  ///< Whether an empty match may begin there.
    bool is_known_utf8 = false;  ///< The text is known to be UTF-8.
    /// Called at each step of an attempt; false interrupts the search. It must not throw.
    std::function<bool()> go_on = {};
  };

  /// Throws UsageError naming the pattern, the place and the reason when it does not compile or is
  /// longer than kLongest.
  explicit TextPattern(std::string_view text);

  /// Searches `text`. Found: `groups` holds the range of the whole, then one for each group.
  Outcome search(std::string_view text, const Search& how, std::vector<Range>& groups) const;

  std::size_t bytes() const noexcept;  ///< Of the compiled pattern.
  std::size_t group_count() const noexcept;
  std::optional<std::size_t> group_named(const std::string& name) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace cupel
