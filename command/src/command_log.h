#pragma once

#include <string>

#include "cupel/core/log.h"
#include "cupel/core/printer.h"

namespace cupel::command_detail {

/// Returns a sink that prints what the libraries log on `err`, in the form of the messages of the
/// command itself, one a line: "cupel watch: warning: …". `command` is "cupel watch". The sink
/// borrows `err`, and several threads may call it.
LogSink command_log_sink(const std::string& command, Printer err);

}  // namespace cupel::command_detail
