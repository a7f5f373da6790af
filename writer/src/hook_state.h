#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "call_gate.h"
#include "cupel/core/error.h"
#include "cupel/store/store.h"
#include "cupel/writer/hook.h"
#include "hook_journal.h"
#include "process.h"
#include "step_clock.h"
#include "step_inputs.h"
#include "step_sink.h"
#include "tensor_groups.h"

namespace cupel {

// What a hook is made of: each public call passes the gate, the clock and the groups decide what is
// due, and the sink takes the values of the step. A hook that saves nothing has another sink, and
// one that has ended saving a gate that is shut.
struct Hook::State {
  using Clock = std::chrono::steady_clock;

  State(HookOptions hook_options, std::vector<Collection> configured, std::shared_ptr<Store> into);

  static void check(HookConfiguration configuration);

  // Runs what a public call does. Nothing leaves it, unless the user asked for that.
  template <class F>
  void guarded(F&& call) {
    gate.run([&] { protect(call); });
  }
  template <class F>
  void guarded_save(std::string_view name, F&& call) {
    gate.run_save([&] { protect(call); }, [&] { refuse_beside_step(name); });
  }
  template <class F>
  void guarded_naming(std::string_view name, F&& call) {
    gate.run_naming([&] { protect(call); }, [&] { refuse_beside_step(name); });
  }

  // Before the step changes or the hook closes: outside of its calls, so that saves go through.
  void deliver_held_back() {
    if (deliver && gate.is_open() && !gate.is_inside_call()) deliver();
  }

  writer_detail::NamedTensor* tensor(std::string_view name, const CollectionNames& tags);
  void begin_step(std::optional<std::int64_t> number);
  void end_step();
  void set_mode(Mode mode);
  void save_due(writer_detail::NamedTensor& named, const TensorView& view);
  void report_outside_step(writer_detail::NamedTensor& named);
  void save_always(writer_detail::NamedTensor& named, const TensorView& view);
  void close();
  // Closes; false where that is not possible any more.
  bool close_at_exit() noexcept;

  HookOptions options;
  writer_detail::CallGate gate;
  writer_detail::HookJournal journal;
  writer_detail::StepClock clock;
  writer_detail::StepInputs inputs;
  writer_detail::TensorGroups groups;
  std::unique_ptr<writer_detail::StepSink> sink;
  std::function<void()> deliver;  // what an adapter holds back; may be empty
  std::atomic<bool> stop_requested{false};
  std::optional<writer_detail::AtExit> at_exit;  // last: while there is anything to close

 private:
  template <class F>
  void protect(F&& call) {
    try {
      call();
    } catch (const UsageError& error) {
      // A mistake that is to be thrown costs its call only.
      if (journal.throws_mistakes()) throw;
      disable(error.what());
    } catch (const std::exception& error) {
      disable(error.what());
      if (journal.throws_mistakes()) throw;
    } catch (...) {  // of a store of the user's
      disable("something was thrown that is no std::exception");
      if (journal.throws_mistakes()) throw;
    }
  }
  std::unique_ptr<writer_detail::StepSink> make_sink(std::shared_ptr<Store> into);
  void prepare();
  void step(std::optional<std::int64_t> number);
  void save_kept(const std::vector<writer_detail::KeptValue>& kept);
  void begin_closing_step();
  void look_around(Clock::time_point now);
  void decide_all();
  void nothing_is_due() noexcept;
  void save(writer_detail::NamedTensor& named, const TensorView& view,
            const writer_detail::SaveDecision& what);
  void refuse_beside_step(std::string_view name);
  void report_misspelt_collections();
  void report_empty_collections();
  void disable(const char* what) noexcept;
  void finish();
  void fill_report() noexcept;
};

}  // namespace cupel
