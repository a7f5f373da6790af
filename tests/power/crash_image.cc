#include "power/crash_image.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace cupel::testing {
namespace {

using Bytes = std::vector<std::byte>;

// What a disk writes at once.
constexpr std::size_t kBlock = 512;

struct Object {
  std::optional<Bytes> synced;  // what must be there
  std::optional<Bytes> newest;  // what was there before the power failed
};

bool grew(const Object& object) {
  return !object.synced ||
         (object.newest && object.newest->size() >= object.synced->size() &&
          std::ranges::equal(*object.synced,
                             std::span(*object.newest).first(object.synced->size())));
}

// Of what grew the synchronised bytes are there; of what was replaced all may be others.
std::optional<Bytes> with_zeros(const Object& object) {
  if (!object.newest) return object.synced;
  Bytes bytes = *object.newest;
  const std::size_t safe = object.synced && grew(object) ? object.synced->size() : 0;
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(safe), bytes.end(), std::byte{0});
  return bytes;
}

std::optional<Bytes> at_random(const Object& object, std::mt19937_64& random) {
  switch (random() % 4) {
    case 0:
      return object.synced;
    case 1:
      return object.newest;
    case 2:
      return with_zeros(object);
    default:
      break;
  }
  if (!object.newest) return object.synced;
  Bytes bytes = *object.newest;
  const std::size_t safe = object.synced && grew(object) ? object.synced->size() : 0;
  bytes.resize(safe + random() % (bytes.size() - safe + 1));
  for (std::size_t block = safe / kBlock * kBlock; block < bytes.size(); block += kBlock) {
    if (random() % 2 == 0) continue;
    const std::size_t begin = std::max(block, safe);
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                std::min(block + kBlock, bytes.size()) - begin, std::byte{0});
  }
  return bytes;
}

std::optional<Bytes> survivor(const std::string& key, const Object& object, Fate fate,
                              std::mt19937_64& random) {
  if (object.synced == object.newest) return object.synced;
  const bool is_index = key.starts_with("index/");
  switch (fate) {
    case Fate::Lost:
      return object.synced;
    case Fate::Kept:
      return object.newest;
    case Fate::Zeros:
      return with_zeros(object);
    case Fate::IndexKept:
      return is_index ? object.newest : object.synced;
    case Fate::IndexZeros:
      return is_index ? object.newest : with_zeros(object);
    case Fate::EventsKept:
      return key.starts_with("events/") ? object.newest : object.synced;
    case Fate::Random:
      return at_random(object, random);
  }
  return std::nullopt;
}

}  // namespace

Files crash_image(std::span<const StoreCall> calls, Fate fate, std::mt19937_64& random) {
  std::map<std::string, Object> objects;
  for (const StoreCall& call : calls) {
    if (call.kind == StoreCall::Kind::Acknowledged) continue;
    Object& object = objects[call.key];
    if (call.kind == StoreCall::Kind::Put) {
      object.newest = call.bytes;
    } else if (call.kind == StoreCall::Kind::Append) {
      if (!object.newest) object.newest.emplace();
      object.newest->insert(object.newest->end(), call.bytes.begin(), call.bytes.end());
    } else if (call.kind == StoreCall::Kind::Remove) {
      object.newest.reset();
    }
    if (call.durable || call.kind == StoreCall::Kind::Sync) object.synced = object.newest;
  }
  Files files;
  for (const auto& [key, object] : objects)
    if (auto bytes = survivor(key, object, fate, random)) files[key] = *std::move(bytes);
  return files;
}

}  // namespace cupel::testing
