// Exactly once, whenever we are killed:
//
//   command   The shell that is begun claims the attempt itself, runs the command, and leaves its
//             status. Killed before: there is no claim, and the next queue begins. Killed after:
//             the shell lives on, and the next of us finds the claim and waits for the status. Both
//             at once: one of the two shells gets the claim, the other ends.
//   signal    Claimed, sent, recorded: at most once.
//   webhook   Claimed, so that the attempt counts, sent, then recorded: at least once, unless each
//             of the three attempts is killed. The receiver learns the incident from the message.
//   others    Done, then recorded: at least once, after any number of kills. Writing a stop request
//             or a file twice has the effect of writing it once. Stops that are one request are not
//             recorded here: until the runner has reported them, the next one repeats the request.

#include "action_performer.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "claims.h"
#include "command.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/new_file.h"
#include "cupel/core/number_text.h"
#include "cupel/core/printable.h"
#include "cupel/trial/stop_request.h"
#include "exception_text.h"
#include "file_handle.h"
#include "webhook.h"

namespace cupel::rules_detail {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Kind = Action::Kind;

constexpr const char* kShell = "/bin/sh";
constexpr milliseconds kPause{16};
// An empty claim that is older than this belongs to a process that was killed while it wrote.
constexpr milliseconds kLongestClaiming{1000};
constexpr std::size_t kMostVariableBytes = 16U << 10U;
constexpr const char* kEndedEarly = "was ended, because the watch ended";

// $1: the path of the claim, $2: the command. noclobber makes the creation of files exclusive.
// Where the order is gone, it was performed and reported before this shell came to its claim.
constexpr const char* kSupervisor =
    "mask=$(umask)\n"
    "umask 077\n"
    "set -C\n"
    "echo $$ > \"$1.claim\" || exit 0\n"
    "[ -e \"$1.order\" ] || { rm -f \"$1.claim\"; exit 0; }\n"
    "(set +C; umask \"$mask\"; exec /bin/sh -c \"$2\")\n"
    "status=$?\n"
    "rm -f \"$1.$$.tmp\"\n"
    "echo $status > \"$1.$$.tmp\" && mv \"$1.$$.tmp\" \"$1.done\"\n";

std::string variable(std::string_view text) { return printable(text, kMostVariableBytes); }

std::string from_environment(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::string in_seconds(milliseconds time) {
  return short_text(static_cast<double>(time.count()) / 1000) + " s";
}

std::string process_text(const Action& action) {
  return signal_name(action.signal) + " to process " + std::to_string(action.process);
}

bool is_message(Kind kind) { return kind == Kind::Email || kind == Kind::Sms; }
bool is_command(Kind kind) { return kind == Kind::Exec || is_message(kind); }

std::string subject_of(const VerdictLine& line) { return "SMDebugRule:" + line.rule + " fired"; }

// A line that mailx would take for a command of its own, "~", or a server for the end of a mail,
// ".", begins with a blank.
std::string mail_line(std::string_view text) {
  const bool is_command = text.starts_with('~') || text.starts_with('.');
  return (is_command ? " " : "") + variable(text) + "\n";
}

std::string body_of(const VerdictLine& line) {
  return mail_line(subject_of(line) + " at step " + std::to_string(line.step.value_or(0))) +
         mail_line(line.message);
}

Attempt exited_with(int status) {
  if (status < 0) return {false, false, "the command ended, and its status was damaged"};
  return {status == 0, status != 0, "the command ended with status " + std::to_string(status)};
}

Attempt attempt_of(const CommandEnd& end, milliseconds timeout) {
  switch (end.how) {
    case CommandEnd::How::Exited:
      return exited_with(end.status);
    case CommandEnd::How::Killed:
      return {false, true, "the command was ended by " + signal_name(end.status)};
    case CommandEnd::How::TooLong:
      return {false, true,
              "the command was ended, because it ran longer than " + in_seconds(timeout)};
    case CommandEnd::How::Stopped:
      return {false, false, std::string("the command ") + kEndedEarly};
    case CommandEnd::How::Unknown:
      break;
  }
  return {false, false, "the command ended, and its status is not known"};
}

// What became of an attempt that was begun, perhaps by an earlier process.
Attempt follow_claim(const std::string& path, milliseconds timeout, const GoOn& go_on) {
  const Clock::time_point begin = Clock::now();
  while (true) {
    // In this order: who is gone has recorded all that it ever will.
    ClaimHolder holder = claim_holder(path);
    if (const std::optional<int> status = done_status(path)) return exited_with(*status);
    const auto waited = Clock::now() - begin;
    if (holder == ClaimHolder::Unwritten && waited > kLongestClaiming) holder = ClaimHolder::Gone;
    if (holder == ClaimHolder::None)
      return {false, true, "the command was not run, because nobody can claim it: " + path};
    if (holder == ClaimHolder::Gone)
      return {false, false,
              "the command was begun, perhaps by an earlier watch, and ended without leaving its "
              "status; it is not run again"};
    if (waited > timeout)
      return {false, false,
              "the command was begun by an earlier watch and still runs after " +
                  in_seconds(timeout) + "; it is not run again"};
    if (!go_on(kPause))
      return {false, false,
              "the command was begun by an earlier watch, and goes on without being waited for"};
  }
}

// Returns what `perform` returns, or an attempt that failed with the error that it threw.
template <class Perform>
Attempt attempt_or_error(Perform&& perform) {
  try {
    return perform();
  } catch (const StoreError& error) {
    return {false, error.retryable, exception_text(error)};
  } catch (const UsageError& error) {
    return {false, false, exception_text(error)};
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return {false, true, error.what()};
  }
}

void create_stop_file(const std::string& path) {
  require_regular(FileHandle(open_or_create_file(AT_FDCWD, path.c_str(), O_WRONLY | O_NONBLOCK,
                                                 FileAccess::Umask)),
                  path);
}

}  // namespace

bool is_quick(Kind kind) noexcept { return !is_command(kind) && kind != Kind::Webhook; }

ActionPerformer::ActionPerformer(PerformerOptions options)
    : options_(std::move(options)),
      mail_command_(from_environment("CUPEL_MAIL_COMMAND")),
      sms_command_(from_environment("CUPEL_SMS_COMMAND")) {
  if (options_.webhook_authority.empty())
    options_.webhook_authority = from_environment("SSL_CERT_FILE");
}

ActionPerformer::~ActionPerformer() = default;

Attempt ActionPerformer::perform(const ActionOrder& order, int attempt, const GoOn& go_on) {
  return attempt_or_error([&] {
    if (!options_.claims_directory.empty()) make_claims_directory(options_.claims_directory);
    if (is_command(order.action.kind)) return run(order, attempt, go_on);
    return perform_once(order, attempt, go_on);
  });
}

Attempt ActionPerformer::perform_stops(const ActionOrder& last, const GoOn& go_on) {
  return attempt_or_error([&] { return perform_unrecorded(last, go_on); });
}

int ActionPerformer::attempts_begun(const ActionOrder& order) const {
  const std::string& directory = options_.claims_directory;
  if (directory.empty() || order.action.kind != Kind::Webhook) return 0;
  if (done_status(claim_path(directory, order.incident, 1)) == 0) return 0;
  int begun = 0;
  while (claim_holder(claim_path(directory, order.incident, begun + 1)) != ClaimHolder::None)
    ++begun;
  return begun;
}

Attempt ActionPerformer::perform_once(const ActionOrder& order, int attempt, const GoOn& go_on) {
  if (options_.claims_directory.empty()) return perform_unrecorded(order, go_on);
  const std::string path = claim_path(options_.claims_directory, order.incident, 1);
  if (done_status(path) == 0) return {true, false, "was done by an earlier watch"};
  // The claim of each attempt makes it count, also for the queue that resumes after a kill.
  const bool is_ours = take_claim(claim_path(options_.claims_directory, order.incident, attempt));
  if (order.action.kind == Kind::Signal && !is_ours)
    return {false, false,
            "an earlier watch ended while it sent " + process_text(order.action) +
                "; it is not sent again"};
  Attempt made = perform_unrecorded(order, go_on);
  if (made.succeeded) record_done(path, 0);
  return made;
}

Attempt ActionPerformer::perform_unrecorded(const ActionOrder& order, const GoOn& go_on) {
  const VerdictLine& line = order.line;
  switch (order.action.kind) {
    case Kind::Stop:
      request_stop(options_.run, {line.rule, line.step.value_or(0), line.message},
                   options_.schemes);
      return {true, false, "stop_training was written"};
    case Kind::Signal:
      return send_signal(order);
    case Kind::Webhook:
      return post(order, go_on);
    case Kind::StopFile:
      create_stop_file(order.action.target);
      return {true, false, "the file is there"};
    case Kind::Log:
      log(LogLevel::Warning, printable(line.name) + " fired at step " +
                                 std::to_string(line.step.value_or(0)) + ": " +
                                 printable(line.message));
      return {true, false, "a warning was logged"};
    case Kind::Exec:
    case Kind::Email:
    case Kind::Sms:
      break;
  }
  return run(order, 1, go_on);
}

Attempt ActionPerformer::send_signal(const ActionOrder& order) const {
  const Action& action = order.action;
  // Checked again: who made the action may not be the parser, and we may be another process.
  if (action.process <= 1 || action.process == ::getpid())
    return {false, false, "process " + std::to_string(action.process) + " must not be signalled"};
  if (::kill(static_cast<pid_t>(action.process), action.signal) == 0)
    return {true, false, "sent " + process_text(action)};
  const bool is_gone = errno == ESRCH;
  return {false, false,
          is_gone ? "there is no process " + std::to_string(action.process)
                  : process_text(action) + ": " + std::generic_category().message(errno)};
}

const std::string& ActionPerformer::command_of(const Action& action) const {
  if (action.kind == Kind::Email) return mail_command_;
  if (action.kind == Kind::Sms) return sms_command_;
  return action.target;
}

Attempt ActionPerformer::run(const ActionOrder& order, int attempt, const GoOn& go_on) const {
  const Action& action = order.action;
  const VerdictLine& line = order.line;
  const std::string& text = command_of(action);
  if (text.empty()) return {false, false, plan(action)};
  Command command;
  command.environment = {
      {"CUPEL_RULE", variable(line.rule)},
      {"CUPEL_NAME", variable(line.name)},
      {"CUPEL_STEP", std::to_string(line.step.value_or(0))},
      {"CUPEL_TRIAL", options_.run.empty() ? variable(line.trial) : options_.run},
      {"CUPEL_MESSAGE", variable(line.message)},
      {"CUPEL_INCIDENT", incident_text(order.incident)},
  };
  if (is_message(action.kind)) {
    command.environment.emplace_back("CUPEL_ENDPOINT", action.target);
    command.environment.emplace_back("CUPEL_SUBJECT", variable(subject_of(line)));
    command.input = body_of(line);
  } else {
    command.input = to_json(line) + "\n";
  }
  const milliseconds timeout = action.timeout.value_or(options_.command_timeout);
  if (options_.claims_directory.empty()) {
    command.arguments = {kShell, "-c", text};
    return attempt_of(run_command(command, timeout, go_on), timeout);
  }
  const std::string path = claim_path(options_.claims_directory, order.incident, attempt);
  if (claim_holder(path) == ClaimHolder::None) {
    place_order(path);
    command.arguments = {kShell, "-c", kSupervisor, "cupel-action", path, text};
    const CommandEnd end = run_command(command, timeout, go_on);
    const bool was_cut = end.how == CommandEnd::How::TooLong || end.how == CommandEnd::How::Stopped;
    if (was_cut && !done_status(path)) return attempt_of(end, timeout);
  }
  return follow_claim(path, timeout, go_on);
}

Attempt ActionPerformer::post(const ActionOrder& order, const GoOn& go_on) {
  if (!webhook_) webhook_ = std::make_unique<Webhook>();
  const WebhookAnswer answer =
      webhook_->post({.url = order.action.target,
                      .body = to_json(order.line),
                      .incident = incident_text(order.incident),
                      .authority = options_.webhook_authority,
                      .timeout = order.action.timeout.value_or(options_.webhook_timeout)},
                     go_on);
  switch (answer.how) {
    case WebhookAnswer::How::Answered: {
      const bool is_fine = answer.status >= 200 && answer.status < 300;
      const bool is_for_a_moment = answer.status == 429 || answer.status >= 500;
      std::string message = "the receiver answered " + std::to_string(answer.status);
      if (answer.status >= 300 && answer.status < 400)
        message += "; redirects are not followed: name the address that it leads to";
      return {is_fine, is_for_a_moment, std::move(message)};
    }
    case WebhookAnswer::How::Failed:
      return {false, true, answer.message};
    case WebhookAnswer::How::Unusable:
      return {false, false, answer.message};
    case WebhookAnswer::How::Stopped:
      break;
  }
  return {false, false, std::string("the transfer ") + kEndedEarly};
}

std::string ActionPerformer::plan(const Action& action) const {
  switch (action.kind) {
    case Kind::Stop:
      return "stop_training would be written";
    case Kind::Signal:
      return process_text(action) + " would be sent";
    case Kind::Webhook:
      return "the verdict would be posted";
    case Kind::StopFile:
      return "the file would be created";
    case Kind::Log:
      return "a warning would be logged";
    case Kind::Exec:
      return "the command would be run";
    case Kind::Email:
    case Kind::Sms:
      break;
  }
  const std::string name = action.kind == Kind::Email ? "CUPEL_MAIL_COMMAND" : "CUPEL_SMS_COMMAND";
  if (command_of(action).empty())
    return "no command is configured: set " + name + " to one that sends its standard input";
  return "the command in " + name + " would be run";
}

}  // namespace cupel::rules_detail
