#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cupel/core/mutex.h"
#include "cupel/format/index_reader.h"
#include "stable_vector.h"

namespace cupel::trial_detail {

/// Every tensor name of a run once, numbered in the order of first appearance.
///
/// One thread interns; any thread finds, and reads the names of numbers that it has.
class NameTable {
 public:
  // Not checked: the one thread that interns reads without a lock.
  std::uint32_t intern(std::string_view name) CUPEL_UNCHECKED_LOCKS;
  std::optional<std::uint32_t> find(std::string_view name) const;
  const std::string& operator[](std::uint32_t id) const noexcept { return names_[id]; }

 private:
  mutable SharedMutex mutex_;
  std::unordered_map<std::string_view, std::uint32_t> ids_ CUPEL_GUARDED_BY(mutex_);
  StableVector<std::string> names_;
};

/// The names of one step's rows, in row order: shared by all steps that have the same ones.
/// Immutable.
class NameLayout {
 public:
  static constexpr std::uint32_t kAbsent = ~std::uint32_t{0};

  NameLayout(std::vector<std::uint32_t> ids, const NameTable& names);

  std::size_t size() const noexcept { return ids_.size(); }
  std::uint32_t id(std::size_t position) const noexcept { return ids_[position]; }

  /// The position of the name; kAbsent if the layout does not have it.
  std::uint32_t position(std::uint32_t id) const noexcept {
    if (!dense_.empty()) return id - base_ < dense_.size() ? dense_[id - base_] : kAbsent;
    return search(id);
  }
  bool contains(std::uint32_t id) const noexcept { return position(id) != kAbsent; }

  /// The number of rows without those of the hook's own tensors.
  std::size_t visible() const noexcept { return ids_.size() - (reserved_end_ - reserved_begin_); }
  bool has_reserved() const noexcept { return reserved_begin_ != reserved_end_; }
  std::span<const std::uint32_t> before_reserved() const noexcept {
    return std::span(ids_).first(reserved_begin_);
  }
  std::span<const std::uint32_t> after_reserved() const noexcept {
    return std::span(ids_).subspan(reserved_end_);
  }

 private:
  std::uint32_t search(std::uint32_t id) const noexcept;

  std::vector<std::uint32_t> ids_;
  std::size_t reserved_begin_ = 0,
              reserved_end_ = 0;  // the reserved prefix is one range of a sorted list
  std::uint32_t base_ = 0;
  std::vector<std::uint32_t> dense_;                            // position by id - base_, or
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_;  // (id, position) sorted by id
};

/// Finds the layout of a step's rows. Most steps repeat the names of the step before, so one
/// comparison of the concatenated names decides; unknown names are interned one by one. One thread.
class LayoutInterner {
 public:
  /// A layout with the concatenated names that it was made of.
  struct Entry {
    std::string text;
    std::vector<std::int32_t> ends;
    const NameLayout* layout = nullptr;
    bool matches(const IndexBatch& batch, std::size_t first, std::size_t last) const noexcept;
  };

  explicit LayoutInterner(NameTable& names) : names_(names) {}

  /// The layout of the rows [first, last) of the batch. `hint` is tried first, and then updated.
  const NameLayout* intern(const IndexBatch& batch, std::size_t first, std::size_t last,
                           std::shared_ptr<const Entry>& hint);

 private:
  const NameLayout& make(const IndexBatch& batch, std::size_t first, std::size_t last);

  NameTable& names_;
  std::deque<NameLayout> layouts_;  // live as long as the run's index
  std::unordered_multimap<std::size_t, std::shared_ptr<const Entry>> entries_;
};

}  // namespace cupel::trial_detail
