#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "cupel/delivery/run_delivery.h"
#include "cupel/delivery/seal_segments.h"
#include "cupel/delivery/spool.h"
#include "cupel/delivery/upload_options.h"
#include "cupel/store/store_scheme.h"

namespace cupel {

/// How deliver_spool() delivers.
struct DeliverOptions {
  /// The stores that the remote store of the spool may be. Empty: built_in_schemes().
  StoreSchemes schemes = {};
  UploadOptions upload = {};  ///< How files are uploaded.
  /// The delivery ends when requests have failed for so long, and at once when the store refuses
  /// one.
  std::chrono::milliseconds patience{60'000};
  /// When all is delivered, the spool and the directory above it are removed if they are empty, but
  /// neither `stays` nor a directory that contains it. Empty: the spool stays, with its spool.json.
  std::string stays = {};
  /// Called about every 50 ms with the bytes uploaded so far, and with all bytes to upload.
  std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress = {};
  std::stop_token stop = {};  ///< A request to stop ends the delivery early.
};

/// The result of deliver_spool().
struct DeliverReport {
  Spool::Destination destination;       ///< The remote store and the worker.
  SealReport sealing;                   ///< The segments that were sealed first.
  std::uint64_t segments_uploaded = 0;  ///< Segments that were uploaded.
  std::uint64_t bytes_uploaded = 0;     ///< Bytes of these segments.
  bool ended = false;                   ///< The run has ended; its writer was not killed.
  NotUploaded left;                     ///< The rest; nothing if `left.directory` is empty.
  std::vector<std::string> problems;    ///< The defects of the files in the spool.
  std::vector<std::string> foreign;     ///< Files of others in the spool, which stay there.
  bool stopped = false;                 ///< A request to stop has ended the delivery.

  bool ok() const noexcept { return left.directory.empty() && problems.empty(); }
};

/// Does for a spool what the hook that wrote it has not done: seals the segments that are open,
/// uploads all segments, and ends the run in the remote store if it had ended and was not continued
/// elsewhere. Uploaded files are removed from the spool, files of others are not. A call may be
/// interrupted at any point and repeated.
///
/// Where a segment is damaged, the segments of its attempt behind it stay, and the run is not
/// ended. Where the disk has no room to seal the last segment, it is sealed after the others were
/// uploaded.
///
/// Throws UsageError while a process uses the spool, or where there is none; FormatError when the
/// destination of the spool is unknown, or its collections file is missing; StoreError when the
/// remote store cannot be read. Then nothing was uploaded, and nothing is lost.
DeliverReport deliver_spool(const std::string& directory, const DeliverOptions& options = {});

}  // namespace cupel
