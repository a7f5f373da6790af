#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cupel/rules/action.h"
#include "cupel/rules/verdict_line.h"
#include "cupel/trial/trial_options.h"
#include "go_on.h"

namespace cupel::rules_detail {

class Webhook;

/// An action that a firing asks for.
struct ActionOrder {
  Action action;
  /// Names this action of this firing of this rule, the same in every watch of the run.
  std::string incident;
  VerdictLine line;  ///< The firing.
  /// It had been taken before, by a queue that has ended: there is room for it, however many wait.
  bool taken_before = false;
};

struct PerformerOptions {
  std::string run = {};  ///< The run's location: where `stop` writes, and CUPEL_TRIAL.
  /// The schemes by which the location is opened.
  StoreSchemes schemes = {};
  /// Where claims are kept, so that nothing is done twice when we are killed and given the same
  /// orders again. Empty: nowhere.
  std::string claims_directory = {};
  std::chrono::milliseconds command_timeout{60'000};  ///< Where the action has no timeout.
  std::chrono::milliseconds webhook_timeout{10'000};
  /// The file with the certificates that webhooks trust, in PEM. Empty: the file that SSL_CERT_FILE
  /// in the environment names, else those of the system.
  std::string webhook_authority = {};
};

/// What came of one attempt.
struct Attempt {
  bool succeeded = false;
  bool may_be_retried = false;
  std::string message;
};

/// Whether an action is done at once; the others wait for a command or a receiver.
bool is_quick(Action::Kind kind) noexcept;

/// Performs attempts of actions, one at a time; belongs to one thread.
class ActionPerformer {
 public:
  /// CUPEL_MAIL_COMMAND and CUPEL_SMS_COMMAND are looked up here.
  explicit ActionPerformer(PerformerOptions options);
  ~ActionPerformer();

  /// The attempt of this number (the first: 1), or what an earlier process recorded of it. Throws
  /// nothing but std::bad_alloc.
  Attempt perform(const ActionOrder& order, int attempt, const GoOn& go_on);

  /// The first attempt of several orders to stop, of which `last` is the last: the request is
  /// written once, in its words. It leaves no claims. Throws nothing but std::bad_alloc.
  Attempt perform_stops(const ActionOrder& last, const GoOn& go_on);

  /// Returns how many attempts of a webhook earlier processes began, none of which is known to have
  /// succeeded. Returns 0 for all other kinds: commands and signals are followed by perform(), and
  /// what is done at once is repeated until it is recorded.
  int attempts_begun(const ActionOrder& order) const;

  /// What perform() would do.
  std::string plan(const Action& action) const;

 private:
  Attempt perform_once(const ActionOrder& order, int attempt, const GoOn& go_on);
  Attempt perform_unrecorded(const ActionOrder& order, const GoOn& go_on);
  Attempt send_signal(const ActionOrder& order) const;
  Attempt run(const ActionOrder& order, int attempt, const GoOn& go_on) const;
  Attempt post(const ActionOrder& order, const GoOn& go_on);
  const std::string& command_of(const Action& action) const;

  PerformerOptions options_;
  std::string mail_command_;
  std::string sms_command_;
  std::unique_ptr<Webhook> webhook_;  // made when it is needed
};

}  // namespace cupel::rules_detail
