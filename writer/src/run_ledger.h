#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cupel::writer_detail {

// Why steps are missing in a run although they were due.
enum class Missed : std::uint8_t {
  NoBuffers,   // dropped when they began: the buffers were full
  NoSpool,     // dropped when they began: the spool was full
  LostOnDisk,  // handed over whole, and the disk of the spool had no room for them
  Refused,     // their index rows are larger than readers take
  LeftOut,     // the overhead budget had no time for them; notes about the level report that
};

// The ledger of what readers of a run must learn: notes, and the steps that the run misses.
//
// An entry is carried to the readers by a step, as a value of it. It leaves the ledger when the
// commit of that step is confirmed. When the step itself is lost, the entry is given back and waits
// for the next step. Until a note about missed steps is confirmed, further steps that are missed
// for the same reason join it: one note has first, last and number of them.
//
// Knows no threads, no clock and no files; commits are numbered by the caller.
class RunLedger {
 public:
  // Counts a step that the run misses. Returns whether it begins an entry: no other step that is
  // missed for this reason is in the ledger.
  bool add(Missed why, std::int64_t step);
  // Adds a note, a JSON text. Beyond a hundred of one kind notes are left out, so that none keeps
  // others from being written.
  void note(std::string text);

  // The texts of the entries that no commit carries.
  std::vector<std::string> waiting() const;
  bool is_anything_waiting() const { return !waiting().empty(); }
  // The commit carries all entries that were waiting.
  void carry(std::uint64_t commit);
  // The commit is in the run.
  void confirm(std::uint64_t commit);
  // The commit is not in the run, and never will be.
  void give_back(std::uint64_t commit);

  // How many steps the run misses, for one reason, and for all reasons but LeftOut.
  std::int64_t count(Missed why) const noexcept;
  std::int64_t dropped() const noexcept;
  // All notes so far, also those that are not confirmed.
  std::vector<std::string> notes() const;

 private:
  struct Entry {
    std::optional<Missed> why;  // unset: a note
    std::int64_t first = 0, last = 0, count = 0;
    std::string note;
    std::uint64_t commit = 0;  // that carries it; 0: none
    std::string text() const;
  };
  bool is_worn_out(const Entry& entry) const;
  bool is_room_for(const std::string& text) const;

  std::vector<Entry> entries_;
  std::vector<std::string> final_;  // notes, and entries about missed steps that were confirmed
  std::array<std::int64_t, 5> counts_{};
};

}  // namespace cupel::writer_detail
