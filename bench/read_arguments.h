#pragma once

#include <charconv>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

namespace cupel {

/// An option of a benchmark, and where its value goes: a number of at least 1, or a text.
struct BenchArgument {
  std::string_view option;
  std::variant<int*, std::string*> value;
};

/// Reads "--option value …" into the values. Prints the usage, and returns false, for anything
/// else.
inline bool read_arguments(int argc, char** argv, const char* usage,
                           std::initializer_list<BenchArgument> known) {
  const auto take = [&](std::string_view option, const char* text) {
    for (const BenchArgument& argument : known) {
      if (argument.option != option) continue;
      if (auto* const* const words = std::get_if<std::string*>(&argument.value)) {
        **words = text;
        return true;
      }
      int& number = *std::get<int*>(argument.value);
      const char* const end = text + std::strlen(text);
      const auto [stop, error] = std::from_chars(text, end, number);
      return stop == end && error == std::errc() && number >= 1;
    }
    return false;
  };
  bool is_right = argc % 2 == 1;
  for (int i = 1; is_right && i + 1 < argc; i += 2) is_right = take(argv[i], argv[i + 1]);
  if (!is_right) std::fprintf(stderr, "%s\n", usage);
  return is_right;
}

}  // namespace cupel
