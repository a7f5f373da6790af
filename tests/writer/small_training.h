#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/trial/trial.h"
#include "cupel/writer/hook.h"

namespace cupel::testing {

/// A training of a few steps that saves values of every kind: inline, several to a chunk, streamed,
/// strings, scalars; by handle, by name, by a tag, in two collections and a third that the loop
/// makes. It allocates nothing while it runs, so that whatever is thrown comes from the hook.
class SmallTraining {
 public:
  explicit SmallTraining(std::int64_t steps) : steps_(steps) {
    for (std::int64_t step = 0; step < steps; ++step) {
      for (const SavedTensor& tensor : kTensors) values_.push_back(value_of(tensor, step));
    }
    for (const auto& value : values_) views_.emplace_back(value.data(), Shape({value.size()}));
  }

  /// Chunks of 64 KiB, and a seal every other step.
  static HookOptions options() {
    HookOptions options;
    options.include_collections = {"weights", "gradients", "mine"};
    options.save_config = {.save_interval = 1};
    options.reduction_config = {
        .reductions = {"mean", "median"}, .norms = {"l2"}, .save_raw_tensor = true};
    options.buffer_bytes = 1U << 20U;
    options.segment_bytes = 300'000;
    options.existing = Existing::Continue;
    return options;
  }

  std::int64_t steps() const noexcept { return steps_; }

  /// Trains; tells the greatest step that was acknowledged while it ran, and calls `at_step` with
  /// it whenever a step has begun.
  std::int64_t run(Hook& hook) const {
    return run(hook, [](std::int64_t) {});
  }
  template <class AtStep>
  std::int64_t run(Hook& hook, AtStep&& at_step) const {
    std::int64_t acknowledged = -1;
    const TensorHandle first = hook.handle(kTensors[0].name);
    const TensorHandle last = hook.handle(kTensors[5].name);
    for (std::int64_t step = 0; step < steps_; ++step) {
      hook.next_step();
      acknowledged = std::max(acknowledged, hook.committed_step());
      at_step(acknowledged);
      hook.save_tensor(first, view(0, step));
      for (const std::size_t i : {std::size_t{1}, std::size_t{2}, std::size_t{3}})
        hook.save_tensor(kTensors[i].name, view(i, step));
      hook.save_tensor(kTensors[4].name, view(4, step), tag_);
      hook.save_tensor(last, view(5, step));
      hook.save_tensor("words.weight", words_view_);
      hook.save_scalar("loss", loss(step));
    }
    return acknowledged;
  }

  /// What is wrong with the run as far as it goes; "" if nothing is. Every step that is there has
  /// all its values, and they are the ones that were saved.
  std::string examine(const Trial& trial) const {
    const auto steps = trial.steps();
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (steps[i] != static_cast<std::int64_t>(i)) return "there is no step " + std::to_string(i);
    if (static_cast<std::int64_t>(steps.size()) > steps_) return "a step that was not saved";
    for (const std::int64_t step : steps) {
      const auto names = trial.tensor_names({.step = step});
      if (names.size() != std::size(kTensors) + 2)
        return "step " + std::to_string(step) + " has " + std::to_string(names.size()) + " tensors";
      for (std::size_t i = 0; i < std::size(kTensors); ++i) {
        const TensorValue value = trial.tensor(kTensors[i].name).value(step);
        if (!std::ranges::equal(value.as<float>(), values_[index(i, step)]))
          return std::string("a wrong value of ") + kTensors[i].name;
      }
      if (trial.tensor("words.weight").value(step).strings() != words_) return "wrong words";
      if (trial.tensor("loss").value(step).at(0) != loss(step)) return "a wrong loss";
    }
    return "";
  }

 private:
  struct SavedTensor {
    const char* name;
    std::size_t elements;
  };
  static constexpr SavedTensor kTensors[] = {{"a.weight", 8},    {"b.weight", 300},
                                             {"c.weight", 9000}, {"d.weight", 9000},
                                             {"tagged", 2000},   {"gradient/e", 40000}};

  static std::vector<float> value_of(const SavedTensor& tensor, std::int64_t step) {
    std::vector<float> values(tensor.elements);
    std::uint64_t state = static_cast<std::uint64_t>(step) * 0x9e3779b97f4a7c15ULL +
                          static_cast<std::uint64_t>(tensor.name[0]);
    for (float& value : values) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      value = static_cast<float>(state >> 40U);
    }
    return values;
  }
  static double loss(std::int64_t step) { return static_cast<double>(step) + 0.5; }
  static std::size_t index(std::size_t tensor, std::int64_t step) {
    return static_cast<std::size_t>(step) * std::size(kTensors) + tensor;
  }
  const TensorView& view(std::size_t tensor, std::int64_t step) const {
    return views_[index(tensor, step)];
  }

