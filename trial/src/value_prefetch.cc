#include "value_prefetch.h"

#include <cstdint>
#include <utility>

#include "cupel/core/error.h"
#include "value_reader.h"

namespace cupel::trial_detail {

std::optional<TensorValue> ValuePrefetch::take(std::size_t nth,
                                               std::optional<Reduction> unless_saved) {
  const StepRows& rows = *parts_[rows_[nth].part].rows;
  if (cache_.is_on() && rows.block->is_stored(row_of(nth)))
    if (auto kept = cache_.value(key_of(nth))) return kept;
  while (next_ < read_.size() && read_[next_] < nth) values_[next_++].reset();
  if (next_ == read_.size() && !one_by_one_ && rows.block->is_stored(row_of(nth))) {
    try {
      read_from(nth, unless_saved);
    } catch (const FormatError&) {
      one_by_one_ = true;  // The error is thrown when the damaged value itself is taken.
    }
  }
  if (next_ == read_.size() || read_[next_] != nth) return reader_.read(rows, row_of(nth));
  return std::exchange(values_[next_++], std::nullopt);
}

void ValuePrefetch::read_from(std::size_t nth, std::optional<Reduction> unless_saved) {
  read_.clear();
  values_.clear();
  next_ = 0;
  const SegmentFiles* const files = parts_[rows_[nth].part].rows->files;
  std::vector<std::size_t> chosen;
  std::vector<ValuePlace> places;
  std::uint64_t bytes = 0;
  for (std::size_t i = nth; i < rows_.size(); ++i) {
    const StepRows& rows = *parts_[rows_[i].part].rows;
    const std::size_t row = row_of(i);
    if (!rows.block->is_stored(row)) continue;
    if (rows.files != files && !reader_.reads_files_together()) continue;
    if (i > nth && unless_saved && rows.block->reduction(row, *unless_saved)) continue;
    if (i > nth && cache_.has_value(key_of(i))) continue;
    bytes += rows.block->length(row);
    if (i > nth && bytes > reader_.prefetch_bytes()) break;
    chosen.push_back(i);
    places.push_back({&rows, row});
  }
  values_ = reader_.read(places);
  read_ = std::move(chosen);
  if (!cache_.is_on()) return;
  for (std::size_t i = 0; i < read_.size(); ++i)
    if (values_[i]) cache_.put(key_of(read_[i]), *values_[i]);
}

}  // namespace cupel::trial_detail
