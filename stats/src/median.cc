// The median, by radix select. Elements are mapped to unsigned keys of the same order. A histogram
// of the keys' top eleven bits shows which bucket holds the lower middle element. The next eleven
// bits are counted within that bucket only, and so on, until all bits are known or the bucket is
// small enough to be copied for std::nth_element. Every histogram reads the tensor again, which
// costs less than copying it. The upper middle element, if there are two, is mostly in the same
// bucket; if not, it is the least key above it.

#include "median.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>
#include <vector>

#include "cupel/core/element_type.h"
#include "pieces.h"

namespace cupel::stats_detail {
namespace {

template <std::size_t kSize>
using UnsignedOfSize = std::conditional_t<
    kSize == 1, std::uint8_t,
    std::conditional_t<kSize == 2, std::uint16_t,
                       std::conditional_t<kSize == 4, std::uint32_t, std::uint64_t>>>;

/// Maps the elements T, or their magnitudes, to keys of the same order and back.
template <class T, bool kMagnitudes>
struct KeyMap {
  using Key = UnsignedOfSize<sizeof(T)>;
  static constexpr bool kBoolean = std::is_same_v<T, bool>;
  static constexpr bool kInteger = std::is_integral_v<T>;
  static constexpr bool kUnsigned = std::is_unsigned_v<T>;
  static constexpr Key kSign = static_cast<Key>(Key{1} << (std::numeric_limits<Key>::digits - 1));

  static Key key(Key bits) noexcept {
    const bool negative = (bits & kSign) != 0;
    if constexpr (kBoolean) return bits != 0;
    if constexpr (kUnsigned) return bits;
    if constexpr (kInteger && kMagnitudes) return negative ? static_cast<Key>(-bits) : bits;
    if constexpr (kInteger) return bits ^ kSign;
    if constexpr (kMagnitudes) return static_cast<Key>(bits << 1U);  // uses all digits
    return static_cast<Key>(negative ? ~bits : bits | kSign);
  }

  static double value(Key key) noexcept {
    if constexpr (kUnsigned || (kInteger && kMagnitudes)) {
      return static_cast<double>(key);
    } else if constexpr (kInteger) {
      return static_cast<double>(static_cast<T>(key ^ kSign));
    } else {
      const bool negative = (key & kSign) == 0;
      const Key bits = static_cast<Key>(kMagnitudes ? key >> 1U : negative ? ~key : key & ~kSign);
      return as_double(std::bit_cast<T>(bits));
    }
  }
};

/// The keys that agree with `first` in the bits of `mask`, which are the top ones.
template <class Key>
struct Bucket {
  static constexpr int kKeyBits = std::numeric_limits<Key>::digits;
  Key first = 0;
  Key mask = 0;
  std::size_t count = 0;

  bool contains(Key key) const noexcept { return (key & mask) == first; }
  bool is_single_key() const noexcept { return mask == static_cast<Key>(~Key{0}); }
  int unknown_bits() const noexcept { return std::countr_zero(mask); }  // all of them if mask is 0
  Key last() const noexcept { return static_cast<Key>(first | ~mask); }
};

/// Counts of a digit of eleven bits. Neighbouring keys go to different tables, because equal ones
/// would wait for each other; which goes where is in the code, so that it costs nothing.
struct Histogram {
  static constexpr int kDigitBits = 11;
  static constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
  static constexpr std::size_t kElsewhere = kDigits;  // for keys that are not to be counted

  /// Counts `digit_of(0)` to `digit_of(count - 1)`.
  template <class F>
  void add(std::size_t count, F&& digit_of) noexcept {
    for (std::size_t i = 0; i + 1 < count; i += 2) {
      ++tables[0][digit_of(i)];
      ++tables[1][digit_of(i + 1)];
    }
    if (count % 2 == 1) ++tables[0][digit_of(count - 1)];
  }
  std::size_t count(std::size_t digit) const noexcept {
    return tables[0][digit] + tables[1][digit];
  }

  std::array<std::array<std::size_t, kDigits + 1>, 2> tables{};
};

template <class Map>
class MedianOf {
 public:
  using Key = typename Map::Key;

  explicit MedianOf(const TensorView& view) noexcept : view_(view) {}

