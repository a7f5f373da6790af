// One capture: its parameters, and a matcher for each thread that runs operators.
//
// The capture's lock is held while an operator is matched and while the receiver runs: the receiver
// is called by one thread at a time, and not after pause() or the destructor has returned. An
// exception of the receiver, or of the memory, loses the values of one operator and is logged once.
// A capture of the parent is left alone in the child of a fork, as its lock may be held by a thread
// that is not there.

#include "operator_capture.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/python/update_graph_executor_opt.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "cupel/core/log.h"
#include "cupel/core/mutex.h"
#include "layer_matcher.h"
#include "operator_listener.h"

namespace cupel::libtorch_detail {
namespace {

// How many captures listen that this thread has switched on, and jit's flag before the first did.
struct JitOptimisation {
  unsigned captures = 0;
  bool before = true;
};
constinit thread_local JitOptimisation jit_optimisation;

void leave_jit_unoptimised() {
  if (jit_optimisation.captures++ != 0) return;
  jit_optimisation.before = torch::jit::getGraphExecutorOptimize();
  torch::jit::setGraphExecutorOptimize(false);
}

void optimise_jit_again() {
  if (--jit_optimisation.captures == 0)
    torch::jit::setGraphExecutorOptimize(jit_optimisation.before);
}

bool is_bias_name(std::string_view own_name) {
  return own_name == "bias" || own_name.starts_with("bias_") || own_name.ends_with("_bias");
}

// "in_proj" of "in_proj_weight"; nothing for the names that every module has.
std::string_view stem_of(std::string_view own_name) {
  for (const std::string_view usual : {"weight", "bias"})
    if (own_name.starts_with(usual) &&
        (own_name.size() == usual.size() || own_name[usual.size()] == '_'))
      return {};
  for (const std::string_view ending : {"_weight", "_bias"})
    if (own_name.ends_with(ending)) return own_name.substr(0, own_name.size() - ending.size());
  return own_name;
}

}  // namespace

class OperatorCapture::State final : public OperatorObserver {
 public:
  State(Options options, Receiver receiver) {
    context_.options = options;
    context_.receiver = std::move(receiver);
  }

  void add_parameter(const at::Tensor& parameter, std::string_view module,
                     std::string_view own_name, std::string_view root) {
    const MutexLock lock(mutex_);
    std::string label(module);
    if (const std::string_view stem = stem_of(own_name); !stem.empty())
      label.append(".").append(stem);
    context_.parameters.add(parameter, {std::string(root), std::string(module),
                                        &context_.labels.label(label), is_bias_name(own_name)});
  }

  void deliver() {
    const MutexLock lock(mutex_);
    flush_all();
  }

  void pause() {
    const MutexLock lock(mutex_);
    deliver_pending();
    is_listening_ = false;
  }

  void listen(bool on) {
    const MutexLock lock(mutex_);
    deliver_pending();
    context_.is_fresh = false;
    is_listening_ = on;
    switch_callback(on);
  }

  void close() {
    const MutexLock lock(mutex_);
    is_listening_ = false;
    switch_callback(false);
    threads_.clear();
    context_.parameters.clear();
    context_.receiver = nullptr;
  }

  bool operator_begins(const void* thread, const OperatorRow* row,
                       std::span<const c10::IValue> inputs) noexcept override {
    const MutexLock lock(mutex_);
    if (!is_listening_) return false;
    bool wants_end = false;
    without_throwing([&]() CUPEL_REQUIRES(mutex_) {
      wants_end = matcher_of(thread).begin(context_, row, inputs);
    });
    return wants_end;
  }

  bool operator_ends(const void* thread, std::span<const c10::IValue> outputs) noexcept override {
    const MutexLock lock(mutex_);
    if (!is_listening_) return false;
    bool is_pending = false;
    without_throwing([&]() CUPEL_REQUIRES(mutex_) {
      LayerMatcher& matcher = matcher_of(thread);
      matcher.end(outputs);
      is_pending = matcher.has_pending();
    });
    return is_pending;
  }

 private:
  template <typename Work>
  void without_throwing(const Work& work) noexcept CUPEL_REQUIRES(mutex_) {
    try {
      work();
    } catch (const std::exception& error) {
      report(error.what());
    } catch (...) {
      report("unknown exception");
    }
  }

  void report(std::string_view what) noexcept CUPEL_REQUIRES(mutex_) {
    if (std::exchange(has_reported_, true)) return;
    try {
      log(LogLevel::Warning, "values of an operator are lost: " + std::string(what));
    } catch (...) {
      log(LogLevel::Warning, "values of an operator are lost: no memory");
    }
  }

  LayerMatcher& matcher_of(const void* thread) CUPEL_REQUIRES(mutex_) {
    for (auto& [known, matcher] : threads_)
      if (known == thread) return matcher;
    return threads_.emplace_back(thread, LayerMatcher()).second;
  }

  void flush_all() CUPEL_REQUIRES(mutex_) {
    const IgnoredOperators ignore;
    for (auto& thread : threads_)
      without_throwing([&]() CUPEL_REQUIRES(mutex_) { thread.second.flush(context_); });
  }

  void deliver_pending() CUPEL_REQUIRES(mutex_) {
    flush_all();
    threads_.clear();
  }

  void switch_callback(bool on) CUPEL_REQUIRES(mutex_) {
    if (on == is_switched_on_) return;
    without_throwing([&]() CUPEL_REQUIRES(mutex_) {
      OperatorListener::instance().switch_listening(on);
      is_switched_on_ = on;
    });
    if (is_switched_on_ != on) return;
    if (on) {
      leave_jit_unoptimised();
      jit_thread_ = &jit_optimisation;
    } else if (std::exchange(jit_thread_, nullptr) == &jit_optimisation) {
      optimise_jit_again();
    }
  }

  Mutex mutex_;
  MatchContext context_ CUPEL_GUARDED_BY(mutex_);
  std::vector<std::pair<const void*, LayerMatcher>> threads_ CUPEL_GUARDED_BY(mutex_);
  bool is_listening_ CUPEL_GUARDED_BY(mutex_) = false;
  bool is_switched_on_ CUPEL_GUARDED_BY(mutex_) = false;  // counts in the listener
  const void* jit_thread_ CUPEL_GUARDED_BY(mutex_) = nullptr;
  bool has_reported_ CUPEL_GUARDED_BY(mutex_) = false;
};

OperatorCapture::OperatorCapture(Options options, Receiver receiver)
    : state_(std::make_shared<State>(options, std::move(receiver))),
      listener_(&OperatorListener::instance()) {
  listener_->add(state_);
}

OperatorCapture::~OperatorCapture() {
  if (!is_of_this_process()) return;
  state_->close();
  listener_->remove(*state_);
}

bool OperatorCapture::is_of_this_process() const noexcept {
  return listener_ == &OperatorListener::instance();
}

void OperatorCapture::add_parameter(const at::Tensor& parameter, std::string_view module,
                                    std::string_view own_name, std::string_view root) {
  if (is_of_this_process()) state_->add_parameter(parameter, module, own_name, root);
}

void OperatorCapture::listen(bool on) {
  if (is_of_this_process()) state_->listen(on);
}

void OperatorCapture::deliver() {
  if (is_of_this_process()) state_->deliver();
}

void OperatorCapture::pause() {
  if (is_of_this_process()) state_->pause();
}

}  // namespace cupel::libtorch_detail
