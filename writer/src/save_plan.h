#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/core/mode.h"
#include "cupel/core/reduction.h"
#include "cupel/writer/hook_options.h"

namespace cupel {

// What is written of a tensor at a step.
struct SaveDecision {
  bool raw = false;
  bool shape = false;
  ReductionSet reductions;
  bool any() const noexcept { return raw || shape || !reductions.empty(); }
};

// Numbers of saved collections, sorted: what decides about a tensor.
using Membership = std::vector<std::uint16_t>;

// The collections as they were when the first step began: which are saved, when, and how.
// Immutable.
class SavePlan {
 public:
  // Throws InvalidCollectionConfiguration for a collection of the user's without patterns and
  // names.
  SavePlan(const Collections& collections, const HookOptions& options);

  // Which saved collections contain the tensor, by name, by pattern, or because `tags` name them.
  Membership membership(std::string_view tensor, std::span<const std::string> tags) const;

  // The union of what the member collections that are active at the step want.
  SaveDecision decide(std::span<const std::uint16_t> members, Mode mode,
                      std::int64_t mode_step) const;

  // Every reduction that may ever be asked for: the columns of the index.
  ReductionSet columns() const noexcept { return columns_; }

 private:
  struct Saved {
    Collection collection;
    SaveConfig when;
    SaveDecision what;
    bool training_only;
  };
  std::vector<Saved> saved_;
  ReductionSet columns_;
};

// The user's collections with the options' patterns in `default` and `all`.
Collections initial_collections(const HookOptions& options);

}  // namespace cupel
