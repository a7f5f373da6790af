#include "cupel/format/events_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/format/events_writer.h"
#include "segment_sample.h"

namespace cupel {
namespace {

using ::testing::HasSubstr;

struct Walked {
  SegmentEnd end = SegmentEnd::Open;
  std::string values;  // one line each
  std::string torn_reason;
  std::uint64_t consumed = 0;
  std::optional<SegmentIdentity> identity;
};

Walked walk(const Bytes& file) {
  EventsReader reader(SegmentName{0, 0, "worker_0"}, file.size(),
                      [&](std::uint64_t offset, std::span<std::byte> out) {
                        const auto rest = std::span(file).subspan(static_cast<std::size_t>(offset));
                        const std::size_t got = std::min(rest.size(), out.size());
                        std::memcpy(out.data(), rest.data(), got);
                        return got;
                      });
  Walked walked;
  walked.end = reader.walk([&](std::span<const EventsEntry> batch) {
    for (const EventsEntry& value : batch) {
      const auto* first =
          reinterpret_cast<const char*>(file.data()) + static_cast<std::size_t>(value.offset);
      walked.values += std::to_string(value.step) + ' ' + std::string(value.tensor) + ' ' +
                       std::to_string(value.length) + ' ' + *first + '\n';
    }
  });
  walked.torn_reason = reader.torn_reason();
  walked.consumed = reader.consumed();
  walked.identity = reader.identity();
  return walked;
}

/// Where damage is told, and in which words.
struct Damage {
  std::uint64_t offset = 0;
  std::string text;
};
std::optional<Damage> damage_of(const Bytes& file) {
  try {
    walk(file);
  } catch (const FormatError& error) {
    EXPECT_EQ(error.file, "events/0000-000000000/000000000000_worker_0.arrow");
    return Damage{error.offset, error.what()};
  }
  return std::nullopt;
}

/// Two batches: the values a and b of step 3, and c of step 4.
struct Sample {
  Sample() {
    add(3, {{"a", 100, 'x'}, {"b", 33, 'y'}});
    add(4, {{"c", 70, 'z'}});
  }
  struct Value {
    std::string tensor;
    std::size_t length;
    char filling;
  };
  void add(std::int64_t step, const std::vector<Value>& values) {
    std::vector<EventsValue> described;
    for (const Value& value : values) described.push_back({value.tensor, value.length});
    const EventsWriter::Batch batch = writer.begin_batch(step, described);
    begins.push_back(file.size());
    append(file, batch.before);
    for (const Value& value : values)
      file.insert(file.end(), value.length, static_cast<std::byte>(value.filling));
    paddings.push_back(file.size());
    file.resize(file.size() + batch.padding);
  }
  Bytes sealed() {
    Bytes whole = file;
    append(whole, writer.finish());
    return whole;
  }
  EventsWriter writer{SegmentIdentity{"cafe", "worker_0", 0, 2}};
  Bytes file;
  std::vector<std::size_t> begins, paddings;
};

constexpr const char* kValues = "3 a 100 x\n3 b 33 y\n4 c 70 z\n";

TEST(EventsReader, tells_where_each_value_is) {
  const Walked walked = walk(Sample().sealed());
  EXPECT_EQ(walked.end, SegmentEnd::Sealed);
  EXPECT_EQ(walked.values, kValues);
  ASSERT_TRUE(walked.identity);
  EXPECT_EQ(walked.identity->run, "cafe");
  EXPECT_EQ(walked.identity->segment, 2);
}

TEST(EventsReader, reads_what_is_there_of_an_open_file) {
  const Sample sample;
  const Walked walked = walk(sample.file);
  EXPECT_EQ(walked.end, SegmentEnd::Open);
  EXPECT_EQ(walked.values, kValues);
  EXPECT_EQ(walked.consumed, sample.file.size());
}

TEST(EventsReader, names_longer_than_a_piece_come_whole) {
  Sample sample;
  const std::string name(4000, 'n');
  sample.add(5, {{name, 65, 'a'}, {name + "2", 66, 'b'}});
  EXPECT_EQ(walk(sample.sealed()).values,
            kValues + ("5 " + name + " 65 a\n") + "5 " + name + "2 66 b\n");
}

TEST(EventsReader, a_file_cut_anywhere_is_torn_damaged_or_open_and_never_sealed) {
  const Bytes whole = Sample().sealed();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    try {
      EXPECT_NE(walk(cut).end, SegmentEnd::Sealed) << length;
    } catch (const FormatError&) {
    }
  }
}

TEST(EventsReader, a_message_that_was_not_written_to_its_end_is_torn_behind_the_last_whole_one) {
  const Sample sample;
  for (std::size_t length = sample.begins[1] + 1; length < sample.file.size(); ++length) {
    const Walked walked =
        walk(Bytes(sample.file.begin(), sample.file.begin() + static_cast<std::ptrdiff_t>(length)));
    EXPECT_EQ(walked.end, SegmentEnd::Torn) << length;
    EXPECT_EQ(walked.consumed, sample.begins[1]);
    EXPECT_NE(walked.torn_reason, "");
  }
}

TEST(EventsReader, zeros_behind_the_last_message_are_torn) {
  Sample sample;
  sample.file.resize(sample.file.size() + 500);
  EXPECT_EQ(walk(sample.file).end, SegmentEnd::Torn);
}

TEST(EventsReader, padding_behind_values_must_be_zero) {
  Sample sample;
  ASSERT_EQ(sample.file[sample.paddings[0]], std::byte{0});
  sample.file[sample.paddings[0]] = std::byte{1};
  const auto damage = damage_of(sample.file);
  ASSERT_TRUE(damage);
  EXPECT_EQ(damage->offset, sample.paddings[0]);
  EXPECT_THAT(damage->text, HasSubstr("padding that is not zero"));
}

// What the writer put there again differs in no byte that anybody reads, so a flip is either told
// or changes nothing of what the walk says.
TEST(EventsReader, a_flipped_bit_outside_of_values_is_told_or_changes_nothing) {
  const Sample sample;
  const Bytes whole = Sample().sealed();
  const auto is_value = [&](std::size_t at) {
    return (at + 133 >= sample.paddings[0] && at < sample.paddings[0]) ||
           (at + 70 >= sample.paddings[1] && at < sample.paddings[1]);
  };
  std::size_t told = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    if (is_value(at)) continue;
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes flipped = whole;
      flipped[at] ^= static_cast<std::byte>(1U << bit);
      try {
        const Walked walked = walk(flipped);
        if (walked.end != SegmentEnd::Sealed || walked.values != kValues ||
            walked.identity->segment != 2 || walked.identity->run != "cafe")
          ++told;
      } catch (const FormatError&) {
        ++told;
      }
    }
  }
  EXPECT_GT(told, whole.size() * 8 / 3);
}

