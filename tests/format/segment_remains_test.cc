#include "cupel/format/segment_remains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "cupel/core/error.h"
#include "cupel/format/events_writer.h"
#include "cupel/format/format_limits.h"
#include "segment_sample.h"

namespace cupel {
namespace {

using ::testing::HasSubstr;

IndexRemains remains_of(const Bytes& file) {
  return read_index_remains(SegmentSample::kKey, buffer_of(file));
}

Bytes first(const Bytes& file, std::size_t size) {
  return {file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)};
}

TEST(IndexRemains, an_open_file_is_sealed_as_its_writer_would_have_sealed_it) {
  const SegmentSample sample;
  const IndexRemains remains = remains_of(sample.open_file());
  EXPECT_EQ(remains.end, SegmentEnd::Open);
  EXPECT_EQ(remains.whole_bytes, sample.open_file().size());
  EXPECT_EQ(remains.steps, 3);
  EXPECT_EQ(remains.values_end, 2512U);
  EXPECT_EQ(remains.identity->segment, 5);
  EXPECT_EQ(remains.sealed, sample.sealed_file());
}

TEST(IndexRemains, a_sealed_file_stays_as_it_is) {
  const IndexRemains remains = remains_of(SegmentSample().sealed_file());
  EXPECT_EQ(remains.end, SegmentEnd::Sealed);
  EXPECT_EQ(remains.steps, 3);
  EXPECT_TRUE(remains.sealed.empty());
}

TEST(IndexRemains, cut_at_every_byte_a_file_is_sealed_with_its_whole_steps) {
  SegmentSample sample;
  const Bytes file = sample.open_file();
  const std::size_t one = sample.steps[0].size(), two = one + sample.steps[1].size();
  for (std::size_t size = 0; size < file.size(); ++size) {
    const IndexRemains remains = remains_of(first(file, size));
    const std::int64_t whole = size < one ? 0 : size < two ? 1 : 2;
    ASSERT_EQ(remains.steps, whole) << size;
    ASSERT_EQ(remains.whole_bytes, whole == 0 ? 0 : whole == 1 ? one : two) << size;
    ASSERT_EQ(remains.torn_reason.empty(), size == one || size == two) << size;
    if (whole == 0) {
      ASSERT_TRUE(remains.sealed.empty());
      continue;
    }
    const ReadResult sealed = read_index(remains.sealed);
    ASSERT_EQ(sealed.end, SegmentEnd::Sealed);
    ASSERT_EQ(sealed.rows, read_index(first(file, whole == 1 ? one : two)).rows) << size;
  }
}

TEST(IndexRemains, what_only_the_hook_has_to_say_is_no_step) {
  SegmentSample sample;
  IndexRow note;
  note.tensor = kNoteTensor;
  note.dtype = DType::Utf8;
  Bytes file = sample.open_file();
  append(file, sample.writer.encode_step({7010, Mode::Global, 7010, 0}, std::span(&note, 1)));
  EXPECT_EQ(remains_of(file).steps, 3);
}

TEST(IndexRemains, damage_is_an_error_with_its_place) {
  SegmentSample sample;
  Bytes file = sample.open_file();
  file[sample.steps[0].size() + 40] ^= std::byte{1};
  EXPECT_THROW(remains_of(file), FormatError);
}

// Values of 100 bytes, two at each of so many steps.
struct EventsSample {
  explicit EventsSample(std::int64_t steps) {
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::array<EventsValue, 2> values = {{{"a", 100}, {"b", 100}}};
      const EventsWriter::Batch batch = writer.begin_batch(step, values);
      append(file, batch.before);
      file.resize(file.size() + 200, std::byte{7});
      values_ends.push_back(file.size());
      file.resize(file.size() + batch.padding);
      ends.push_back(file.size());
    }
  }
  Bytes sealed() {
    Bytes whole = file;
    append(whole, writer.finish());
    return whole;
  }
  EventsWriter writer{SegmentIdentity{"cafe", "worker_0", 0, 2}};
  Bytes file;
  std::vector<std::size_t> values_ends, ends;
};

const SegmentName kSegment{0, 0, "worker_0"};

EventsReader::Read reading(const Bytes& file) {
  return [&file](std::uint64_t offset, std::span<std::byte> out) {
    const auto rest = std::span(file).subspan(static_cast<std::size_t>(offset));
    const std::size_t got = std::min(rest.size(), out.size());
    if (got > 0) std::memcpy(out.data(), rest.data(), got);
    return got;
  };
}

EventsRemains remains_of(const Bytes& file, std::uint64_t values_end) {
  return read_events_remains(kSegment, file.size(), reading(file), values_end);
}

Bytes sealed_by(const Bytes& file, const EventsRemains& remains) {
  Bytes sealed = first(file, static_cast<std::size_t>(remains.kept_bytes));
  append(sealed, remains.footer);
  return sealed;
}

TEST(EventsRemains, an_open_file_gets_the_footer_that_its_writer_would_have_written) {
  EventsSample sample(3);
  const Bytes open = sample.file;
  EXPECT_EQ(sealed_by(open, remains_of(open, sample.values_ends[2])), sample.sealed());
}

TEST(EventsRemains, a_footer_that_no_reader_takes_is_an_error) {
  constexpr std::uint64_t kBesideFooter = 18;  // end-of-stream, length and magic
  const EventsSample sample(3);
  const std::uint64_t values_end = sample.values_ends[2];
  const std::uint64_t footer = remains_of(sample.file, values_end).footer.size() - kBesideFooter;
  {
    const format_detail::FormatLimitsForTest limits({.events_footer = footer});
    Bytes sealed = sealed_by(sample.file, remains_of(sample.file, values_end));
    EXPECT_EQ(remains_of(sealed, values_end).end, SegmentEnd::Sealed);
  }
  const format_detail::FormatLimitsForTest limits({.events_footer = footer - 1});
  EXPECT_THAT([&] { remains_of(sample.file, values_end); },
              ::testing::ThrowsMessage<FormatError>(HasSubstr("footer")));
}

