#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace cupel::core_detail::pcre {

template <class T, void (*kFree)(T*)>
struct Deleter {
  void operator()(T* object) const noexcept { kFree(object); }
};
template <class T, void (*kFree)(T*)>
using Handle = std::unique_ptr<T, Deleter<T, kFree>>;

using Code = Handle<pcre2_code, pcre2_code_free>;
using CompileContext = Handle<pcre2_compile_context, pcre2_compile_context_free>;
using MatchContext = Handle<pcre2_match_context, pcre2_match_context_free>;
using MatchData = Handle<pcre2_match_data, pcre2_match_data_free>;
using JitStack = Handle<pcre2_jit_stack, pcre2_jit_stack_free>;

inline PCRE2_SPTR units(std::string_view text) noexcept {
  return reinterpret_cast<PCRE2_SPTR>(text.empty() ? "" : text.data());
}

/// Compiles a pattern in cupel's dialect, with PCRE2's `options` beside it. Throws UsageError
/// naming the pattern, the place and the reason.
Code compile(std::string_view text, std::uint32_t options);

}  // namespace cupel::core_detail::pcre
