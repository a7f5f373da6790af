// PCRE2's limits count attempts from each place of the text anew, and its JIT compiler's code
// counts only some of them. So the interpreter is used, and calls back (a callout) before each item
// of the pattern that it tries: between two calls it goes through the text once at most.

#include "cupel/core/text_pattern.h"

#include <new>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/utf8.h"
#include "pcre.h"

namespace cupel {
namespace {

namespace pcre = core_detail::pcre;

constexpr std::uint32_t kSearchMatchLimit = 10'000'000;
constexpr std::uint32_t kSearchHeapLimitKib = 2 * 1024;

// Called from C, through which no exception may pass.
int on_item(pcre2_callout_block* /*where*/, void* search) noexcept {
  return static_cast<const TextPattern::Search*>(search)->go_on() ? 0 : PCRE2_ERROR_CALLOUT;
}

pcre::Code compile(std::string_view text) {
  if (text.size() > TextPattern::kLongest)
    throw UsageError("The pattern is longer than " + std::to_string(TextPattern::kLongest) +
                     " bytes");
  return pcre::compile(text, PCRE2_AUTO_CALLOUT);
}

}  // namespace

struct TextPattern::Compiled {
  explicit Compiled(std::string_view text) : code(compile(text)) {
    std::uint32_t count = 0;
    pcre2_pattern_info(code.get(), PCRE2_INFO_CAPTURECOUNT, &count);
    groups = count;
    pcre2_pattern_info(code.get(), PCRE2_INFO_SIZE, &bytes);
  }
  pcre::Code code;
  std::size_t groups = 0;
  std::size_t bytes = 0;
};

TextPattern::TextPattern(std::string_view text) : compiled_(std::make_shared<Compiled>(text)) {}

std::size_t TextPattern::bytes() const noexcept { return sizeof(Compiled) + compiled_->bytes; }

std::size_t TextPattern::group_count() const noexcept { return compiled_->groups; }

std::optional<std::size_t> TextPattern::group_named(const std::string& name) const {
  const int number = pcre2_substring_number_from_name(compiled_->code.get(), pcre::units(name));
  return number > 0 ? std::optional(static_cast<std::size_t>(number)) : std::nullopt;
}

TextPattern::Outcome TextPattern::search(std::string_view text, const Search& how,
                                         std::vector<Range>& groups) const {
  groups.clear();
  if (how.from > text.size()) return Outcome::NotFound;
  const pcre::MatchContext context(pcre2_match_context_create(nullptr));
  const pcre::MatchData data(pcre2_match_data_create_from_pattern(compiled_->code.get(), nullptr));
  if (!context || !data) throw std::bad_alloc();
  pcre2_set_match_limit(context.get(), kSearchMatchLimit);
  pcre2_set_heap_limit(context.get(), kSearchHeapLimitKib);
  if (how.go_on) pcre2_set_callout(context.get(), on_item, const_cast<Search*>(&how));
  std::uint32_t options = PCRE2_NO_JIT;
  if (!how.empty_at_start) options |= PCRE2_NOTEMPTY_ATSTART;
  if (how.is_known_utf8) options |= PCRE2_NO_UTF_CHECK;
  // PCRE2 does not check the text again, so it must begin with a whole character.
  std::size_t from = how.from;
  while (how.is_known_utf8 && from < text.size() && is_continuation(text[from])) ++from;
  const int result = pcre2_match(compiled_->code.get(), pcre::units(text), text.size(), from,
                                 options, data.get(), context.get());
  if (result == PCRE2_ERROR_NOMATCH) return Outcome::NotFound;
  if (result == PCRE2_ERROR_CALLOUT) return Outcome::Interrupted;
  if (result < 0) return Outcome::LimitReached;
  const PCRE2_SIZE* const places = pcre2_get_ovector_pointer(data.get());
  for (std::size_t group = 0; group <= compiled_->groups; ++group) {
    const Range range{places[2 * group], places[2 * group + 1]};
    // \K in a look-ahead may put the beginning behind the end.
    const bool is_one = range.begin <= range.end && range.end <= text.size();
    groups.push_back(is_one ? range : Range{});
  }
  return groups.front().begin == kNowhere ? Outcome::NotFound : Outcome::Found;
}

}  // namespace cupel
