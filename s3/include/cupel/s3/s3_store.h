#pragma once

#include <memory>

#include "cupel/s3/s3_location.h"
#include "cupel/s3/s3_options.h"
#include "cupel/store/store.h"

namespace cupel {

/// A Store in a bucket, below a prefix, on Amazon S3 or a server that speaks its protocol.
///
/// Objects are written whole: can_append() is false. The bucket must exist; a store never creates
/// it. An object's identity is its ETag and the second of its last change, so an object that is
/// replaced by the same bytes within a second keeps its identity. put() writes the checksum and the
/// size of an object as its metadata (x-amz-meta-cupel-…), and get() and stat() check them.
///
/// A failure that may pass is retried within the limits of S3Options. The StoreError of the last
/// attempt names bucket, object, action, HTTP status and the service's message, and no secret.
/// get_range() may return old and new bytes of an object that is replaced meanwhile; the sealed
/// files of a run never change.
///
/// Stores with the same endpoint, region and profile share connections and credentials while any of
/// them lives; their threads last until the process ends. Stores do not survive fork(): in a child
/// of a process that had a store, every store throws StoreError.
class S3Store final : public Store {
 public:
  /// Reads configuration and profile, and sends nothing. Throws UsageError for an illegal setting,
  /// and StoreError in a child of a process that had a store.
  explicit S3Store(S3Location location, const S3Options& options = {});
  ~S3Store() override;

  std::string location() const override;
  void put(std::string_view key, std::span<const std::byte> bytes,
           Durability durability = Durability::Durable) override;
  bool can_append() const noexcept override { return false; }
  void append(std::string_view key, std::uint64_t expected_size,
              std::span<const std::span<const std::byte>> pieces) override;
  void sync(std::string_view key) override;
  std::optional<std::vector<std::byte>> get(std::string_view key,
                                            std::uint64_t at_most = 64U << 20U) const override;
  std::size_t get_range(std::string_view key, std::uint64_t offset,
                        std::span<std::byte> out) const override;
  void get_ranges(std::string_view key, std::span<Range> ranges) const override;
  std::vector<ObjectInfo> list(std::string_view prefix, std::string_view after = {}) const override;
  std::optional<ObjectInfo> stat(std::string_view key) const override;
  void remove(std::string_view key) override;
  std::unique_ptr<Watch> watch(std::string_view prefix = {}) const override;
  void interrupt() noexcept override;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with watches
};

}  // namespace cupel
