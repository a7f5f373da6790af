#pragma once

#include <string>

#include "cupel/core/log.h"
#include "cupel/core/printer.h"

namespace cupel {

/// Has what the library logs come out like what commands themselves say on `err`, a line each:
/// "cupel watch: warning: …". Borrows `err`. `command` may be empty.
LogSink command_log_sink(const std::string& command, Printer err);

}  // namespace cupel
