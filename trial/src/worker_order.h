#pragma once

#include <string_view>

namespace cupel::trial_detail {

/// Orders workers by name with trailing numbers by value: worker_2 before worker_10.
struct WorkerOrder {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const noexcept;
};

}  // namespace cupel::trial_detail
