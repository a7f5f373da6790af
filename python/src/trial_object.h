#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <set>
#include <shared_mutex>
#include <utility>

#include "cupel/trial/trial.h"

namespace cupel::python {

/// A view of a run for Python: the class `_native.Trial`. Objects that are made from it (tensors,
/// pins) share the view, so that none outlives it.
///
/// A pin is set and taken back while no other thread queries the view (pins.h); any thread of
/// Python may do either at any time. So queries hold a lock together, and a pin holds it alone. No
/// thread takes the GIL while it holds the lock.
class TrialObject {
 public:
  explicit TrialObject(std::shared_ptr<Trial> trial)
      : shared_(std::make_shared<Shared>(std::move(trial))) {}

  /// The view itself, for what takes no pin into account and holds no lock: waiting, other views.
  Trial& trial() const noexcept { return *shared_->trial; }

  /// Runs `query`, which may read files and wait for them, without the GIL.
  template <class Query>
  auto read(Query&& query) const {
    const nanobind::gil_scoped_release without_gil;
    const std::shared_lock lock(shared_->pinning);
    return query(std::as_const(*shared_->trial));
  }
  /// The order of the pins of the view that are open, by the number of each. Used in alone().
  std::set<std::uint64_t>& pins() const noexcept { return shared_->pins; }

  /// Runs `change` while nobody queries the view. Called without the GIL.
  template <class Change>
  void alone(Change&& change) const {
    const std::unique_lock lock(shared_->pinning);
    change(*shared_->trial);
  }

 private:
  struct Shared {
    explicit Shared(std::shared_ptr<Trial> view) : trial(std::move(view)) {}
    std::shared_ptr<Trial> trial;
    std::shared_mutex pinning;
    std::set<std::uint64_t> pins;  // under the lock
  };
  std::shared_ptr<Shared> shared_;
};

/// The view of a trial of Python: of a `cupel.trials.Trial`, or of the `_native.Trial` in it.
/// Throws nanobind::next_overload, and so TypeError, for other objects.
TrialObject& trial_object(nanobind::handle object);

void add_tensor(nanobind::module_& module);

}  // namespace cupel::python
