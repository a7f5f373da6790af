#include "cupel/format/events_writer.h"

#include <gtest/gtest.h>

#include <string>

#include "segment_sample.h"

namespace cupel {
namespace {

// Writes batches as a hook does: what the encoder says, the values, the padding.
struct EventsFile {
  std::vector<std::uint64_t> add(std::int64_t step, const std::vector<std::string>& values) {
    std::vector<EventsValue> described;
    for (const std::string& value : values) described.push_back({"t", value.size()});
    const EventsWriter::Batch batch = writer.begin_batch(step, described);
    append(file, batch.before);
    EXPECT_EQ(batch.data_offset, file.size());
    std::vector<std::uint64_t> offsets;
    for (const std::string& value : values) {
      offsets.push_back(file.size());
      const auto bytes = std::as_bytes(std::span(value));
      file.insert(file.end(), bytes.begin(), bytes.end());
    }
    file.resize(file.size() + batch.padding);
    return offsets;
  }
  EventsWriter writer{SegmentIdentity{"cafe", "worker_0", 0, 0}};
  Bytes file;
};

TEST(EventsFile, values_lie_where_the_encoder_said) {
  EventsFile events;
  const auto offsets = events.add(0, {std::string(100, 'a'), std::string(33, 'b')});
  EXPECT_EQ(offsets[1], offsets[0] + 100);
  EXPECT_EQ(events.file[offsets[1]], static_cast<std::byte>('b'));
}

TEST(EventsFile, batches_begin_at_multiples_of_eight) {
  EventsFile events;
  for (int i = 0; i < 5; ++i) {
    events.add(i, {std::string(65 + static_cast<std::size_t>(i), 'x')});
    EXPECT_EQ(events.file.size() % 8, 0);
    EXPECT_EQ(events.writer.size(), events.file.size());
  }
}

TEST(EventsFile, ends_with_the_magic_of_an_arrow_file) {
  EventsFile events;
  events.add(0, {std::string(100, 'a')});
  append(events.file, events.writer.finish());
  const std::string_view text(reinterpret_cast<const char*>(events.file.data()),
                              events.file.size());
  EXPECT_TRUE(text.starts_with("ARROW1"));
  EXPECT_TRUE(text.ends_with("ARROW1"));
}

TEST(EventsFile, a_value_of_many_gigabytes_is_described_without_its_bytes) {
  EventsWriter writer(SegmentIdentity{"cafe", "worker_0", 0, 0});
  const EventsValue value{"t", 1ULL << 40U};
  const EventsWriter::Batch batch = writer.begin_batch(0, std::span(&value, 1));
  EXPECT_LT(batch.before.size(), 4096);
  EXPECT_EQ(writer.size(), batch.data_offset + value.length + batch.padding);
}

}  // namespace
}  // namespace cupel