  double find() const {
    const auto count = static_cast<std::size_t>(view_.elements());
    // Buckets up to this size are copied; the smallest is not worth a histogram.
    const std::size_t collectable = std::max<std::size_t>(count / 8, 4096);
    std::size_t rank = (count - 1) / 2;
    Bucket<Key> bucket{.count = count};
    while (bucket.count > collectable && !bucket.is_single_key()) narrow(bucket, rank);

    Key lower = bucket.first;
    std::optional<Key> upper;
    if (bucket.is_single_key()) {
      if (rank + 1 < bucket.count) upper = lower;
    } else {
      std::vector<Key> keys = collect(bucket);
      const auto middle = keys.begin() + static_cast<std::ptrdiff_t>(rank);
      std::nth_element(keys.begin(), middle, keys.end());
      lower = *middle;
      if (rank + 1 < bucket.count) upper = *std::min_element(middle + 1, keys.end());
    }
    if (count % 2 == 1) return Map::value(lower);
    if (!upper) upper = least_above(bucket.last());
    return std::midpoint(Map::value(lower), Map::value(*upper));
  }

 private:
  /// The elements of one piece.
  struct Keys {
    const std::byte* bytes;
    std::size_t count;

    Key operator[](std::size_t i) const noexcept {
      Key bits;
      std::memcpy(&bits, bytes + i * sizeof bits, sizeof bits);  // may be misaligned
      return Map::key(bits);
    }
  };

  template <class F>
  void for_each_keys(F&& f) const {
    for_each_piece(view_, [&f](const void* data, std::size_t count) {
      f(Keys{static_cast<const std::byte*>(data), count});
    });
  }

  /// Replaces the bucket by the part of it that holds its element `rank`, and `rank` by the rank
  /// there.
  void narrow(Bucket<Key>& bucket, std::size_t& rank) const noexcept {
    const int bits = std::min(Histogram::kDigitBits, bucket.unknown_bits());
    const int shift = bucket.unknown_bits() - bits;
    const std::size_t digit_mask = (std::size_t{1} << bits) - 1;
    const auto digit_of = [shift, digit_mask](Key key) {
      return static_cast<std::size_t>(key >> shift) & digit_mask;
    };
    Histogram histogram;
    for_each_keys([&, whole = bucket](Keys keys) {
      if (whole.mask == 0) {
        histogram.add(keys.count, [&](std::size_t i) { return digit_of(keys[i]); });
      } else {
        histogram.add(keys.count, [&](std::size_t i) {
          const Key key = keys[i];
          return whole.contains(key) ? digit_of(key) : Histogram::kElsewhere;
        });
      }
    });
    std::size_t digit = 0;
    while (rank >= histogram.count(digit)) rank -= histogram.count(digit++);
    bucket.first = static_cast<Key>(bucket.first | static_cast<Key>(digit << shift));
    bucket.mask = static_cast<Key>(bucket.mask | static_cast<Key>(digit_mask << shift));
    bucket.count = histogram.count(digit);
  }

  std::vector<Key> collect(const Bucket<Key>& bucket) const {
    constexpr std::size_t kGroup = 8;  // most groups hold no member, and are passed over at once
    std::vector<Key> collected(bucket.count + 1);  // the last one takes keys of other buckets
    Key* next = collected.data();
    const auto collect_one = [&next, &bucket](Key key) {
      *next = key;
      next += bucket.contains(key) ? 1 : 0;
    };
    for_each_keys([&](Keys keys) {
      std::size_t i = 0;
      for (; i + kGroup <= keys.count; i += kGroup) {
        std::array<Key, kGroup> group;
        unsigned members = 0;
        for (std::size_t k = 0; k < kGroup; ++k) {
          group[k] = keys[i + k];
          members |= static_cast<unsigned>(bucket.contains(group[k]));
        }
        if (members == 0) continue;
        for (const Key key : group) collect_one(key);
      }
      for (; i < keys.count; ++i) collect_one(keys[i]);
    });
    collected.pop_back();
    return collected;
  }

  Key least_above(Key bound) const noexcept {
    auto least = static_cast<Key>(~Key{0});
    for_each_keys([&least, bound](Keys keys) {
      for (std::size_t i = 0; i < keys.count; ++i)
        if (const Key key = keys[i]; key > bound) least = std::min(least, key);
    });
    return least;
  }

  const TensorView& view_;
};

}  // namespace

double median(const TensorView& view, bool magnitudes) {
  return with_element_type(view.dtype(), [&]<class T>(T) {
    return magnitudes ? MedianOf<KeyMap<T, true>>(view).find()
                      : MedianOf<KeyMap<T, false>>(view).find();
  });
}

}  // namespace cupel::stats_detail
