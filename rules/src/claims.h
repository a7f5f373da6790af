#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cupel::rules_detail {

/// Claims are files that record which attempts of which incidents have begun (PATH.claim, with the
/// number of the process that began) and finished (PATH.done, with a status), for a queue that
/// resumes after a kill. PATH.order is there while an attempt may begin.

/// Returns the name of an incident as bytes that are safe in a header and in an environment:
/// visible ASCII stays, all else and % become %XX. The end of a long name is replaced by a hash.
std::string incident_text(std::string_view incident);

/// Returns the text as a legal file name, escaped likewise.
std::string plain_name(std::string_view text);

/// Returns the PATH of an attempt, a legal file name whatever the name of the incident.
std::string claim_path(std::string_view directory, std::string_view incident, int attempt);

/// Makes the directory of claims, which only its owner may use. Throws std::system_error.
void make_claims_directory(const std::string& directory);

/// Where a path of these files is a FIFO, a device, a socket, a directory or a link, each function
/// that opens it throws UsageError, and never waits.

/// Writes PATH.order. Throws std::system_error.
void place_order(const std::string& path);
/// Claims the attempt for this process. Returns false if a process has. Throws std::system_error.
bool take_claim(const std::string& path);

/// None: no process has begun. Unwritten: a process is just beginning. Alive: the process that
/// began runs. Gone: that process has ended.
enum class ClaimHolder { None, Unwritten, Alive, Gone };
ClaimHolder claim_holder(const std::string& path);

/// Records the end of the attempt, as a whole. Throws std::system_error.
void record_done(const std::string& path, int status);
/// Returns the recorded status; -1 if the file holds no status; nothing if there is no file.
std::optional<int> done_status(const std::string& path);

/// Removes the files of an attempt.
void remove_claim(const std::string& path) noexcept;
/// Removes the files of all attempts in a directory, which is made if it is not there. Throws
/// std::system_error.
void remove_claims(const std::string& directory);

}  // namespace cupel::rules_detail
