#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel {

/// What a runner does when a rule fires. A value: making an Action does nothing.
struct Action {
  enum class Kind {
    Stop,      ///< Asks training to stop: Hook::stop_requested() becomes true.
    Signal,    ///< Sends `signal` to `process`.
    Exec,      ///< Runs `target` with the shell, the verdict as JSON on its standard input.
    Webhook,   ///< Posts the verdict to the URL `target`.
    StopFile,  ///< Creates the file `target`.
    Log,       ///< Logs one warning.
    Email,     ///< Gives a message for the address `target` to the command in CUPEL_MAIL_COMMAND.
    Sms,       ///< Gives a message for the number `target` to the command in CUPEL_SMS_COMMAND.
  };
  Kind kind = Kind::Stop;
  std::string target = {};   ///< The command, URL, file, address or number.
  std::int64_t process = 0;  ///< The process that Signal is for.
  int signal = 0;            ///< The number of the signal.
  /// The timeout of one attempt; unset: 60 s for commands, 10 s for a webhook.
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;

  friend bool operator==(const Action&, const Action&) = default;
};

/// Reads an action as a command line gives it: "stop", "signal:PID[:SIGNAL]" (TERM unless named or
/// numbered), "exec:COMMAND", "webhook:URL". Throws UsageError, with what is legal, also for a
/// process that must not be signalled: this one, 1, and groups of processes.
Action parse_action(std::string_view text);

/// Reads a rule's `action_json`: an object or an array of objects whose `name` is stoptraining,
/// email, sms, exec, webhook, stopfile or log, in any case. Empty text: no action. An action that
/// cannot be used is left out, and a warning added; nothing is thrown for any text.
std::vector<Action> parse_action_json(std::string_view text, std::vector<std::string>& warnings);

/// Returns the action as lines and logs name it, in the form of the command line. The URL of a
/// webhook is without user, password, query and fragment: they may be secrets.
std::string to_text(const Action& action);

/// Returns "SIGTERM", or "signal 99" where the signal has no name.
std::string signal_name(int signal);

/// The result of an action. Planned: the runner was asked for a dry run.
enum class ActionResult { Done, Failed, Planned };
std::string_view to_string(ActionResult result) noexcept;  ///< "done", "failed", "planned"

/// The outcome of an action; the message of its line has it in words.
struct ActionOutcome {
  std::string action = {};                   ///< The action, as to_text() writes it.
  ActionResult result = ActionResult::Done;  ///< The result of the last attempt.
  std::int64_t attempts = 0;                 ///< The number of attempts.
};

}  // namespace cupel
