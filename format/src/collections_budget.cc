#include "collections_budget.h"

#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/mode.h"

namespace cupel::format_detail {
namespace {

// With the bytes of the file themselves, a reader takes 8 times the file. The free part is for
// small files in which a short text takes much memory, such as the pattern (a{1000}){50}.
constexpr std::uint64_t kTimesTheFile = 7;
constexpr std::uint64_t kFreeMib = 32;

// The bytes of the nodes of maps and sets and of their allocations, without the texts.
constexpr std::uint64_t kNode = 48;
constexpr std::uint64_t kCollection = kNode + sizeof(Collections::value_type);
constexpr std::uint64_t kContents = 384;
constexpr std::uint64_t kTensorName = kNode + sizeof(std::string);

// The bytes of a std::string outside of the object.
std::uint64_t bytes_of(std::string_view text) noexcept {
  const bool is_short = text.size() < 16;
  return is_short ? 0 : text.size() + 24;
}

std::size_t listed_steps(const SaveConfig& config) {
  std::size_t count = 0;
  for (const Mode mode : kAllModes) count += config.mode(mode).save_steps.size();
  return count;
}

}  // namespace

CollectionsBudget::CollectionsBudget(std::uint64_t file_bytes) noexcept
    : left_((kFreeMib << 20U) + kTimesTheFile * file_bytes) {}

void CollectionsBudget::add_collection(std::string_view name) {
  if (++collections_ > kMostCollections)
    throw UsageError("a run has at most " + std::to_string(kMostCollections) + " collections");
  spend(kCollection + 2 * bytes_of(name));  // the key of the map, and the collection's own
}

void CollectionsBudget::add_contents() { spend(kContents); }

void CollectionsBudget::add_tensor_name(std::string_view name) {
  spend(kTensorName + bytes_of(name));
}

void CollectionsBudget::add_steps(std::size_t count) { spend(count * sizeof(std::int64_t)); }

void CollectionsBudget::add_pattern(const Pattern& pattern) {
  count_pattern();
  spend(pattern.bytes());
}

Pattern CollectionsBudget::compile(const std::string& text) {
  count_pattern();
  Pattern pattern(text);
  spend(pattern.bytes());
  return pattern;
}

void CollectionsBudget::add(const Collections& collections) {
  for (const auto& [name, collection] : collections) {
    add_collection(name);
    add_contents();
    for (const std::string& tensor : collection.tensor_names()) add_tensor_name(tensor);
    for (const Pattern& pattern : collection.include_regex().patterns()) add_pattern(pattern);
    if (const auto& config = collection.save_config()) add_steps(listed_steps(*config));
  }
}

void CollectionsBudget::count_pattern() {
  if (++patterns_ > kMostPatterns)
    throw UsageError("the collections of a run have at most " + std::to_string(kMostPatterns) +
                     " patterns");
}

void CollectionsBudget::spend(std::uint64_t bytes) {
  if (bytes > left_)
    throw UsageError("the collections take more memory than " + std::to_string(kTimesTheFile) +
                     " times their file and " + std::to_string(kFreeMib) + " MiB");
  left_ -= bytes;
}

}  // namespace cupel::format_detail
