// Finds the whole batches of a damaged index file. The checksum of a batch is seeded with the
// checksum of the batch before it. A batch is tried with these seeds: the checksum of the last
// whole batch; the checksum that a damaged message states; and the checksum that the first damaged
// message should have, in case that only its digits are damaged. A batch that fails with all of
// them is left out: any bytes have their checksum with some seed, so a batch whose seed is lost is
// not proven.
//
// Magic, schema and dictionaries are the first seed. Where no batch proves them, the schema in the
// footer does, at the other end of the chain; the dictionaries are the same in every file. The
// whole messages are chained anew, one behind another, and read as any other index file. No bytes
// make this fail, and the work is bounded (kMostPasses).

#include "cupel/format/index_salvage.h"

#include <arrow/array/array_dict.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/util/key_value_metadata.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "arrow_support.h"
#include "cupel/core/crc32c.h"
#include "cupel/core/error.h"
#include "flat_table.h"
#include "index_columns.h"
#include "index_dictionaries.h"
#include "ipc_file.h"
#include "ipc_message.h"
#include "schema_identity.h"

namespace cupel {

using namespace format_detail;

namespace {

constexpr std::size_t kBetweenMessages = 8;  // messages begin at multiples of it
constexpr std::size_t kEndOfStreamBytes = 8;
constexpr std::size_t kAfterFooter = 4 + kArrowMagic.size();
constexpr std::size_t kMostSeeds = 8;
constexpr std::size_t kMostMetadata = std::size_t{256} << 10U;  // of a message
// The number of times that all bytes of a file may be checked. It bounds the time that a file made
// on purpose takes.
constexpr std::size_t kMostPasses = 64;

struct IndexMessage {
  std::size_t begin = 0;
  MessageFrame frame{};
  std::optional<std::size_t> digits;    // from `begin`
  std::optional<std::uint32_t> stored;  // the checksum that they spell
  std::size_t end() const noexcept { return begin + frame.size(); }
};

// Whether most of the bytes that end the stream are at the front: they may be damaged themselves.
bool is_nearly_end_of_stream(std::span<const std::byte> bytes) noexcept {
  constexpr std::ptrdiff_t kMostDamaged = 3;
  static constexpr std::array<unsigned char, kEndOfStreamBytes> kWhole = {0xff, 0xff, 0xff, 0xff};
  return std::ranges::count_if(kWhole, [&, i = std::size_t{0}](unsigned char byte) mutable {
           return bytes[i++] != static_cast<std::byte>(byte);
         }) <= kMostDamaged;
}

// Returns the place of the first batch's message, behind schema and dictionaries; nothing if these
// are not readable.
std::optional<std::size_t> behind_preamble(std::span<const std::byte> bytes) {
  for (std::size_t position = kArrowHeaderBytes; position < bytes.size();) {
    const FrameResult result = read_frame(bytes.subspan(position));
    if (result.kind != FrameKind::Message) return std::nullopt;
    if (result.frame.type == MessageType::RecordBatch) return position;
    position += result.frame.size();
  }
  return std::nullopt;
}

class IndexSalvage {
 public:
  IndexSalvage(std::string key, std::shared_ptr<const AlignedBuffer> file)
      : key_(std::move(key)),
        file_(std::move(file)),
        bytes_(file_->span()),
        limit_(footer_place()) {}

  SalvagedIndex run() {
    std::optional<std::size_t> first = behind_preamble(bytes_.first(limit_));
    if (!first) first = next_message(kArrowHeaderBytes);
    if (*first == limit_) {
      lose_all("no whole step is in the file");
    } else {
      first_ = *first;
      walk();
      prove_preamble();
    }
    read_whole_messages();
    return std::move(found_);
  }

 private:
  struct Gap {
    IndexGap told;
    std::size_t before = 0;    // so many whole messages are before it
    std::size_t messages = 0;  // that were recognised in it
    std::size_t expected = 0;  // where the next one begins
  };

