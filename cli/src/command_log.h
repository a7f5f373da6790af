#pragma once

#include <iosfwd>
#include <string>

#include "cupel/core/log.h"

namespace cupel {

/// Has what the library logs come out like what commands themselves say on `err`, a line each:
/// "cupel watch: warning: …". Borrows `err`. `command` may be empty.
LogSink command_log_sink(const std::string& command, std::ostream& err);

}  // namespace cupel
