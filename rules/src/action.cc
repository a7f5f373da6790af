// Actions as a command line writes them, and as lines and logs show them.
//
// parse_action() accepts what a user may ask for and refuses processes that must not be signalled.
// to_text() is its inverse, except that it leaves out secrets of a URL. Pure functions, for any
// thread; a text that is no action is a UsageError.

#include "cupel/rules/action.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <limits>

#include "action_defect.h"
#include "cupel/core/ascii.h"
#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "cupel/core/printable.h"
#include "url_parts.h"

namespace cupel {

using namespace rules_detail;

namespace {

constexpr std::string_view kLegalActions = "stop, signal:PID[:SIGNAL], exec:COMMAND or webhook:URL";

struct NamedSignal {
  std::string_view name;
  int number;
};
constexpr std::array kSignals = {
    NamedSignal{"HUP", SIGHUP},   NamedSignal{"INT", SIGINT},     NamedSignal{"QUIT", SIGQUIT},
    NamedSignal{"ABRT", SIGABRT}, NamedSignal{"KILL", SIGKILL},   NamedSignal{"USR1", SIGUSR1},
    NamedSignal{"USR2", SIGUSR2}, NamedSignal{"ALRM", SIGALRM},   NamedSignal{"TERM", SIGTERM},
    NamedSignal{"CONT", SIGCONT}, NamedSignal{"STOP", SIGSTOP},   NamedSignal{"TSTP", SIGTSTP},
    NamedSignal{"PIPE", SIGPIPE}, NamedSignal{"WINCH", SIGWINCH}, NamedSignal{"SEGV", SIGSEGV},
};

int parse_signal(std::string_view text) {
  if (const auto number = parse_integer<std::int64_t>(text))
    if (*number >= 1 && *number < NSIG) return static_cast<int>(*number);
  std::string name = upper_case(text);
  if (name.starts_with("SIG")) name.erase(0, 3);
  std::string legal;
  for (const NamedSignal& known : kSignals) {
    if (known.name == name) return known.number;
    legal += (legal.empty() ? "" : ", ") + std::string(known.name);
  }
  throw UsageError("A signal is a number or one of " + legal + ": " + printable(text));
}

Action parse_signal_action(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view process = text.substr(0, colon);
  const auto number = parse_integer<std::int64_t>(process);
  // 0 and negative numbers are groups, 1 is everybody's parent.
  if (!number || *number <= 1 || *number > std::numeric_limits<pid_t>::max())
    throw UsageError("signal:PID needs the number of a process, above 1: " + printable(process));
  if (*number == ::getpid())
    throw UsageError("signal:PID must not be the process that watches: " + printable(process));
  const int signal =
      colon == std::string_view::npos ? SIGTERM : parse_signal(text.substr(colon + 1));
  return {.kind = Action::Kind::Signal, .process = *number, .signal = signal};
}

void refuse(std::string_view form, const std::string& defect) {
  if (!defect.empty()) throw UsageError(std::string(form) + " " + defect);
}

}  // namespace

Action parse_action(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string_view rest =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (text == "stop") return {.kind = Action::Kind::Stop};
  if (name == "signal") return parse_signal_action(rest);
  if (name == "exec") {
    refuse("The command of exec:COMMAND", command_defect(rest));
    return {.kind = Action::Kind::Exec, .target = std::string(rest)};
  }
  if (name == "webhook") {
    // Not shown: it may hold a secret.
    refuse("The address of webhook:URL", url_defect(rest));
    return {.kind = Action::Kind::Webhook, .target = std::string(rest)};
  }
  throw UsageError("An action is " + std::string(kLegalActions) + ": " + printable(name));
}

std::string to_text(const Action& action) {
  switch (action.kind) {
    case Action::Kind::Stop:
      return "stop";
    case Action::Kind::Signal: {
      const std::string name = signal_name(action.signal);
      return "signal:" + std::to_string(action.process) + ":" +
             (name.starts_with("SIG") ? name.substr(3) : std::to_string(action.signal));
    }
    case Action::Kind::Exec:
      return "exec:" + action.target;
    case Action::Kind::Webhook: {
      const UrlParts parts = split_url(action.target);
      return "webhook:" + std::string(parts.scheme) + std::string(parts.host) +
             std::string(parts.path);
    }
    case Action::Kind::StopFile:
      return "stopfile:" + action.target;
    case Action::Kind::Log:
      return "log";
    case Action::Kind::Email:
      return "email:" + action.target;
    case Action::Kind::Sms:
      return "sms:" + action.target;
  }
  return {};
}

std::string signal_name(int signal) {
  for (const NamedSignal& known : kSignals)
    if (known.number == signal) return "SIG" + std::string(known.name);
  return "signal " + std::to_string(signal);
}

std::string_view to_string(ActionResult result) noexcept {
  switch (result) {
    case ActionResult::Done:
      return "done";
    case ActionResult::Failed:
      return "failed";
    case ActionResult::Planned:
      return "planned";
  }
  return "";
}

}  // namespace cupel
