#pragma once

#include <cstdint>
#include <string>

namespace cupel {

/// A message of a hook to the readers of a run, such as the reason for missing data (Trial::notes).
struct Note {
  /// The global step with which the note was committed.
  std::int64_t step = 0;
  /// The worker whose hook wrote the note.
  std::string worker;
  /// The note itself, as JSON text.
  std::string text;
};

}  // namespace cupel
