#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "scripting/script_fixture.h"

namespace cupel::testing {

/// One file of attacks/: a chunk for a bare sandbox, and what is to stop it.
struct Attack {
  std::string name;
  std::string reason;
  std::string text;
};
inline void PrintTo(const Attack& attack, std::ostream* out) { *out << attack.name; }

/// Those that say this reason; all for an empty one.
std::vector<Attack> attacks(const std::string& reason = {});

/// What they run in: a sandbox with the functions that make values, and modules to require.
class AttackedScript : public Script {
 public:
  explicit AttackedScript(const ScriptLimits& limits);
};

}  // namespace cupel::testing
