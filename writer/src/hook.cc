#include "cupel/writer/hook.h"

#include <utility>

#include "cupel/core/error.h"
#include "cupel/writer/environment.h"
#include "hook_state.h"

namespace cupel {

Hook::Hook(HookOptions options) : Hook(std::move(options), nullptr) {}

Hook::Hook(HookOptions options, std::shared_ptr<Store> store)
    : state_(std::make_unique<State>(std::move(options), std::vector<Collection>(),
                                     std::move(store))) {}

Hook::Hook(HookConfiguration configuration, std::shared_ptr<Store> store)
    : state_(std::make_unique<State>(std::move(configuration.options),
                                     std::move(configuration.collections), std::move(store))) {}

Hook Hook::create_from_json_file(const std::string& path, HookOptions base) {
  if (!saving_enabled()) return Hook(std::move(base));  // touches no disk, also not this file
  return Hook(read_hook_configuration(path, std::move(base)));
}

Hook::~Hook() {
  // A copy's threads are elsewhere, and one whose call is interrupted by the exit of the process
  // holds what closing would wait for: neither can be taken apart.
  if (!state_->close_at_exit()) static_cast<void>(state_.release());
}

Collection& Hook::get_collection(std::string_view name) {
  return state_->collections.try_emplace(std::string(name), std::string(name)).first->second;
}

void Hook::add_collection(Collection collection) {
  std::string name = collection.name();
  state_->collections.insert_or_assign(std::move(name), std::move(collection));
}

const Collections& Hook::get_collections() const noexcept { return state_->collections; }

void Hook::set_mode(Mode mode) {
  State& s = *state_;
  if (s.is_copy()) return;
  const State::Alone alone(s);
  if (!alone.may_change()) return;
  s.guarded([&] {
    if (!is_valid(mode)) {
      return s.complain(nullptr,
                        "a mode is TRAIN, EVAL, PREDICT or GLOBAL: there is none of the number " +
                            std::to_string(static_cast<int>(mode)));
    }
    s.mode = mode;
    if (s.active()) s.groups.decide_all();
  });
}

Mode Hook::mode() const noexcept { return state_->mode; }

void Hook::next_step() {
  State& s = *state_;
  if (s.is_copy()) return;
  const State::Alone alone(s);
  if (!alone.may_change()) return;
  // Training goes on also where we do not, or throw.
  struct CountAnyway {
    State& s;
    std::int64_t before = s.counters.global;
    ~CountAnyway() {
      if (s.counters.global != before) return;
      s.counters.count(s.mode);
      ++s.steps_begun;
    }
  } count_anyway{s};
  if (s.active()) s.guarded([&] { s.next_step(); });
}

std::int64_t Hook::step() const noexcept { return state_->counters.global; }

std::int64_t Hook::mode_step(Mode mode) const noexcept {
  return is_valid(mode) ? state_->counters[mode] : -1;
}

TensorHandle Hook::handle(std::string_view name, const CollectionNames& collections) {
  State& s = *state_;
  NamedTensor* named = nullptr;
  if (!s.is_copy()) s.guarded_naming(name, [&] { named = s.tensor(name, collections); });
  return TensorHandle(named);
}

bool Hook::wants(std::string_view name) {
  const NamedTensor* named = state_->groups.find(name);
  return named != nullptr ? is_due(named) : wants(handle(name));
}

void Hook::save_tensor(std::string_view name, const TensorView& view,
                       const CollectionNames& collections) {
  NamedTensor* named = state_->groups.find(name);
  if (named == nullptr || !collections.empty())
    named = static_cast<NamedTensor*>(handle(name, collections).entry_);
  if (is_due(named)) {
    save_due(named, view);
  } else if (!state_->has_begun && state_->active()) {
    state_->guarded([&] { state_->warn_before_first_step(name); });
  }
}

void Hook::save_due(detail::TensorEntry* entry, const TensorView& view) {
  State& s = *state_;
  if (!s.active()) return;
  auto& named = static_cast<NamedTensor&>(*entry);
  s.guarded_save(named.name, [&] { s.save_due(named, view); });
}

void Hook::save_scalar(std::string_view name, double value, const CollectionNames& collections) {
  State& s = *state_;
  if (!s.active()) return;
  s.guarded_save(name, [&] {
    if (NamedTensor* named = s.tensor(name, collections)) s.save_scalar(*named, value);
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
  if (!s.active()) return;
  for (const TensorView& view : views) {
    std::string name;
    s.guarded_save(module, [&] {
      name = std::string(module) + side;
      name += std::to_string(s.number_of_next(name));
    });
    if (!name.empty()) save_tensor(name, view);
  }
}

std::int64_t Hook::committed_step() const noexcept {
  return state_->committed_step.load(std::memory_order_acquire);
}

bool Hook::stop_requested() const noexcept {
  return state_->stop_seen.load(std::memory_order_relaxed);
}

HookReport Hook::close() {
  State& s = *state_;
  if (s.is_copy() || s.is_inside_call()) return s.told();
  const State::Alone alone(s);
  s.close();
  return s.told();
}

}  // namespace cupel
