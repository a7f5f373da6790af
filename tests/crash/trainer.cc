// A training loop to be killed: trainer DIR ACK_FD WHEREABOUTS_FD [--reversed | --ended]. It writes
// every acknowledged step to the pipe ACK_FD, and where it is to the memory behind WHEREABOUTS_FD.
// With --ended it numbers its steps and ends them itself; end_step() has to acknowledge each of
// them before it returns, or the trainer fails.

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "cupel/format/layout.h"
#include "cupel/store/local_store.h"
#include "cupel/writer/hook.h"
#include "saved_values.h"

namespace cupel::crash {
namespace {

// A local store that tells when a segment is being sealed, and can write values behind the index
// entry that points to them, which is the mistake that the kill test must notice.
class ToldStore final : public Store {
 public:
  ToldStore(std::string root, Whereabouts& whereabouts, bool reversed)
      : local_(std::move(root)), whereabouts_(whereabouts), reversed_(reversed) {}

  std::string location() const override { return local_.location(); }
  void put(std::string_view key, std::span<const std::byte> bytes, Durability durability) override {
    const bool seals = key.starts_with(kIndexPrefix);
    if (seals) write_held_back();
    if (seals) whereabouts_.sealing = true;
    local_.put(key, bytes, durability);
    if (seals) whereabouts_.sealing = false;
  }
  bool can_append() const noexcept override { return true; }
  void append(std::string_view key, std::uint64_t expected_size,
              std::span<const std::span<const std::byte>> pieces) override {
    if (!reversed_) return local_.append(key, expected_size, pieces);
    if (key.starts_with(kEventsPrefix)) {
      HeldBack held{std::string(key), expected_size, {}};
      for (const auto& piece : pieces)
        held.bytes.insert(held.bytes.end(), piece.begin(), piece.end());
      held_back_.push_back(std::move(held));
      return;
    }
    local_.append(key, expected_size, pieces);
    write_held_back();
  }
  void sync(std::string_view key) override {
    write_held_back();
    local_.sync(key);
  }
  std::optional<std::vector<std::byte>> get(std::string_view key,
                                            std::uint64_t at_most) const override {
    return local_.get(key, at_most);
  }
  std::size_t get_range(std::string_view key, std::uint64_t offset,
                        std::span<std::byte> out) const override {
    return local_.get_range(key, offset, out);
  }
  std::vector<ObjectInfo> list(std::string_view prefix, std::string_view after) const override {
    return local_.list(prefix, after);
  }
  std::optional<ObjectInfo> stat(std::string_view key) const override { return local_.stat(key); }
  void remove(std::string_view key) override { local_.remove(key); }
  std::unique_ptr<Watch> watch(std::string_view prefix) const override {
    return local_.watch(prefix);
  }

 private:
  struct HeldBack {
    std::string key;
    std::uint64_t expected_size;
    std::vector<std::byte> bytes;
  };
  void write_held_back() {
    if (held_back_.empty()) return;
    whereabouts_.between_index_and_values = true;
    ::usleep(200);
    for (const HeldBack& held : std::exchange(held_back_, {})) {
      const std::span<const std::byte> bytes(held.bytes);
      local_.append(held.key, held.expected_size, std::span(&bytes, 1));
    }
    whereabouts_.between_index_and_values = false;
  }

  LocalStore local_;
  Whereabouts& whereabouts_;
  bool reversed_;
  std::vector<HeldBack> held_back_;
};

void acknowledge(int pipe, std::int64_t step) {
  if (::write(pipe, &step, sizeof step) != sizeof step) std::exit(3);
}

void train(const std::string& directory, int pipe, Whereabouts& whereabouts,
           const std::string& option) {
  const bool ends_steps = option == "--ended";

  HookOptions options;
  options.include_collections = {"weights"};
  options.save_config = {.save_interval = 1};
  options.reduction_config = {.abs_reductions = {"mean"}, .save_raw_tensor = true};
  options.buffer_bytes = 1U << 20U;
  options.segment_bytes = 1U << 20U;
  options.existing = Existing::Continue;
  options.commit_timeout = std::chrono::minutes(10);  // a machine under load is no failure
  Hook hook(options, std::make_shared<ToldStore>(directory, whereabouts, option == "--reversed"));
  for (std::int64_t step = hook.step() + 1; step < kSteps; ++step) {
    whereabouts.phase = Phase::NextStep;
    if (ends_steps) {
      hook.next_step(step);
    } else {
      hook.next_step();
    }
    whereabouts.phase = Phase::Outside;
    whereabouts.step = step;
    if (!ends_steps && hook.committed_step() >= 0) acknowledge(pipe, hook.committed_step());
    whereabouts.phase = Phase::Saving;
    for (const SavedTensor& tensor : saved_tensors()) {
      const std::vector<float> value = value_of(tensor, step);
      hook.save_tensor(tensor.name, TensorView(value.data(), {value.size()}));
    }
    hook.save_scalar("loss", static_cast<double>(step) + 0.5);
    if (ends_steps) {
      whereabouts.phase = Phase::NextStep;
      hook.end_step();
      whereabouts.phase = Phase::Outside;
      if (hook.committed_step() != step) std::exit(5);
      acknowledge(pipe, step);
    }
    whereabouts.phase = Phase::Outside;
  }
  whereabouts.phase = Phase::Closing;
  const HookReport report = hook.close();
  whereabouts.phase = Phase::Outside;
  if (!report.problems.empty()) std::exit(4);
  acknowledge(pipe, kClosed);
}

}  // namespace
}  // namespace cupel::crash

int main(int argc, char** argv) {
  using cupel::crash::Whereabouts;
  if (argc < 4) return 2;
  void* memory = ::mmap(nullptr, sizeof(Whereabouts), PROT_READ | PROT_WRITE, MAP_SHARED,
                        std::atoi(argv[3]), 0);
  if (memory == MAP_FAILED) return 2;
  cupel::crash::train(argv[1], std::atoi(argv[2]), *static_cast<Whereabouts*>(memory),
                      argc > 4 ? argv[4] : "");
  return 0;
}
