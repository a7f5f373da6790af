#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/mutex.h"
#include "operator_capture.h"
#include "watched_roots.h"

namespace cupel::libtorch_detail {

/// The modules of a user's own classes, whose names do not say what they are: whether they
/// normalise, embed or attend, the first operator that reads their parameters shows, in one step.
/// Any thread.
class UnknownModules {
 public:
  struct Parameter {
    std::string name;
    at::Tensor tensor;
  };
  /// What an operator has shown: a collection, and the parameters that belong to it.
  struct Shown {
    std::string_view collection;  ///< Empty: nothing.
    std::vector<Parameter> parameters;
  };

  /// Adds the modules of a root that have parameters of their own and a class of unknown purpose.
  void add(const NamedRoot& root);
  /// Whether a step is to be listened to. The step after it forgets the modules.
  bool begin_step();
  /// A module is shown once.
  Shown show(const CapturedValues& values);

 private:
  Mutex mutex_;
  std::map<std::string, std::vector<Parameter>, std::less<>> modules_ CUPEL_GUARDED_BY(mutex_);
  bool is_new_ CUPEL_GUARDED_BY(mutex_) = false;  // no step has begun since modules were added
};

}  // namespace cupel::libtorch_detail
