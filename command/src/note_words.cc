// The notes of hooks in words. A note is a JSON object with a kind; each kind has a function that
// makes a sentence of its values. A note comes from a file, so a value may be missing or of another
// type: the note is then printed as it is. Nothing here fails.

#include "note_words.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "amount_text.h"
#include "cupel/core/number_text.h"
#include "cupel/core/printable.h"
#include "cupel/rules/note_json.h"

namespace cupel::command_detail {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostBytes = 300;

// The values of a note. A value that is missing or of another type is nothing.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  std::optional<std::string> text(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end() || !found->is_string()) return std::nullopt;
    return found->get<std::string>();
  }
  std::optional<std::int64_t> integer(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end() || !found->is_number_integer()) return std::nullopt;
    // No hook writes a number beyond the range of signed numbers.
    if (found->is_number_unsigned() && found->get<std::uint64_t>() >> 63U != 0) return std::nullopt;
    return found->get<std::int64_t>();
  }
  std::optional<std::string> percent(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end() || !found->is_number()) return std::nullopt;
    return rounded_text(found->get<double>() * 100) + " %";
  }

 private:
  // Three digits are enough for a share.
  static std::string rounded_text(double number) {
    const double scale = number < 10 ? 100 : 10;
    return short_text(std::round(number * scale) / scale);
  }

  const Json& object_;
};

std::string ordinal(std::int64_t number) {
  const std::int64_t tens = number % 100;
  const bool is_teen = tens >= 11 && tens <= 13;
  const char* ending = "th";
  if (!is_teen && number % 10 == 1) ending = "st";
  if (!is_teen && number % 10 == 2) ending = "nd";
  if (!is_teen && number % 10 == 3) ending = "rd";
  return std::to_string(number) + ending;
}

// The words for a level of saving, which SavingLevel::to_text() names.
std::optional<std::string> level_words(const std::string& level) {
  if (level == "full") return "saving everything";
  if (level == "background") return "saving everything, not waiting for commits";
  if (level == "reductions only") return "saving reductions in place of large raw values";
  constexpr std::string_view kBefore = "1 of ";
  constexpr std::string_view kBehind = " due steps";
  if (!level.starts_with(kBefore) || !level.ends_with(kBehind)) return std::nullopt;
  const std::string_view digits = std::string_view(level).substr(
      kBefore.size(), level.size() - kBefore.size() - kBehind.size());
  const auto every = parse_integer<std::int64_t>(digits);
  if (!every || *every < 2) return std::nullopt;
  return "saving every " + ordinal(*every) + " due step";
}

std::optional<std::string> saving_level(const Fields& note) {
  const auto level = note.text("level");
  const auto words = level ? level_words(*level) : std::nullopt;
  const auto share = note.percent("share");
  const auto budget = note.percent("budget");
  if (!words || !share || !budget) return std::nullopt;
  return *words + ": " + *share + " of the time, the budget is " + *budget;
}

std::optional<std::string> dropped_steps(const Fields& note) {
  const auto first = note.integer("first");
  const auto last = note.integer("last");
  const auto count = note.integer("count");
  const auto why = note.text("why");
  if (!first || !last || !count || !why) return std::nullopt;
  if (*count == 1 && *first == *last)
    return "step " + std::to_string(*first) + " left out: " + *why;
  return "steps " + std::to_string(*first) + " to " + std::to_string(*last) + " left out (" +
         std::to_string(*count) + "): " + *why;
}

std::optional<std::string> hidden_steps(const Fields& note) {
  const auto first = note.integer("first");
  const auto last = note.integer("last");
  const auto attempt = note.integer("attempt");
  if (!first || !last || !attempt) return std::nullopt;
  const std::string steps = *first == *last
                                ? "step " + std::to_string(*first) + " of an earlier attempt is"
                                : "steps " + std::to_string(*first) + " to " +
                                      std::to_string(*last) + " of an earlier attempt are";
  return steps + " hidden by attempt " + std::to_string(*attempt);
}

std::optional<std::string> commit_timeout(const Fields& note) {
  const auto step = note.integer("step");
  const auto waited = note.integer("waited_ms");
  if (!step || !waited) return std::nullopt;
  // "without waiting" where an earlier commit was late.
  if (*waited == 0)
    return "step " + std::to_string(*step) + " was not committed when the next one began";
  return "step " + std::to_string(*step) + " was not committed within " + std::to_string(*waited) +
         " ms";
}

std::optional<std::string> disabled(const Fields& note) {
  const auto step = note.integer("after_step");
  if (!step) return std::nullopt;
  if (*step < 0) return "saving ended before any step was committed";
  return "saving ended after step " + std::to_string(*step);
}

std::optional<std::string> uploads_behind(const Fields& note) {
  const auto seconds = note.integer("seconds");
  const auto segments = note.integer("segments");
  const auto bytes = note.integer("bytes");
  const auto why = note.text("why");
  if (!seconds || *seconds < 0 || !segments || *segments < 0 || !bytes || *bytes < 0 || !why)
    return std::nullopt;
  return count_text(static_cast<std::uint64_t>(*segments), "segment") + ", " +
         bytes_text(static_cast<std::uint64_t>(*bytes)) + ", waiting to be uploaded for " +
         std::to_string(*seconds) + " s: " + *why;
}

std::optional<std::string> uploads_recovered(const Fields& note) {
  const auto seconds = note.integer("seconds");
  if (!seconds || *seconds < 0) return std::nullopt;
  return "uploads have caught up after " + std::to_string(*seconds) + " s";
}

std::optional<std::string> words_of(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  const Fields note(json);
  const std::string kind = note.text("kind").value_or("");
  if (kind == "saving_level") return saving_level(note);
  if (kind == "dropped_steps") return dropped_steps(note);
  if (kind == "hidden_steps") return hidden_steps(note);
  if (kind == "commit_timeout") return commit_timeout(note);
  if (kind == "uploads_behind") return uploads_behind(note);
  if (kind == "uploads_recovered") return uploads_recovered(note);
  if (kind == "disabled") return disabled(note);
  return std::nullopt;
}

}  // namespace

std::string note_in_words(std::string_view text) {
  return printable(words_of(Json::parse(note_json(text))).value_or(std::string(text)), kMostBytes);
}

}  // namespace cupel::command_detail
