#include "array_text.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cupel::scripting_detail {
namespace {

constexpr std::size_t kCharactersPerInstruction = 64;

std::size_t size_of_offsets(const Shape& shape) {
  return (static_cast<std::size_t>(shape.elements()) + 1) * sizeof(std::int64_t);
}

}  // namespace

void CharacterWork::charge(std::size_t characters) {
  uncharged_ += characters;
  if (uncharged_ < kAtOnce) return;
  const std::size_t now = std::exchange(uncharged_, uncharged_ % kCharactersPerInstruction);
  budget_.charge(static_cast<std::int64_t>(now / kCharactersPerInstruction));
}

TextArray::TextArray(Budget& budget, const Shape& shape, std::size_t characters)
    : work_(budget),
      shape_(shape),
      bytes_(budget.allocate(size_of_offsets(shape) + characters)),
      characters_(reinterpret_cast<char*>(bytes_->data()) + size_of_offsets(shape)) {
  put_offset();
}

void TextArray::add(std::string_view text) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, CharacterWork::kAtOnce);
    work_.charge(part.size());
    std::memcpy(characters_ + size_, part.data(), part.size());
    size_ += part.size();
    text.remove_prefix(part.size());
  }
  put_offset();
}

void TextArray::put_offset() noexcept {
  const auto offset = static_cast<std::int64_t>(size_);
  std::memcpy(bytes_->data() + count_++ * sizeof offset, &offset, sizeof offset);
}

bool TextEquality::operator()(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t done = 0; done < a.size(); done += CharacterWork::kAtOnce) {
    const std::string_view part = a.substr(done, CharacterWork::kAtOnce);
    work_.charge(part.size());
    if (part != b.substr(done, CharacterWork::kAtOnce)) return false;
  }
  return true;
}

}  // namespace cupel::scripting_detail
