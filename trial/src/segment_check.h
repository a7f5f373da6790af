#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cupel/core/aligned_buffer.h"
#include "cupel/format/index_reader.h"
#include "cupel/store/store.h"
#include "value_check.h"
#include "verify_findings.h"

namespace cupel::trial_detail {

/// Whether a segment must be sealed, which depends on the other files of the run.
enum class SealDemand {
  None,            ///< No: it is the worker's last segment, and the run goes on.
  EarlierAttempt,  ///< No: it is the last of an attempt whose process was killed.
  Sealed,          ///< Yes.
};

/// Checks one segment: its index file, every value that the index points to, and whether the events
/// file names the same values. One thread.
class SegmentCheck {
 public:
  /// Borrows the store. `read_bytes` is called with the number of bytes after each read.
  SegmentCheck(const Store& store, SegmentName name, SealDemand demand, std::stop_token stop,
               std::function<void(std::uint64_t)> read_bytes);

  /// Checks the files as they are now, and once more if they are replaced meanwhile.
  void run();

  // The results of run().
  VerifyFindings findings;
  std::optional<SegmentIdentity> identity;
  std::vector<std::int64_t> steps;
  std::int64_t last_step = -1;  ///< Also a step with the hook's own tensors only.
  std::uint64_t rows = 0, values = 0, value_bytes = 0;
  bool has_events = false;

 private:
  void begin_again();
  void check_index(const ObjectInfo& info);
  void check_end(SegmentEnd end, const IndexReader& reader);
  void take(const IndexBatch& batch);
  void count_value(std::uint64_t bytes) noexcept {
    ++values;
    value_bytes += bytes;
  }
  void check_value(const RowClaims& claims, std::span<const RowClaims> rest);
  void check_long_value(const RowClaims& claims);
  std::uint64_t length_with_neighbours(std::span<const RowClaims> rest) const;
  std::optional<std::span<const std::byte>> fetch(const RowClaims& claims,
                                                  std::span<const RowClaims> rest);
  void check_events();
  void walk_events(std::uint64_t size, std::uint64_t needed);
  void check_unsealed_events(SegmentEnd end, std::uint64_t consumed, std::uint64_t needed,
                             const std::string& torn_reason);

  struct Stored {
    std::uint64_t offset, length;
    std::int64_t step;
    std::string tensor;
    bool described = false;  // whether the events file names it at this place
  };

  const Store& store_;
  const SegmentName name_;
  const std::string index_key_, events_key_;
  const SealDemand demand_;
  const std::stop_token stop_;
  const std::function<void(std::uint64_t)> read_bytes_;

  bool sealed_ = false;
  bool index_is_whole_ = false;  // all of the index file was read
  std::vector<Stored> stored_;
  std::uint64_t events_size_ = 0;
  AlignedBuffer window_;  // a piece of the events file
  std::uint64_t window_begin_ = 0;
};

}  // namespace cupel::trial_detail