TEST(EventsRemains, a_sealed_file_stays_as_it_is) {
  EventsSample sample(2);
  const Bytes sealed = sample.sealed();
  const EventsRemains remains = remains_of(sealed, sample.values_ends[0]);
  EXPECT_EQ(remains.end, SegmentEnd::Sealed);
  EXPECT_EQ(remains.kept_bytes, sealed.size());
  EXPECT_TRUE(remains.footer.empty());
}

TEST(EventsRemains, values_that_no_step_has_are_cut_off) {
  const EventsSample sample(3);
  EventsSample two(2);
  EXPECT_EQ(sealed_by(sample.file, remains_of(sample.file, sample.values_ends[1])), two.sealed());
}

TEST(EventsRemains, cut_at_every_byte_behind_the_committed_values_a_file_is_sealed) {
  EventsSample sample(2);
  const Bytes sealed_two = EventsSample(2).sealed();
  const Bytes sealed_one = EventsSample(1).sealed();
  for (std::size_t size = sample.ends[0]; size < sealed_two.size(); ++size) {
    const Bytes file = first(sealed_two, size);
    ASSERT_EQ(sealed_by(file, remains_of(file, sample.values_ends[0])), sealed_one) << size;
    if (size < sample.ends[1]) continue;
    ASSERT_EQ(sealed_by(file, remains_of(file, sample.values_ends[1])), sealed_two) << size;
  }
}

TEST(EventsRemains, committed_values_that_are_not_there_are_damage) {
  const EventsSample sample(2);
  const auto damage = [&](std::size_t size) -> std::string {
    try {
      remains_of(first(sample.file, size), sample.values_ends[1]);
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  };
  for (std::size_t size = 0; size < sample.values_ends[1]; ++size) ASSERT_NE(damage(size), "");
  EXPECT_THAT(damage(sample.ends[0]), HasSubstr("lacks values"));
}

TEST(EventsRemains, a_header_that_was_changed_is_damage) {
  EventsSample sample(2);
  for (const std::size_t place : {std::size_t{30}, sample.ends[0] + 20}) {
    Bytes file = sample.file;
    file[place] ^= std::byte{4};
    EXPECT_THROW(remains_of(file, sample.values_ends[1]), FormatError) << place;
  }
}

// Where the batches of a sealed file have their values; FormatError if the file is damaged.
std::vector<std::uint64_t> value_offsets(const Bytes& file) {
  std::vector<std::uint64_t> offsets;
  EventsReader reader(kSegment, file.size(), reading(file));
  const SegmentEnd end = reader.walk([&](std::span<const EventsEntry> batch) {
    for (const EventsEntry& entry : batch) offsets.push_back(entry.offset);
  });
  EXPECT_EQ(end, SegmentEnd::Sealed);
  return offsets;
}

TEST(EventsRemains, a_changed_bit_of_a_batchs_metadata_is_damage_or_moves_no_value) {
  EventsSample sample(2);
  const std::vector<std::uint64_t> offsets = value_offsets(EventsSample(2).sealed());
  std::uint32_t metadata_length = 0;
  std::memcpy(&metadata_length, sample.file.data() + sample.ends[0] + 4, sizeof metadata_length);
  for (std::size_t bit = 0; bit < 8 * (8 + metadata_length); ++bit) {
    Bytes file = sample.file;
    file[sample.ends[0] + bit / 8] ^= std::byte{1} << bit % 8;
    try {
      const EventsRemains remains = remains_of(file, sample.values_ends[1]);
      ASSERT_EQ(value_offsets(sealed_by(file, remains)), offsets) << bit;
    } catch (const FormatError&) {
    }
  }
}

// The file with 56 zero bytes more behind the metadata of each message, as Arrow writes them with
// other options (a message then begins and ends at multiples of 64 bytes).
struct PaddedSample {
  explicit PaddedSample(const EventsSample& sample) : file(first(sample.file, 8)) {
    std::size_t at = 8;
    while (at < sample.file.size()) {
      std::uint32_t length = 0;
      std::memcpy(&length, sample.file.data() + at + 4, sizeof length);
      const std::size_t body = at + 8 + length, begin = file.size();
      append(file, {sample.file.begin() + static_cast<std::ptrdiff_t>(at),
                    sample.file.begin() + static_cast<std::ptrdiff_t>(body)});
      file.resize(file.size() + 56);
      length += 56;
      std::memcpy(file.data() + begin + 4, &length, sizeof length);
      // The body ends with the batch; the schema, which comes first, has none.
      const auto end = at == 8 ? body : *std::ranges::upper_bound(sample.ends, at);
      append(file, {sample.file.begin() + static_cast<std::ptrdiff_t>(body),
                    sample.file.begin() + static_cast<std::ptrdiff_t>(end)});
      if (at != 8) ends.push_back(file.size());
      at = end;
    }
  }
  Bytes file;
  std::vector<std::size_t> ends;
};

TEST(EventsRemains, a_file_of_an_encoder_with_other_padding_is_sealed) {
  const EventsSample sample(3);
  const PaddedSample padded(sample);
  const EventsRemains remains = remains_of(padded.file, padded.ends[1]);
  EXPECT_EQ(remains.kept_bytes, padded.ends[1]);
  std::vector<std::uint64_t> offsets = value_offsets(EventsSample(2).sealed());
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] += 56 * (i < 2 ? 2 : 3);
  EXPECT_EQ(value_offsets(sealed_by(padded.file, remains)), offsets);
}

}  // namespace
}  // namespace cupel