  std::int64_t steps_;
  std::vector<std::vector<float>> values_;
  std::vector<TensorView> views_;
  std::vector<std::string> words_ = {"one", "", "a word that is too long for the index alone", "x"};
  TensorView words_view_{words_.data(), Shape({words_.size()})};
  CollectionNames tag_{"mine"};
};

/// Counts what is logged as an error while it lives, and allocates nothing for it.
class ErrorCount {
 public:
  ErrorCount() {
    set_log_sink([this](LogLevel level, std::string_view message) {
      if (level != LogLevel::Error) return;
      if (count_++ == 0) std::snprintf(first_, sizeof first_, "%.*s", 400, message.data());
    });
  }
  ~ErrorCount() { set_log_sink({}); }
  ErrorCount(const ErrorCount&) = delete;
  ErrorCount& operator=(const ErrorCount&) = delete;
  int count() const noexcept { return count_; }
  std::string first() const { return first_; }

 private:
  std::atomic<int> count_{0};
  char first_[512] = {};
};

/// What came of a training whose writer met a fault.
struct Outcome {
  bool constructed = false;
  std::string refusal;  ///< What the constructor threw,
  bool refusal_is_ours = false;
  bool thrown = false;             ///< or something else did,
  std::int64_t acknowledged = -1;  ///< what was acknowledged,
  HookReport report;
  int errors = 0;  ///< and how often an error was logged.
};

/// Trains with a hook that is made from `store`. `after` is called behind the last call of it.
template <class After>
void train(const SmallTraining& training, const HookOptions& options,
           const std::shared_ptr<Store>& store, Outcome& outcome, After&& after) {
  const ErrorCount errors;
  std::optional<Hook> hook;
  try {
    HookOptions copy = options;
    hook.emplace(std::move(copy), store);
    outcome.constructed = true;
    outcome.acknowledged = training.run(*hook);
    outcome.report = hook->close();
    outcome.acknowledged = std::max(outcome.acknowledged, hook->committed_step());
    hook.reset();
    after();
  } catch (const std::exception& error) {
    after();
    (outcome.constructed ? outcome.thrown : outcome.refusal_is_ours) =
        outcome.constructed || dynamic_cast<const Error*>(&error) != nullptr;
    outcome.refusal = error.what();
  } catch (...) {
    after();
    outcome.thrown = outcome.constructed;
    outcome.refusal = "something that is no std::exception";
  }
  outcome.errors = errors.count();
}

/// What is wrong with the outcome and the run that was left in `store`; "" if nothing is.
/// `has_note`: the run must tell that saving has ended, if it has.
inline std::string judge(const SmallTraining& training, const Outcome& outcome,
                         std::shared_ptr<const Store> store, bool has_note, bool has_problems) {
  if (!outcome.constructed) return "";
  const HookReport& report = outcome.report;
  if (outcome.thrown) return "thrown into training: " + outcome.refusal;
  if (outcome.errors != (report.disabled ? 1 : 0))
    return std::to_string(outcome.errors) + " errors were logged";
  if (report.steps_begun != training.steps()) return "not all steps begun were counted";
  if (report.disabled && has_problems && report.problems.empty()) return "no problem is reported";
  if (!report.disabled && !report.problems.empty()) return "a problem: " + report.problems.front();
  if (report.last_committed_step != outcome.acknowledged) return "another step was acknowledged";
  try {
    const Trial trial(std::move(store));
    if (std::string defect = training.examine(trial); !defect.empty()) return defect;
    const auto there = static_cast<std::int64_t>(trial.steps().size());
    if (there <= outcome.acknowledged) return "acknowledged steps are not there";
    if (!report.disabled && there != training.steps()) return "steps are not there";
    if (!report.disabled && !trial.ended()) return "the run has not ended";
    const auto tells = [](const Note& note) {
      return note.text.find("\"disabled\"") != std::string::npos;
    };
    if (report.disabled && has_note && std::ranges::none_of(trial.notes(), tells))
      return "no note tells that saving has ended: " + report.problems.front();
  } catch (const MissingCollectionFiles&) {
    if (!report.disabled || outcome.acknowledged >= 0) return "there is no run";
  } catch (const std::exception& error) {
    return std::string("cannot be read: ") + error.what();
  }
  return "";
}

}  // namespace cupel::testing
