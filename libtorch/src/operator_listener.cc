// The only source with at::RecordFunction; the build compiles it with NDEBUG and optimised,
// whatever the preset.
//
// Torch calls begins() and ends() around every dispatched operator of every thread while the
// callback is on. Each thread counts its depth: operators within another one, or within a node of a
// backward pass, are of no interest; neither are those that a kernel runs inside a parallel region,
// on a thread of torch's pool. A thread has a copy of the list of observers, so that an operator
// takes no lock of the process. Nothing here throws.

#include "operator_listener.h"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <pthread.h>

#include <algorithm>
#include <utility>

#include "operator_capture.h"

namespace cupel::libtorch_detail {
namespace {

// Never deleted: operators may run while static objects are destroyed.
std::atomic<OperatorListener*> process_listener{nullptr};
std::atomic<std::uint64_t> versions{0};
// Torch's handle of the callback, once it is added. The child of a fork inherits both.
std::atomic<at::CallbackHandle> callback{at::INVALID_CALLBACK_HANDLE};

// What a thread knows of its operators: without a destructor, so that it lasts as long as the
// thread.
struct ThreadDepth {
  std::uint32_t depth = 0;    // of recorded functions
  std::uint32_t ignored = 0;  // IgnoredOperators that live
  bool wants_end = false;     // of the outermost operator, which is running
  bool has_pending = false;
  bool is_ending = false;  // the observers below are gone
};
constinit thread_local ThreadDepth thread_depth;

struct ThreadObservers {
  std::uint64_t version = 0;
  OperatorObservers observers;
  ~ThreadObservers() { thread_depth.is_ending = true; }
};
thread_local ThreadObservers thread_observers;

const OperatorObservers& present_observers() noexcept {
  const OperatorListener& listener = OperatorListener::instance();
  ThreadObservers& here = thread_observers;
  if (const std::uint64_t version = listener.version(); here.version != version) {
    try {
      here.observers = listener.observers();
      here.version = version;
    } catch (...) {  // no memory: the next operator tries again
      here.observers.clear();
    }
  }
  return here.observers;
}

// The operator's own values: an operator that is called by jit's executor is recorded with the
// whole stack, whose top they are.
std::span<const c10::IValue> top(const c10::IValue* stack, std::size_t size, std::size_t count) {
  return std::span(stack, size).last(std::min(size, count));
}

std::unique_ptr<at::ObserverContext> begins(const at::RecordFunction& function) {
  ThreadDepth& here = thread_depth;
  if (function.isAsync()) return nullptr;  // ends on another thread
  if (here.depth++ != 0 || here.ignored != 0 || here.is_ending) return nullptr;
  const OperatorRow* row = find_operator(function.name());
  if ((row == nullptr && !here.has_pending) || at::in_parallel_region()) return nullptr;
  here.has_pending = false;
  const auto stack = function.inputs();
  const auto inputs = top(stack.data(), stack.size(), function.num_inputs());
  for (const auto& observer : present_observers())
    here.wants_end |= observer->operator_begins(&here, row, inputs);
  return nullptr;
}

void ends(const at::RecordFunction& function, at::ObserverContext*) {
  ThreadDepth& here = thread_depth;
  if (function.isAsync()) return;
  if (here.depth == 1 && std::exchange(here.wants_end, false)) {
    const auto& stack = function.outputs();
    const auto outputs = top(stack.data(), stack.size(), function.num_outputs());
    for (const auto& observer : present_observers())
      here.has_pending |= observer->operator_ends(&here, outputs);
  }
  --here.depth;
}

}  // namespace

OperatorListener::OperatorListener() : version_(++versions) {}

OperatorListener& OperatorListener::instance() noexcept {
  OperatorListener* listener = process_listener.load(std::memory_order_acquire);
  if (listener != nullptr) return *listener;
  static OperatorListener& first = *[] {
    auto* made = new OperatorListener;
    process_listener.store(made, std::memory_order_release);
    ::pthread_atfork(nullptr, nullptr, &renew_after_fork);
    return made;
  }();
  return first;
}

// Other threads of the parent may hold the lock of its listener, which nobody releases here.
void OperatorListener::renew_after_fork() {
  process_listener.store(new OperatorListener, std::memory_order_release);
}

void OperatorListener::add(std::shared_ptr<OperatorObserver> observer) {
  const MutexLock lock(mutex_);
  observers_.push_back(std::move(observer));
  version_.store(++versions, std::memory_order_release);
}

void OperatorListener::remove(const OperatorObserver& observer) noexcept {
  const MutexLock lock(mutex_);
  std::erase_if(observers_, [&](const auto& known) { return known.get() == &observer; });
  version_.store(++versions, std::memory_order_release);
}

OperatorObservers OperatorListener::observers() const {
  const MutexLock lock(mutex_);
  return observers_;
}

void OperatorListener::switch_listening(bool on) {
  const MutexLock lock(mutex_);
  if (!on) {
    if (--listening_ == 0) at::disableCallback(callback);
    return;
  }
  if (listening_ == 0) {
    if (callback == at::INVALID_CALLBACK_HANDLE)
      callback = at::addGlobalCallback(at::RecordFunctionCallback(&begins, &ends)
                                           .needsInputs(true)
                                           .needsOutputs(true)
                                           .scopes({at::RecordScope::FUNCTION}));
    else
      at::reenableCallback(callback);
  }
  ++listening_;
}

IgnoredOperators::IgnoredOperators() noexcept { ++thread_depth.ignored; }
IgnoredOperators::~IgnoredOperators() { --thread_depth.ignored; }

}  // namespace cupel::libtorch_detail