TEST(EventsReader, a_footer_that_lists_other_batches_is_damage) {
  Sample sample;
  Bytes whole = sample.sealed();
  const auto begin = static_cast<std::int64_t>(sample.begins[1]);
  Bytes listed(sizeof begin);
  std::memcpy(listed.data(), &begin, sizeof begin);
  const auto footer = whole.begin() + static_cast<std::ptrdiff_t>(sample.file.size());
  const auto block = std::search(footer, whole.end(), listed.begin(), listed.end());
  ASSERT_NE(block, whole.end());
  *block ^= std::byte{8};
  const auto damage = damage_of(whole);
  ASSERT_TRUE(damage);
  EXPECT_EQ(damage->offset, sample.file.size() + 8);
  EXPECT_THAT(damage->text, HasSubstr("the footer does not list the file's batches"));
}

TEST(EventsReader, bytes_behind_the_closing_magic_are_damage) {
  Bytes whole = Sample().sealed();
  whole.push_back(std::byte{0});
  const auto damage = damage_of(whole);
  ASSERT_TRUE(damage);
  EXPECT_THAT(damage->text, HasSubstr("the closing magic is missing"));
}

TEST(EventsReader, another_worker_than_the_name_says_is_damage) {
  EventsWriter writer(SegmentIdentity{"cafe", "worker_1", 0, 0});
  const EventsValue value{"t", 100};
  Bytes file = writer.begin_batch(0, {&value, 1}).before;
  const auto damage = damage_of(file);
  ASSERT_TRUE(damage);
  EXPECT_THAT(damage->text, HasSubstr("worker_1"));
}

TEST(EventsReader, a_file_that_is_no_events_file_is_damage) {
  const auto index = damage_of(SegmentSample().sealed_file());
  ASSERT_TRUE(index);
  EXPECT_THAT(index->text, HasSubstr("the columns are not step, tensor and data"));
  EXPECT_TRUE(damage_of(Bytes(100, std::byte{'x'})));
}

// Lengths in the file alone never make the reader ask for memory.
TEST(EventsReader, a_message_of_enormous_metadata_is_refused_without_reading_it) {
  Sample sample;
  const std::array<std::uint32_t, 2> header = {0xffffffff, 0x7ffffff8};
  const std::size_t at = sample.file.size();
  sample.file.resize(at + sizeof header);
  std::memcpy(sample.file.data() + at, header.data(), sizeof header);
  std::size_t largest = 0;
  EventsReader reader(
      SegmentName{0, 0, "worker_0"}, std::uint64_t{1} << 40U,
      [&](std::uint64_t offset, std::span<std::byte> out) {
        largest = std::max(largest, out.size());
        std::fill(out.begin(), out.end(), std::byte{0});
        if (offset < sample.file.size())
          std::memcpy(out.data(), sample.file.data() + offset,
                      std::min<std::size_t>(out.size(),
                                            sample.file.size() - static_cast<std::size_t>(offset)));
        return out.size();
      });
  EXPECT_THROW(reader.walk([](std::span<const EventsEntry>) {}), FormatError);
  EXPECT_LE(largest, 1U << 20U);
}

}  // namespace
}  // namespace cupel
