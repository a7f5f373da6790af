#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel {

/// What is to be done when a rule fires. A value; nothing is done by making one.
struct Action {
  enum class Kind {
    Stop,      ///< Asks training to stop: Hook::stop_requested() becomes true.
    Signal,    ///< Sends `signal` to `process`.
    Exec,      ///< Runs `target` with the shell, the verdict as JSON on its standard input.
    Webhook,   ///< Posts the verdict to the URL `target`.
    StopFile,  ///< Creates the file `target`.
    Log,       ///< Logs one warning.
    Email,     ///< Gives a message for the address `target` to the command in CUPEL_MAIL_COMMAND.
    Sms,       ///< Gives one for the number `target` to the command in CUPEL_SMS_COMMAND.
  };
  Kind kind = Kind::Stop;
  std::string target = {};
  std::int64_t process = 0;
  int signal = 0;
  /// Of one attempt; unset: 60 s for commands, 10 s for a webhook.
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;

  friend bool operator==(const Action&, const Action&) = default;
};

/// Reads an action as a command line gives it: "stop", "signal:PID[:SIGNAL]" (TERM unless named or
/// numbered), "exec:COMMAND", "webhook:URL". Throws UsageError that says what is legal, also for a
/// process that must not be signalled: this one, 1, and groups of processes.
Action parse_action(std::string_view text);

/// Reads a rule's `action_json`: an object or an array of objects whose `name` is stoptraining,
/// email, sms, exec, webhook, stopfile or log, in any case. Empty text: no action. What cannot be
/// used is left out with a warning; nothing is thrown for any text.
std::vector<Action> parse_action_json(std::string_view text, std::vector<std::string>& warnings);

/// The action as lines and logs name it, in the form of the command line. A webhook's URL comes
/// without user, password, query and fragment: they may be secrets.
std::string to_text(const Action& action);

/// "SIGTERM", or "signal 99" where it has no name.
std::string signal_name(int signal);

enum class ActionResult { Done, Failed, Planned };
std::string_view to_string(ActionResult result) noexcept;  ///< "done", "failed", "planned"

/// What became of an action, in words in the message of its line.
struct ActionOutcome {
  std::string action = {};  ///< to_text()
  ActionResult result = ActionResult::Done;
  std::int64_t attempts = 0;
};

}  // namespace cupel
