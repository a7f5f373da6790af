// A list of entries, in the order in which readers shall see them. Few entries are there at a time:
// a step carries all that wait, and its commit is known a step later as a rule. Nothing is written
// here; StepPipeline puts the texts into a step and reports what has become of it. If memory runs
// out in a call, the entry is at worst carried once more.

#include "run_ledger.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "note_text.h"

namespace cupel::writer_detail {
namespace {

constexpr std::ptrdiff_t kMostOfAKind = 100;

const char* reason(Missed why) noexcept {
  switch (why) {
    case Missed::NoBuffers:
      return "the buffers were full";
    case Missed::NoSpool:
    case Missed::LostOnDisk:
      return "the spool was full";
    case Missed::Refused:
      return "there was more in the index of a step than readers take";
    case Missed::LeftOut:
      break;
  }
  return "the overhead budget had no time for them";
}

std::size_t place_of(Missed why) noexcept { return static_cast<std::size_t>(why); }

}  // namespace

std::string RunLedger::Entry::text() const {
  if (!why) return note;
  return note_text({{"kind", "dropped_steps"},
                    {"first", first},
                    {"last", last},
                    {"count", count},
                    {"why", reason(*why)}});
}

bool RunLedger::add(Missed why, std::int64_t step) {
  ++counts_[place_of(why)];
  if (why == Missed::LeftOut) return counts_[place_of(why)] == 1;
  const auto same = [why](const Entry& entry) { return entry.why == why; };
  const bool is_first = std::ranges::none_of(entries_, same);
  const auto open = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return same(entry) && entry.commit == 0; });
  if (open == entries_.end()) {
    entries_.push_back({.why = why, .first = step, .last = step, .count = 1, .note = {}});
  } else {
    open->first = std::min(open->first, step);
    open->last = std::max(open->last, step);
    ++open->count;
  }
  return is_first;
}

void RunLedger::note(std::string text) {
  if (!is_room_for(text)) return;
  final_.push_back(text);
  entries_.push_back({.why = {}, .note = std::move(text)});
}

// A note's kind is what it begins with.
bool RunLedger::is_room_for(const std::string& text) const {
  const std::string_view kind = std::string_view(text).substr(0, text.find(','));
  return std::ranges::count_if(final_, [&](const std::string& other) {
           return other.starts_with(kind);
         }) < kMostOfAKind;
}

// Steps are missed for so many reasons, one after another, that no further note is written.
bool RunLedger::is_worn_out(const Entry& entry) const {
  return entry.why && !is_room_for(entry.text());
}

std::vector<std::string> RunLedger::waiting() const {
  std::vector<std::string> texts;
  for (const Entry& entry : entries_)
    if (entry.commit == 0 && !is_worn_out(entry)) texts.push_back(entry.text());
  return texts;
}

void RunLedger::carry(std::uint64_t commit) {
  for (Entry& entry : entries_)
    if (entry.commit == 0 && !is_worn_out(entry)) entry.commit = commit;
}

void RunLedger::confirm(std::uint64_t commit) {
  for (const Entry& entry : entries_)
    if (entry.commit == commit && entry.why) final_.push_back(entry.text());
  std::erase_if(entries_, [commit](const Entry& entry) { return entry.commit == commit; });
}

void RunLedger::give_back(std::uint64_t commit) {
  for (Entry& entry : entries_)
    if (entry.commit == commit) entry.commit = 0;
  // One entry for each reason waits: the older takes in what came while it was carried.
  for (auto older = entries_.begin(); older != entries_.end(); ++older) {
    if (!older->why || older->commit != 0) continue;
    for (auto newer = std::next(older); newer != entries_.end();) {
      if (newer->why != older->why || newer->commit != 0) {
        ++newer;
        continue;
      }
      older->first = std::min(older->first, newer->first);
      older->last = std::max(older->last, newer->last);
      older->count += newer->count;
      newer = entries_.erase(newer);
    }
  }
}

std::int64_t RunLedger::count(Missed why) const noexcept { return counts_[place_of(why)]; }

std::int64_t RunLedger::dropped() const noexcept {
  std::int64_t all = 0;
  for (const std::int64_t each : counts_) all += each;
  return all - count(Missed::LeftOut);
}

std::vector<std::string> RunLedger::notes() const {
  std::vector<std::string> texts = final_;
  for (const Entry& entry : entries_)
    if (entry.why && !is_worn_out(entry)) texts.push_back(entry.text());
  return texts;
}

}  // namespace cupel::writer_detail
