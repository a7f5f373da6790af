// Regular expressions over tensor names, by PCRE2. A pattern is compiled once and is constant from
// then on; each thread has one context with the limits of a search and one stack for machine code.
// The first search of a pattern makes its machine code, unless very many patterns have some. A
// search that exceeds its limits is logged and counts as not found. A pattern that does not compile
// is a UsageError that names the place.

#include "cupel/core/pattern.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <new>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/printable.h"
#include "pcre.h"

namespace cupel {
namespace {

namespace pcre = core_detail::pcre;
using pcre::Code;
using pcre::CompileContext;
using pcre::JitStack;
using pcre::MatchContext;
using pcre::MatchData;
using pcre::units;

// One search may use about 10 ms of backtracking and 8 MiB. Tensor names need a fraction of
// this.
constexpr std::uint32_t kMatchLimit = 1'000'000;
constexpr std::uint32_t kDepthLimit = 10'000;
constexpr std::uint32_t kHeapLimitKib = 8 * 1024;
constexpr std::size_t kMostShownOfName = 200;
constexpr std::size_t kJitStackStart = 32UL * 1024;
constexpr std::size_t kJitStackLimit = 1024UL * 1024;

// One object for each thread. When the process exits, the objects of the thread are destroyed
// before static objects, which may still search; for them an object is made that stays.
template <class Owner, class Make>
typename Owner::pointer of_this_thread(Make make) {
  thread_local typename Owner::pointer current = nullptr;
  if (current != nullptr) return current;
  struct Holder {
    Owner owner;
    ~Holder() { current = nullptr; }
  };
  thread_local bool held = false;
  Owner made(make());
  if (!std::exchange(held, true)) {
    thread_local Holder holder;
    holder.owner = std::move(made);
    return current = holder.owner.get();
  }
  return current = made.release();
}

pcre2_jit_stack* stack_of_this_thread(void* /*unused*/) {
  return of_this_thread<JitStack>(
      [] { return pcre2_jit_stack_create(kJitStackStart, kJitStackLimit, nullptr); });
}

const pcre2_match_context* limits() {
  // Never destroyed: static objects search, too.
  static const pcre2_match_context* const context = [] {
    MatchContext made(pcre2_match_context_create(nullptr));
    if (!made) throw std::bad_alloc();
    pcre2_set_match_limit(made.get(), kMatchLimit);
    pcre2_set_depth_limit(made.get(), kDepthLimit);
    pcre2_set_heap_limit(made.get(), kHeapLimitKib);
    pcre2_jit_stack_assign(made.get(), stack_of_this_thread, nullptr);
    return made.release();
  }();
  return context;
}

pcre2_match_data* match_data_of_this_thread() {
  auto* const data = of_this_thread<MatchData>([] { return pcre2_match_data_create(1, nullptr); });
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

// The number of patterns that have machine code at the moment. The code of a pattern takes a KiB or
// more; beyond the limit, patterns are interpreted.
constexpr std::size_t kMostFast = 10'000;
std::atomic<std::size_t> fast_patterns{0};

}  // namespace

Code core_detail::pcre::compile(std::string_view text, std::uint32_t options) {
  const CompileContext context(pcre2_compile_context_create(nullptr));
  if (!context) throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);  // whatever the library was built with
  options |= PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
  int error = 0;
  PCRE2_SIZE offset = 0;
  Code code(pcre2_compile(units(text), text.size(), options, &error, &offset, context.get()));
  if (!code) {
    std::array<PCRE2_UCHAR, 256> reason{};
    pcre2_get_error_message(error, reason.data(), reason.size());
    throw UsageError("The pattern does not compile: '" + printable(text) + "', offset " +
                     std::to_string(offset) + ": " + reinterpret_cast<const char*>(reason.data()));
  }
  return code;
}

struct Pattern::Compiled {
  explicit Compiled(std::string_view pattern) : text(pattern), code(pcre::compile(pattern, 0)) {}
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (counted) fast_patterns.fetch_sub(1, std::memory_order_relaxed);
  }

  // On processors without JIT, and where memory must not be executable, the interpreter is
  // used.
  void make_fast() const {
    counted = true;
    if (fast_patterns.fetch_add(1, std::memory_order_relaxed) < kMostFast)
      static_cast<void>(pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE));
  }

  std::string text;
  Code code;
  mutable std::once_flag searched;
  mutable bool counted = false;  // written under `searched`
  mutable std::atomic<bool> warned = false;
};

Pattern::Pattern(std::string_view text) : compiled_(std::make_shared<const Compiled>(text)) {}

const std::string& Pattern::text() const noexcept { return compiled_->text; }

std::size_t Pattern::bytes() const noexcept {
  std::size_t of_code = 0;
  pcre2_pattern_info(compiled_->code.get(), PCRE2_INFO_SIZE, &of_code);
  return sizeof(Pattern) + sizeof(Compiled) + compiled_->text.capacity() + of_code;
}

bool Pattern::search(std::string_view name) const {
  const Compiled& compiled = *compiled_;
  std::call_once(compiled.searched, [&] { compiled.make_fast(); });
  // The context is only read by a match; PCRE2's signature lacks the const.
  auto* const context = const_cast<pcre2_match_context*>(limits());
  const int result = pcre2_match(compiled.code.get(), units(name), name.size(), 0, 0,
                                 match_data_of_this_thread(), context);
  if (result < PCRE2_ERROR_NOMATCH && !compiled.warned.exchange(true))
    log(LogLevel::Warning,
        "A search exceeded its limits and counts as not found, as will later ones: pattern '" +
            printable(compiled.text) + "', name '" + printable(name, kMostShownOfName) + "'");
  return result >= 0;
}

void PatternList::add(PatternList others) {
  patterns_.insert(patterns_.end(), others.patterns_.begin(), others.patterns_.end());
}

bool PatternList::matches(std::string_view name) const {
  return std::ranges::any_of(patterns_, [&](const Pattern& each) { return each.search(name); });
}

std::vector<std::string> PatternList::texts() const {
  std::vector<std::string> result;
  result.reserve(patterns_.size());
  for (const Pattern& each : patterns_) result.push_back(each.text());
  return result;
}

}  // namespace cupel
