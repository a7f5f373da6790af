#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "demo_judge.h"

namespace cupel::demo {

/// The results of a training.
struct Result {
  std::int64_t steps = 0;        ///< The steps of mode TRAIN.
  double first_loss = 0;         ///< The loss at the first step.
  double last_loss = 0;          ///< The loss at the last step.
  double held_out_accuracy = 0;  ///< The share of unseen examples that are classified correctly.
  bool stopped_early = false;    ///< The training ended because its judge found an explosion.
};

/// A finding that is expected of a training.
struct Announced {
  std::string rule;         ///< The rule that fires.
  std::string tensor = "";  ///< A tensor on which the rule fires. Empty: any tensor.
  bool is_certain = true;   ///< False: the rule may fire, depending on the speed of the machine.
};

/// A training of the demo.
struct Training {
  std::string name;                       ///< The name of the directory of the run.
  std::string story;                      ///< What is trained, in a few words.
  std::vector<Announced> announced = {};  ///< The expected findings; no other rule fires.
  /// Trains, and saves the run into the directory or location `run`. Calls `judge.begin(run)` when
  /// the hook is open, and does not wait for the judge to end. Throws Error where the training
  /// fails or cannot be saved.
  std::function<Result(const std::string& run, Judge& judge)> train;
};

/// Trainings that the demo performs one after another.
struct Programme {
  std::string title;  ///< The subject of the first sentence: "Three small networks".
  std::vector<Training> trainings;
};

}  // namespace cupel::demo
