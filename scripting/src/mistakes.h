#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/load_rules.h"
#include "field_lines.h"
#include "rule_source.h"

namespace cupel::scripting_detail {

/// The call of a function in a script, where a mistake was made.
struct CallSite {
  std::string chunk = {};  ///< The file's name. Empty: the file of rules.
  RuleCall call = {};      ///< Line 0: not known.
  bool operator==(const CallSite&) const = default;
};

/// Collects the mistakes in what a script declares, each with the field that it is about.
///
/// The first hundred are kept, and the others are counted. One thread uses it.
class Mistakes {
 public:
  struct Mistake {
    CallSite site;
    std::string path;  ///< The field in the table of the call, "params.threshold". Empty: none.
    std::string message;
    std::string hint;
  };

  /// Sets the call that the following mistakes are in.
  void set_site(CallSite site) { site_ = std::move(site); }
  /// Adds a mistake about the field `key` of the table that is being read. A message that ends
  /// with "; did you mean …?" is split into the message and the hint.
  void add(std::string_view key, std::string message, std::string hint = {});

  /// Sets the hint of the latest mistake about the field `key` of the table that is being read.
  void set_hint(std::string_view key, std::string hint);
  /// Whether the hint of a mistake in this call names the field `key`, which is misspelt there.
  bool suggests(std::string_view key) const;
  /// Counts mistakes of which nothing else is known.
  void count(std::size_t mistakes) { size_ += mistakes; }

  /// Returns the number of all mistakes.
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  /// Returns the mistakes that were kept, in the order in which they were added.
  const std::vector<Mistake>& kept() const noexcept { return kept_; }
  /// Returns the messages of the mistakes that were kept, with their hints, separated by "; ".
  std::string text() const;

  /// As long as it lives, keys are those of the table that is the value of `key`.
  class Inside {
   public:
    Inside(Mistakes& mistakes, std::string_view key);
    ~Inside() { mistakes_.inside_.resize(size_); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Mistakes& mistakes_;
    std::size_t size_;
  };

 private:
  std::string path_of(std::string_view key) const;
  CallSite site_;
  std::string inside_;  // "params.threshold."
  std::vector<Mistake> kept_;
  std::size_t size_ = 0;
};

/// Finds the line of each mistake in the text of the file. Returns the problems in the order of
/// their lines; those of modules come after those of the file. Mistakes with one line and one
/// message, as of a function that makes several rules, are one problem. The last problem counts
/// the mistakes that were not kept.
std::vector<RuleProblem> problems_of(const Mistakes& mistakes, const RuleSource& source);

}  // namespace cupel::scripting_detail
