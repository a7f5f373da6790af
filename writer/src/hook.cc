// The public Hook: each call asks the gate whether this thread may go in, then passes the call to
// the parts of the hook (hook_state.h). Training threads run everything here. An exception leaves a
// call only where HookOptions::on_error says Throw; otherwise the hook reports it and goes on, or
// is disabled.

#include "cupel/writer/hook.h"

#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/printable.h"
#include "environment.h"
#include "hook_state.h"

namespace cupel {

using writer_detail::CallGate;
using writer_detail::NamedTensor;
using writer_detail::saving_enabled;
using writer_detail::StepClock;

Hook::Hook(HookOptions options) : Hook(std::move(options), nullptr) {}

Hook::Hook(HookOptions options, std::shared_ptr<Store> store)
    : Hook(HookConfiguration{std::move(options), {}}, std::move(store)) {}

Hook::Hook(HookConfiguration configuration, std::shared_ptr<Store> store)
    : state_(std::make_unique<State>(std::move(configuration.options),
                                     std::move(configuration.collections), std::move(store))),
      due_(&state_->clock.due_flag()) {}

Hook Hook::create_from_json_file(const std::string& path, HookOptions base) {
  if (!saving_enabled()) return Hook(std::move(base));  // touches no disk, also not this file
  return Hook(read_hook_configuration(path, std::move(base)));
}

void Hook::check(HookConfiguration configuration) { State::check(std::move(configuration)); }

Hook::~Hook() {
  // A copy's threads are elsewhere, and one whose call is interrupted by the exit of the process
  // holds what closing would wait for: neither can be taken apart.
  if (!state_->close_at_exit()) static_cast<void>(state_.release());
}

Collection& Hook::get_collection(std::string_view name) {
  return state_->groups.collections()
      .try_emplace(std::string(name), std::string(name))
      .first->second;
}

void Hook::add_collection(Collection collection) {
  std::string name = collection.name();
  state_->groups.collections().insert_or_assign(std::move(name), std::move(collection));
}

const Collections& Hook::get_collections() const noexcept { return state_->groups.collections(); }

Collections Hook::collections_as_configured() const {
  return state_->gate.is_copy() ? Collections() : state_->groups.without_joinings();
}

Collections Hook::collections_now() const {
  // The lock of a copy may be held for ever, by a thread that stayed with the parent.
  return state_->gate.is_copy() ? Collections() : state_->groups.now();
}

Profile Hook::profile() const noexcept { return state_->options.profile; }

void Hook::set_mode(Mode mode) {
  state_->deliver_held_back();
  state_->set_mode(mode);
}

Mode Hook::mode() const noexcept { return state_->clock.mode(); }

void Hook::next_step() {
  state_->deliver_held_back();
  state_->begin_step(std::nullopt);
}

void Hook::next_step(std::int64_t step) {
  state_->deliver_held_back();
  state_->begin_step(step);
}

void Hook::end_step() {
  state_->deliver_held_back();
  state_->end_step();
}

std::int64_t Hook::step() const noexcept { return state_->clock.counters().global; }

std::int64_t Hook::mode_step(Mode mode) const noexcept {
  return is_valid(mode) ? state_->clock.counters()[mode] : -1;
}

bool Hook::due_beyond(std::span<const std::string_view> collections) const {
  return due() && state_->clock.is_due_beyond(collections);
}

TensorHandle Hook::handle(std::string_view name, const CollectionNames& collections) {
  State& s = *state_;
  NamedTensor* named = nullptr;
  if (!s.gate.is_copy()) s.guarded_naming(name, [&] { named = s.tensor(name, collections); });
  return TensorHandle(named);
}

bool Hook::wants(std::string_view name) {
  const NamedTensor* named = state_->groups.find(name);
  return named != nullptr ? named->is_due() : wants(handle(name));
}

bool Hook::would_save(std::string_view name) const {
  if (!due() || !state_->gate.is_open()) return false;
  if (const NamedTensor* const named = state_->groups.find(name)) return named->is_due();
  const StepClock& clock = state_->clock;
  return clock.decide(clock.plan()->membership(name, {})).any();
}

void Hook::save_tensor(std::string_view name, const TensorView& view,
                       const CollectionNames& collections) {
  DueFlag* tensor = state_->groups.find(name);
  if (tensor == nullptr || !collections.empty()) tensor = handle(name, collections).tensor_;
  if (may_save(tensor)) {
    save_due(*tensor, view);
  } else if (!state_->clock.has_begun() && state_->gate.is_open()) {
    state_->guarded([&] { state_->journal.warn_before_first_step(name); });
  }
}

void Hook::save_due(DueFlag& tensor, const TensorView& view) {
  State& s = *state_;
  if (!s.gate.is_open()) return;
  auto& named = static_cast<NamedTensor&>(tensor);
  s.guarded_save(named.name, [&] { s.save_due(named, view); });
}

void Hook::save_scalar(std::string_view name, double value, const CollectionNames& collections) {
  save_tensor_always(name, TensorView(&value, {}), collections);
}

void Hook::save_tensor_always(std::string_view name, const TensorView& view,
                              const CollectionNames& collections) {
  State& s = *state_;
  if (!s.gate.is_open()) return;
  s.guarded_save(name, [&] {
    if (NamedTensor* named = s.tensor(name, collections)) s.save_always(*named, view);
  });
}

void Hook::save_inputs(std::string_view module, std::span<const TensorView> views) {
  save_values_of(module, "_input_", views);
}

void Hook::save_outputs(std::string_view module, std::span<const TensorView> views) {
  save_values_of(module, "_output_", views);
}

void Hook::save_values_of(std::string_view module, const char* side,
                          std::span<const TensorView> views) {
  State& s = *state_;
  if (!s.gate.is_open()) return;
  for (const TensorView& view : views) {
    std::string name;
    s.guarded_save(module, [&] { name = s.inputs.next_name(module, side); });
    if (!name.empty()) save_tensor(name, view);
  }
}

TensorHandle Hook::next_input(std::string_view module, const CollectionNames& collections) {
  return next_value_of(module, "_input_", collections);
}

TensorHandle Hook::next_output(std::string_view module, const CollectionNames& collections) {
  return next_value_of(module, "_output_", collections);
}

TensorHandle Hook::next_value_of(std::string_view module, const char* side,
                                 const CollectionNames& collections) {
  State& s = *state_;
  NamedTensor* named = nullptr;
  if (!s.gate.is_open()) return TensorHandle();
  s.guarded_naming(module,
                   [&] { named = s.tensor(s.inputs.next_name(module, side), collections); });
  return TensorHandle(named);
}

void Hook::leave_out(TensorHandle tensor, std::string_view why) {
  State& s = *state_;
  if (!wants(tensor) || !s.gate.is_open()) return;
  auto& named = static_cast<NamedTensor&>(*tensor.tensor_);
  s.guarded_save(named.name, [&] {
    s.journal.add_mistake(named, "cannot save " + printable(named.name) + ": " + printable(why));
  });
}

void Hook::report_outside_step(TensorHandle tensor) {
  State& s = *state_;
  if (tensor.tensor_ == nullptr || !s.gate.is_open()) return;
  auto& named = static_cast<NamedTensor&>(*tensor.tensor_);
  s.guarded_save(named.name, [&] { s.report_outside_step(named); });
}

void Hook::deliver_before_step_ends(std::function<void()> deliver) {
  if (deliver && state_->deliver) throw UsageError("the hook serves an adapter already");
  state_->deliver = std::move(deliver);
}

void Hook::report_problem(std::string_view what) noexcept {
  State& s = *state_;
  if (!s.gate.is_open()) return;
  s.gate.run([&] {
    try {
      s.journal.add_problem(std::string(what));
    } catch (const std::exception&) {
      log(LogLevel::Warning, what);  // no memory for it
    }
  });
}

std::int64_t Hook::committed_step() const noexcept {
  return std::as_const(state_->clock).committed_step();
}

bool Hook::stop_requested() const noexcept {
  return state_->stop_requested.load(std::memory_order_relaxed);
}

HookReport Hook::close() {
  State& s = *state_;
  if (s.gate.is_copy() || s.gate.is_inside_call()) return s.journal.report();
  s.deliver_held_back();
  const CallGate::Alone alone(s.gate);
  s.close();
  return s.journal.report();
}

}  // namespace cupel
