#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/store/open_store.h"
#include "cupel/writer/spooled_store.h"

namespace cupel {

struct DeliverOptions {
  /// Opens the store that the spool is of.
  std::function<std::shared_ptr<Store>(std::string_view url)> open = [](std::string_view url) {
    return std::shared_ptr<Store>(open_store(url));
  };
  UploadOptions upload = {};
  /// Gives up when requests have failed for so long, and at once when the store refuses one.
  std::chrono::milliseconds patience{60'000};
  /// When all is delivered the directory goes, and the one that it lies in if nothing else is in
  /// it; but not this one, nor what holds it. Empty: the spool stays, empty but for its address.
  std::string stays = {};
  /// Called now and then with the bytes uploaded so far and those there were.
  std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress = {};
  std::stop_token stop = {};  ///< Gives up early.
};

struct DeliverReport {
  Spool::Destination destination;
  SealReport sealing;
  std::uint64_t segments_uploaded = 0;
  std::uint64_t bytes_uploaded = 0;
  bool ended = false;                 ///< The run has ended; its writer was not killed.
  NotUploaded left;                   ///< Nothing, where `left.directory` is empty.
  std::vector<std::string> problems;  ///< What is wrong with what was in the spool.
  std::vector<std::string> foreign;   ///< Files in it that are none of the run's: they stay.
  bool stopped = false;

  bool ok() const noexcept { return left.directory.empty() && problems.empty(); }
};

/// Does for a spool what the hook that wrote it has not done: seals what it left open, uploads all
/// that is left, and the end of the run if it had ended and did not go on elsewhere. What was
/// uploaded is removed from it, and no file that is not the run's. May be interrupted at any point,
/// and called again.
///
/// Where a segment is damaged, those of its attempt behind it stay, and the end is not said. Where
/// the disk has no room to seal the last one, it is sealed when the others are uploaded.
///
/// Throws UsageError while a process uses the spool, or where there is none; FormatError when it
/// cannot be told whose it is or what it holds; StoreError when the store cannot be asked what it
/// holds. Nothing is uploaded then, and nothing lost.
DeliverReport deliver_spool(const std::string& directory, const DeliverOptions& options = {});

}  // namespace cupel