  std::size_t footer_place() const;
  std::optional<IndexMessage> message_at(std::size_t position) const;
  std::optional<std::uint64_t> rows_of(const IndexMessage& message) const;
  std::size_t next_message(std::size_t from);
  std::optional<std::uint32_t> seed_of(std::span<const std::byte> bytes, std::size_t digits,
                                       std::uint32_t stored);
  void walk();
  void accept(const IndexMessage& message, std::uint32_t seed);
  void vouch_for_suspect();
  void add_seed(std::uint32_t seed);
  void add_to_gap(std::size_t position, const std::optional<IndexMessage>& message);
  void end_walk(bool ended);
  void prove_preamble();
  std::vector<std::byte> preamble_of_footer() const;
  void read_whole_messages();
  bool was_sealed() const;
  void lose_all(const std::string& problem);

  const std::string key_;
  const std::shared_ptr<const AlignedBuffer> file_;
  const std::span<const std::byte> bytes_;
  const std::size_t limit_;  // where the footer begins, or the file's end
  std::size_t first_ = 0;    // where the first message begins
  std::size_t checked_ = 0;  // bytes

  std::vector<std::uint32_t> seeds_;
  std::optional<IndexMessage> suspect_;  // the only damaged message since the last whole one
  std::uint32_t suspect_checksum_ = 0;   // that it should have
  std::optional<Gap> open_gap_;
  std::vector<Gap> gaps_;
  std::vector<IndexMessage> whole_;
  bool preamble_is_whole_ = false;
  bool footer_is_whole_ = false;
  std::vector<std::byte> made_preamble_;  // where the file's own is damaged
  SalvagedIndex found_;
};

std::size_t IndexSalvage::footer_place() const {
  const std::size_t size = bytes_.size();
  std::uint32_t length = 0;
  if (size < kArrowHeaderBytes + kEndOfStreamBytes + kAfterFooter ||
      std::memcmp(bytes_.data() + size - kArrowMagic.size(), kArrowMagic.data(),
                  kArrowMagic.size()) != 0)
    return size;
  std::memcpy(&length, bytes_.data() + size - kAfterFooter, sizeof length);
  if (length > size - kArrowHeaderBytes - kEndOfStreamBytes - kAfterFooter) return size;
  const std::size_t place = size - kAfterFooter - length - kEndOfStreamBytes;
  const auto rest = bytes_.subspan(place);
  const bool is_footer = read_frame(rest).kind == FrameKind::EndOfStream ||
                         (is_nearly_end_of_stream(rest) && find_checksum_digits(rest));
  return is_footer ? place : size;
}

std::optional<IndexMessage> IndexSalvage::message_at(std::size_t position) const {
  const std::span<const std::byte> rest = bytes_.first(limit_).subspan(position);
  const FrameResult result = read_frame(rest);
  if (result.kind != FrameKind::Message || result.frame.type != MessageType::RecordBatch ||
      result.frame.compressed || result.frame.metadata_length > kMostMetadata)
    return std::nullopt;
  IndexMessage message{position, result.frame, std::nullopt, std::nullopt};
  message.digits = find_checksum_digits(rest.first(message.frame.body_begin));
  // Where the tag itself is damaged: metadata of batches are alike.
  if (!message.digits && !whole_.empty() &&
      whole_.front().frame.metadata_length == message.frame.metadata_length)
    message.digits = whole_.front().digits;
  if (message.digits) message.stored = read_checksum(rest, *message.digits);
  return message;
}

std::optional<std::uint64_t> IndexSalvage::rows_of(const IndexMessage& message) const {
  constexpr std::size_t kHeader = 2, kLength = 0;  // fields of Arrow's Message.fbs
  const auto root = FlatTable::root(
      bytes_.subspan(message.begin + message.frame.metadata_begin, message.frame.metadata_length));
  const auto batch = root ? root->table(kHeader) : std::nullopt;
  const std::int64_t rows = batch ? batch->scalar<std::int64_t>(kLength).value_or(0) : 0;
  if (rows <= 0 ||
      static_cast<std::uint64_t>(rows) > message.frame.body_length / sizeof(std::int64_t))
    return std::nullopt;
  return static_cast<std::uint64_t>(rows);
}

// Returns the next place from `from` on where a batch's message seems to begin; limit_ if none
// does.
std::size_t IndexSalvage::next_message(std::size_t from) {
  static constexpr std::array<std::byte, 4> kMarker = {std::byte{0xff}, std::byte{0xff},
                                                       std::byte{0xff}, std::byte{0xff}};
  from = (from + kBetweenMessages - 1) / kBetweenMessages * kBetweenMessages;
  for (std::size_t at = from; at + kFrameHeader < limit_; at += kBetweenMessages) {
    if (std::memcmp(bytes_.data() + at, kMarker.data(), kMarker.size()) != 0) continue;
    std::uint32_t metadata = 0;
    std::memcpy(&metadata, bytes_.data() + at + kMarker.size(), sizeof metadata);
    if (metadata > kMostMetadata) continue;
    checked_ += metadata;
    if (checked_ / kMostPasses > bytes_.size()) break;
    if (const auto message = message_at(at); message && message->stored) return at;
  }
  return limit_;
}

// Returns the seed with which bytes have the checksum that they state.
std::optional<std::uint32_t> IndexSalvage::seed_of(std::span<const std::byte> bytes,
                                                   std::size_t digits, std::uint32_t stored) {
  for (const std::uint32_t seed : seeds_) {
    checked_ += bytes.size();
    if (checked_ / kMostPasses > bytes_.size()) return std::nullopt;
    if (checksum_with_blank_digits(bytes, digits, seed) == stored) return seed;
  }
  return std::nullopt;
}

void IndexSalvage::walk() {
  seeds_ = {crc32c(bytes_.first(first_))};
  std::size_t position = first_;
  bool ended = false;
  while (position < limit_ && checked_ / kMostPasses <= bytes_.size()) {
    const std::optional<IndexMessage> message = message_at(position);
    if (message && message->stored) {
      const auto bytes = bytes_.subspan(position, message->frame.size());
      if (const auto seed = seed_of(bytes, *message->digits, *message->stored)) {
        accept(*message, *seed);
        position = message->end();
        continue;
      }
    }
    ended = !open_gap_ && read_frame(bytes_.subspan(position)).kind == FrameKind::EndOfStream;
    if (ended) break;
    add_to_gap(position, message);
    position = next_message(position + kBetweenMessages);
  }
  // No more checks are allowed.
  if (!ended && position < limit_ && !open_gap_) add_to_gap(position, std::nullopt);
  end_walk(ended);
}

void IndexSalvage::accept(const IndexMessage& message, std::uint32_t seed) {
  if (suspect_ && seed == suspect_checksum_ && suspect_->end() == message.begin)
    vouch_for_suspect();
  if (message.begin == first_) preamble_is_whole_ = true;
  if (open_gap_) gaps_.push_back(*std::exchange(open_gap_, std::nullopt));
  whole_.push_back(message);
  suspect_.reset();
  seeds_ = {*message.stored};
}

// Only its digits are damaged.
void IndexSalvage::vouch_for_suspect() {
  if (suspect_->begin == first_) preamble_is_whole_ = true;
  whole_.push_back(*std::exchange(suspect_, std::nullopt));
  open_gap_.reset();
}

void IndexSalvage::add_seed(std::uint32_t seed) {
  if (seeds_.size() == kMostSeeds) seeds_.erase(seeds_.begin());
  seeds_.push_back(seed);
}

void IndexSalvage::add_to_gap(std::size_t position, const std::optional<IndexMessage>& message) {
  const bool opens = !open_gap_;
  if (opens) {
    open_gap_ = Gap{{.offset = position, .rows = 0, .problem = "a step fails its checksum"},
                    whole_.size(),
                    0,
                    position};
    if (!message) {
      const FrameResult result = read_frame(bytes_.first(limit_).subspan(position));
      open_gap_->told.problem = result.kind == FrameKind::Message ? "a message that is no batch"
                                : result.kind == FrameKind::EndOfStream ? "the end comes too soon"
                                                                        : result.problem;
    }
  }
  Gap& gap = *open_gap_;
  const auto rows = message && position == gap.expected ? rows_of(*message) : std::nullopt;
  if (gap.told.rows && rows)
    *gap.told.rows += *rows;
  else
    gap.told.rows.reset();
  if (message) {
    ++gap.messages;
    gap.expected = message->end();
  }
  suspect_.reset();
  if (opens && message && message->digits) {
    suspect_ = message;
    suspect_checksum_ = checksum_with_blank_digits(bytes_.subspan(position, message->frame.size()),
                                                   *message->digits, seeds_.front());
  }
  if (opens) seeds_.clear();
  if (message && message->stored) {
    add_seed(*message->stored);
  } else {  // the first tag behind the place is that of the message that began there
    const auto rest =
        bytes_.subspan(position, next_message(position + kBetweenMessages) - position);
    const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
    const std::size_t tag = text.find(kChecksumTag);
    const std::size_t digits = tag + kChecksumTag.size();
    if (tag != std::string_view::npos && text.size() - digits >= kChecksumDigits)
      if (const auto stored = read_checksum(rest, digits)) add_seed(*stored);
  }
  if (suspect_) add_seed(suspect_checksum_);
}

void IndexSalvage::end_walk(bool ended) {
  const bool has_footer = limit_ < bytes_.size();
  if (has_footer) {
    const std::span<const std::byte> footer = bytes_.subspan(limit_);
    const auto digits = find_checksum_digits(footer);
    const auto stored = digits ? read_checksum(footer, *digits) : std::nullopt;
    const auto seed = stored ? seed_of(footer, *digits, *stored) : std::nullopt;
    footer_is_whole_ = seed.has_value();
    if (seed && suspect_ && *seed == suspect_checksum_ && suspect_->end() == limit_)
      vouch_for_suspect();
  }
  found_.end = has_footer || ended ? SegmentEnd::Sealed : SegmentEnd::Open;
  if (!open_gap_) return;
  Gap gap = *std::exchange(open_gap_, std::nullopt);
  const auto rest = bytes_.subspan(static_cast<std::size_t>(gap.told.offset));
  if (!has_footer && count_checksum_tags(rest) <= 1) {
    found_.end = SegmentEnd::Torn;
    found_.torn_reason = gap.told.problem;
    found_.whole_bytes = gap.told.offset;
  } else {
    gaps_.push_back(std::move(gap));
  }
}

// Batches are not decoded by a schema that is not proven.
void IndexSalvage::prove_preamble() {
  if (preamble_is_whole_) return;
  if (footer_is_whole_) made_preamble_ = preamble_of_footer();
  if (made_preamble_.empty()) {
    if (!whole_.empty() || found_.end != SegmentEnd::Torn)
      lose_all(
          "the beginning of the file, or its first step, is damaged, and no footer tells which");
    return;
  }
  const std::optional<IndexMessage> first = message_at(first_);
  const bool is_lost = !gaps_.empty() && gaps_.front().told.offset == first_;
  if (!is_lost || !first || !first->stored) return;
  seeds_ = {crc32c(made_preamble_)};
  if (!seed_of(bytes_.subspan(first_, first->frame.size()), *first->digits, *first->stored)) return;
  whole_.insert(whole_.begin(), *first);
  for (Gap& gap : gaps_) ++gap.before;
  Gap& gap = gaps_.front();
  if (gap.messages == 1) {
    gaps_.erase(gaps_.begin());
  } else {
    gap.told.offset = first->end();
    if (const auto rows = rows_of(*first); rows && gap.told.rows) *gap.told.rows -= *rows;
  }
}

// Encodes the first bytes of a file with the footer's schema; empty if the footer has none.
std::vector<std::byte> IndexSalvage::preamble_of_footer() const {
  const auto name = SegmentName::parse_index_key(key_);
  if (!name) return {};
  std::vector<std::byte> only_footer(kArrowHeaderBytes);
  std::memcpy(only_footer.data(), kArrowMagic.data(), kArrowMagic.size());
  const auto footer = bytes_.subspan(limit_);
  only_footer.insert(only_footer.end(), footer.begin(), footer.end());
  try {
    const auto reader = require(arrow::ipc::RecordBatchFileReader::Open(
        std::make_shared<arrow::io::BufferReader>(std::make_shared<arrow::Buffer>(
            reinterpret_cast<const std::uint8_t*>(only_footer.data()),
            static_cast<std::int64_t>(only_footer.size())))));
    auto batch = require(arrow::RecordBatch::MakeEmpty(reader->schema()));
    const auto give = [&](const char* column, const std::shared_ptr<arrow::Array>& dictionary) {
      const int index = batch->schema()->GetFieldIndex(column);
      if (index < 0) return;
      arrow::Int8Builder no_codes;
      batch = require(batch->SetColumn(index, batch->schema()->field(index),
                                       std::make_shared<arrow::DictionaryArray>(
                                           code_type(), require(no_codes.Finish()), dictionary)));
    };
    give(column::kMode, mode_dictionary());
    give(column::kWorker, dictionary_of(std::array{name->worker}));
    give(column::kDType, dtype_dictionary());
    std::vector<std::byte> made;
    IpcFile(reader->schema()).begin(*batch, made);
    return made;
  } catch (const Error&) {
    return {};
  }
}

void IndexSalvage::read_whole_messages() {
  const std::span<const std::byte> preamble =
      made_preamble_.empty() ? bytes_.first(first_) : std::span<const std::byte>(made_preamble_);
  std::size_t size = preamble.size();
  for (const IndexMessage& message : whole_) size += message.frame.size();
  auto chained = std::make_shared<AlignedBuffer>(size);
  std::ranges::copy(preamble, chained->data());
  std::uint32_t chain = crc32c(preamble);
  std::size_t at = preamble.size();
  for (const IndexMessage& message : whole_) {
    const auto copy = chained->span().subspan(at, message.frame.size());
    std::ranges::copy(bytes_.subspan(message.begin, copy.size()), copy.begin());
    chain = patch_checksum(copy, *message.digits, chain);
    at += copy.size();
  }
  IndexReader reader(key_, false);
  std::string problem;  // of a message that our writer did not write, though its checksum is right
  if (!whole_.empty()) {
    try {
      reader.read(chained, [&](const IndexBatch& batch) {
        found_.batches.push_back(batch);
        found_.batches.back().message_offset = whole_[found_.batches.size() - 1].begin;
      });
    } catch (const FormatError& error) {
      problem = error.problem;
    }
  }
  // The reader ends without an error at what it takes for the end of the stream.
  if (const std::size_t read = found_.batches.size(); read < whole_.size()) {
    if (problem.empty()) problem = "the message is no step of the run";
    std::erase_if(gaps_, [&](const Gap& gap) { return gap.before > read; });
    gaps_.push_back({{.offset = whole_[read].begin, .problem = problem}, read});
  }
  found_.identity = reader.identity();
  if (found_.end != SegmentEnd::Sealed && was_sealed()) {
    const std::uint64_t offset =
        found_.end == SegmentEnd::Torn ? found_.whole_bytes : bytes_.size();
    gaps_.push_back({{.offset = offset, .problem = "the file was sealed, and its end is missing"},
                     found_.batches.size()});
    found_.end = SegmentEnd::Sealed;
  }
  for (Gap& gap : gaps_) {
    if (gap.before > 0) gap.told.after_step = found_.batches[gap.before - 1].step.back();
    if (gap.before < found_.batches.size())
      gap.told.before_step = found_.batches[gap.before].step.front();
    found_.gaps.push_back(std::move(gap.told));
  }
}

// Sealing adds something to the schema.
bool IndexSalvage::was_sealed() const {
  constexpr std::size_t kMostPreamble = std::size_t{64} << 10U;
  const auto front = bytes_.first(std::min(bytes_.size(), kMostPreamble));
  const std::string_view text(reinterpret_cast<const char*>(front.data()), front.size());
  return text.find(kCollectionsChecksumKey) != std::string_view::npos;
}

void IndexSalvage::lose_all(const std::string& problem) {
  whole_.clear();
  gaps_.clear();
  if (limit_ == bytes_.size() && count_checksum_tags(bytes_) <= 1) {
    found_.end = SegmentEnd::Torn;
    found_.torn_reason = problem;
    return;
  }
  gaps_.push_back({{.offset = 0, .problem = problem}});
}

}  // namespace

SalvagedIndex salvage_index(const std::string& key,
                            const std::shared_ptr<const AlignedBuffer>& file) {
  return IndexSalvage(key, file).run();
}

}  // namespace cupel
