#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testing {

/// A character that no output of cupel shows raw, and a name for it.
struct HostileCharacter {
  std::string_view name;
  std::string_view bytes;
};

/// One of each class: C0, DEL, C1, bidirectional controls, zero-width characters, separators, tags,
/// and a byte that is no UTF-8.
inline constexpr std::array kHostileCharacters = {
    HostileCharacter{"escape", "\x1b"},
    HostileCharacter{"carriage return", "\r"},
    HostileCharacter{"bell", "\x07"},
    HostileCharacter{"DEL", "\x7f"},
    HostileCharacter{"U+009B", "\xc2\x9b"},
    HostileCharacter{"U+200E", "\xe2\x80\x8e"},
    HostileCharacter{"U+061C", "\xd8\x9c"},
    HostileCharacter{"U+202E", "\xe2\x80\xae"},
    HostileCharacter{"U+2066", "\xe2\x81\xa6"},
    HostileCharacter{"U+200B", "\xe2\x80\x8b"},
    HostileCharacter{"U+2060", "\xe2\x81\xa0"},
    HostileCharacter{"U+FEFF", "\xef\xbb\xbf"},
    HostileCharacter{"U+180E", "\xe1\xa0\x8e"},
    HostileCharacter{"U+2028", "\xe2\x80\xa8"},
    HostileCharacter{"U+E0041", "\xf3\xa0\x81\x81"},
};

/// All of them, with a line end that would forge a line "forged".
inline std::string hostile_text() {
  std::string text = "h";
  for (const HostileCharacter& each : kHostileCharacters) text += each.bytes;
  return text + "\nforged";
}

/// The names of what is raw in an output.
inline std::vector<std::string> raw_in(std::string_view output) {
  std::vector<std::string> found;
  for (const HostileCharacter& each : kHostileCharacters)
    if (output.find(each.bytes) != std::string_view::npos) found.emplace_back(each.name);
  if (output.find("\nforged") != std::string_view::npos) found.emplace_back("line end");
  return found;
}

}  // namespace cupel::testing
