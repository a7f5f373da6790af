#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cupel {

/// Claims are files that say which attempts of which incidents were begun (PATH.claim, with the
/// number of the process that began it) and finished (PATH.done, with a status): what a queue finds
/// that was killed and started again. PATH.order is there while an attempt may be begun.

/// An incident's name as bytes that are safe in a header and in an environment: visible ASCII
/// stays, all else and % become %XX. Of long ones the end is a hash.
std::string incident_text(std::string_view incident);

/// The same as a legal file name.
std::string plain_name(std::string_view text);

/// The PATH of an attempt, a legal file name whatever the incident is called.
std::string claim_path(std::string_view directory, std::string_view incident, int attempt);

/// Makes the directory of claims, which only its owner may use. Throws std::system_error.
void make_claims_directory(const std::string& directory);

/// Where a path of these files is a FIFO, a device, a socket, a directory or a link, each function
/// that opens it throws UsageError, and never waits.

/// Writes PATH.order. Throws std::system_error.
void place_order(const std::string& path);
/// Claims it for this process. False if somebody has. Throws std::system_error.
bool take_claim(const std::string& path);

/// None: nobody has begun. Unwritten: somebody just does. Gone: who had begun has ended.
enum class ClaimHolder { None, Unwritten, Alive, Gone };
ClaimHolder claim_holder(const std::string& path);

/// Records the end, at once as a whole. Throws std::system_error.
void record_done(const std::string& path, int status);
/// The status that was recorded; -1 if what is there is none.
std::optional<int> done_status(const std::string& path);

/// Forgets that it was ever begun, or claimed.
void remove_claim(const std::string& path) noexcept;
/// The same of all that are in a directory, which is made if it is not there. Throws
/// std::system_error.
void remove_claims(const std::string& directory);

}  // namespace cupel
