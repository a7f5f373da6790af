#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/crc32c.h"
#include "cupel/core/error.h"
#include "segment_sample.h"

namespace cupel {
namespace {

using ::testing::HasSubstr;

TEST(IndexFile, an_open_file_reads_back_as_written) {
  const ReadResult result = read_index(SegmentSample().open_file());
  EXPECT_EQ(result.end, SegmentEnd::Open);
  EXPECT_EQ(result.rows, kSampleRows);
}

TEST(IndexFile, a_sealed_file_holds_the_same_rows) {
  const ReadResult result = read_index(SegmentSample().sealed_file());
  EXPECT_EQ(result.end, SegmentEnd::Sealed);
  EXPECT_EQ(result.rows, kSampleRows);
}

TEST(IndexFile, says_what_it_is) {
  IndexReader reader(SegmentSample::kKey);
  reader.read(buffer_of(SegmentSample().open_file()), [](const IndexBatch&) {});
  ASSERT_TRUE(reader.identity());
  EXPECT_EQ(reader.identity()->run, "cafe");
  EXPECT_EQ(reader.identity()->worker, "worker_1");
  EXPECT_EQ(reader.identity()->attempt, 2);
  EXPECT_EQ(reader.identity()->segment, 5);
}

TEST(IndexFile, a_sealed_file_says_which_collections_file_its_steps_need) {
  const auto checksum = [](const Bytes& file) {
    IndexReader reader(SegmentSample::kKey);
    reader.read(buffer_of(file), [](const IndexBatch&) {});
    return reader.collections_crc32c();
  };
  const SegmentSample sample;
  EXPECT_EQ(checksum(sample.writer.seal(0xffff'fffeU)), 0xffff'fffeU);
  EXPECT_EQ(checksum(sample.sealed_file()), std::nullopt);
  EXPECT_EQ(checksum(sample.open_file()), std::nullopt);
  EXPECT_EQ(read_index(sample.writer.seal(0)).rows, kSampleRows);
}

// "step tensor: collections", of each row that names any.
std::vector<std::string> joinings(std::span<const std::byte> file) {
  std::vector<std::string> lines;
  IndexReader(SegmentSample::kKey).read(buffer_of(file), [&](const IndexBatch& batch) {
    for (std::size_t row = 0; row < batch.rows; ++row) {
      std::string line;
      batch.for_each_joined(row, [&](std::string_view name) { line += " " + std::string(name); });
      if (!line.empty())
        lines.push_back(std::to_string(batch.step[row]) + " " + std::string(batch.tensor(row)) +
                        ":" + line);
    }
  });
  return lines;
}

TEST(IndexFile, names_the_collections_that_tensors_joined) {
  SegmentSample sample;
  EXPECT_THAT(joinings(sample.sealed_file()), ::testing::IsEmpty());
  const std::vector<std::string> two = {"mine", "y\xc3\xb6urs\n"}, one = {"weights"};
  std::vector<IndexRow> rows = sample.rows(3);
  rows[1].collections = two;
  sample.steps.push_back(sample.writer.encode_step(SegmentSample::header(3), rows));
  rows = sample.rows(4);
  rows[0].collections = one;
  rows[1].collections = one;
  sample.steps.push_back(sample.writer.encode_step(SegmentSample::header(4), rows));
  const auto expected = ::testing::ElementsAre("7003 weight: mine y\xc3\xb6urs\n",
                                               "7004 loss: weights", "7004 weight: weights");
  EXPECT_THAT(joinings(sample.open_file()), expected);
  EXPECT_THAT(joinings(sample.sealed_file()), expected);
}

TEST(IndexFile, with_a_joined_collection_whose_name_is_empty_or_too_long_is_damaged) {
  const auto read_with = [](std::size_t length) {
    SegmentSample sample;
    std::vector<IndexRow> rows = sample.rows(3);
    const std::vector<std::string> tags = {std::string(length, 'c')};
    rows[0].collections = tags;
    sample.steps.push_back(sample.writer.encode_step(SegmentSample::header(3), rows));
    joinings(sample.open_file());
  };
  EXPECT_THROW(read_with(0), FormatError);
  EXPECT_NO_THROW(read_with(kMaxCollectionName));
  EXPECT_THROW(read_with(kMaxCollectionName + 1), FormatError);
}

/// A sealed file, all of whose steps are in one batch.
Bytes sealed_with(std::span<const std::vector<IndexRow>> steps) {
  IndexWriter writer({"cafe", "worker_1", 2, 0}, {});
  std::int64_t step = 7000;
  for (const std::vector<IndexRow>& rows : steps) {
    writer.encode_step({step, Mode::Train, step, 0}, rows);
    ++step;
  }
  return writer.seal();
}

TEST(IndexFile, each_step_of_a_batch_is_checked_whatever_the_step_before_has) {
  const Shape shape{2, 3};
  const auto rows_of = [&shape](std::vector<const char*> names, std::int64_t elements) {
    std::vector<IndexRow> rows(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      rows[i].tensor = names[i];
      rows[i].shape = &shape;
      rows[i].elements = elements;
    }
    return rows;
  };
  const std::vector<IndexRow> good = rows_of({"a", "ba"}, 6);
  const auto read = [&](const std::vector<IndexRow>& second) {
    read_index(sealed_with(std::array{good, second, good}));
  };
  EXPECT_NO_THROW(read(good));
  EXPECT_NO_THROW(read(rows_of({"a", "b", "c"}, 6)));
  EXPECT_THROW(read(rows_of({"a", "ba"}, 7)), FormatError);
  EXPECT_THROW(read(rows_of({"ba", "a"}, 6)), FormatError);
  EXPECT_THROW(read(rows_of({"ab", "a"}, 6)), FormatError);  // the same text, cut elsewhere
  EXPECT_THROW(read(rows_of({"a", "a"}, 6)), FormatError);
  EXPECT_THROW(read(rows_of({"", "aba"}, 6)), FormatError);
}

TEST(IndexFile, takes_no_more_bytes_for_a_step_than_the_bound) {
  SegmentSample sample;
  const std::string name(kMaxTensorName, 'n'), value(kMaxInlineBytes, 'v');
  const Shape deep(std::vector<std::int64_t>(Shape::kMaxRank, 1));
  const std::vector<std::string> tags(300, std::string(1000, 't'));
  for (const std::size_t count : {1, 1000}) {
    std::vector<IndexRow> rows;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i)
      names.push_back(name.substr(5) + std::to_string(10000 + i));
    for (const std::string& each : names) {
      IndexRow& row = rows.emplace_back();
      row.tensor = each;
      row.elements = 1;
      row.shape = &deep;
      row.inline_value = std::as_bytes(std::span(value));
      row.counts = ValueCounts{1, 2, 3, 4};
      row.reductions.put({ReductionOp::Mean, true}, 1);
    }
    rows[0].collections = tags;
    const std::uint64_t most = IndexWriter::most_bytes(SegmentSample::columns(), rows);
    const std::uint64_t bytes =
        sample.writer.encode_step(SegmentSample::header(std::int64_t(3 + count)), rows).size();
    EXPECT_LE(bytes, most);
    EXPECT_LE(most, bytes + (64U << 10U) + bytes / 50);
  }
}

TEST(IndexFile, is_followed_while_it_grows_without_rereading) {
  const SegmentSample sample;
  IndexReader reader(SegmentSample::kKey);
  std::string rows;
  for (const Bytes& step : sample.steps) {
    EXPECT_EQ(
        reader.read(buffer_of(step), [&](const IndexBatch& batch) { rows += describe(batch); }),
        SegmentEnd::Open);
  }
  EXPECT_EQ(rows, kSampleRows);
  EXPECT_EQ(reader.consumed(), sample.open_file().size());
}

TEST(IndexFile, a_message_that_arrives_in_two_parts_is_not_there_until_it_is_whole) {
  const SegmentSample sample;
  IndexReader reader(SegmentSample::kKey);
  const auto ignore = [](const IndexBatch&) {};
  reader.read(buffer_of(sample.steps[0]), ignore);
  const std::span second(sample.steps[1]);
  int batches = 0;
  const auto count = [&](const IndexBatch&) { ++batches; };
  EXPECT_EQ(reader.read(buffer_of(second.first(second.size() / 2)), count), SegmentEnd::Torn);
  EXPECT_THAT(reader.torn_reason(), HasSubstr("cut off"));
  EXPECT_EQ(reader.read(buffer_of(second), count), SegmentEnd::Open);
  EXPECT_EQ(batches, 1);
}

TEST(IndexFile,
     the_first_checksum_covers_everything_before_it_and_each_is_seeded_with_the_one_before) {
  const SegmentSample sample;
  const Bytes file = sample.open_file();
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  static constexpr std::string_view kTag = "cupel.crc32c=";
  std::uint32_t crc = 0;
  std::size_t begin = 0;
  for (std::size_t tag = text.find(kTag); tag != std::string_view::npos;
       tag = text.find(kTag, tag + 1)) {
    // Each message of the sample is one step; the first comes with what is before it.
    const std::size_t end =
        begin +
        sample.steps[static_cast<std::size_t>(begin != 0) + (begin > sample.steps[0].size())]
            .size();
    const std::size_t digits = tag + kTag.size();
    std::string blanked(text.substr(begin, end - begin));
    blanked.replace(digits - begin, 8, "00000000");
    crc = crc32c(std::as_bytes(std::span(blanked)), crc);
    EXPECT_EQ(std::stoul(std::string(text.substr(digits, 8)), nullptr, 16), crc);
    begin = end;
  }
  EXPECT_EQ(begin, file.size());
}

TEST(IndexFile, cut_anywhere_an_open_file_shows_only_whole_steps) {
  const SegmentSample sample;
  const Bytes file = sample.open_file();
  for (std::size_t length = 0; length < file.size(); ++length) {
    const ReadResult result = read_index(std::span(file).first(length));
    std::size_t whole = 0, steps = 0;
    while (steps < 3 && whole + sample.steps[steps].size() <= length)
      whole += sample.steps[steps++].size();
    EXPECT_EQ(result.end, length == whole && steps > 0 ? SegmentEnd::Open : SegmentEnd::Torn)
        << length;
    EXPECT_TRUE(std::string_view(kSampleRows).starts_with(result.rows));
    EXPECT_EQ(std::count(result.rows.begin(), result.rows.end(), '\n'),
              static_cast<std::ptrdiff_t>(2 * steps))
        << length;
  }
}

TEST(IndexFile, cut_anywhere_a_sealed_file_never_passes_for_sealed) {
  const Bytes file = SegmentSample().sealed_file();
  for (std::size_t length = 0; length < file.size(); ++length) {
    try {
      EXPECT_NE(read_index(std::span(file).first(length)).end, SegmentEnd::Sealed) << length;
    } catch (const FormatError& error) {
      EXPECT_LE(error.offset, length);
    }
  }
}

TEST(IndexFile, every_flipped_bit_of_a_sealed_file_is_an_error) {
  Bytes file = SegmentSample().sealed_file();
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1U << (bit % 8));
    file[bit / 8] ^= mask;
    EXPECT_THROW(read_index(file), FormatError) << "bit " << bit;
    file[bit / 8] ^= mask;
  }
}

TEST(IndexFile, every_flipped_bit_of_an_open_file_is_an_error_or_costs_the_last_step) {
  const SegmentSample sample;
  Bytes file = sample.open_file();
  const std::size_t last = file.size() - sample.steps[2].size();
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1U << (bit % 8));
    file[bit / 8] ^= mask;
    try {
      const ReadResult result = read_index(file);
      EXPECT_GE(bit / 8, last) << "bit " << bit;
      EXPECT_EQ(result.end, SegmentEnd::Torn) << "bit " << bit;
      EXPECT_EQ(std::count(result.rows.begin(), result.rows.end(), '\n'), 4) << "bit " << bit;
    } catch (const FormatError& error) {
      EXPECT_EQ(error.file, SegmentSample::kKey);
    }
    file[bit / 8] ^= mask;
  }
}

TEST(IndexFile, what_came_before_damage_has_been_handed_out) {
  const SegmentSample sample;
  Bytes file = sample.open_file();
  file[sample.steps[0].size() + sample.steps[1].size() / 2] ^= std::byte{1};
  IndexReader reader(SegmentSample::kKey);
  int batches = 0;
  EXPECT_THROW(reader.read(buffer_of(file), [&](const IndexBatch&) { ++batches; }), FormatError);
  EXPECT_EQ(batches, 1);
}

TEST(IndexFile, zeros_where_a_power_loss_took_the_last_step_are_a_torn_end) {
  const SegmentSample sample;
  Bytes file = sample.open_file();
  std::fill(file.end() - static_cast<std::ptrdiff_t>(sample.steps[2].size()), file.end(),
            std::byte{0});
  EXPECT_EQ(read_index(file).end, SegmentEnd::Torn);
}

TEST(IndexFile, bytes_behind_the_closing_magic_are_an_error) {
  Bytes file = SegmentSample().sealed_file();
  file.push_back(std::byte{0});
  EXPECT_THROW(read_index(file), FormatError);
}

TEST(IndexFile, must_be_the_file_that_its_name_says) {
  const Bytes file = SegmentSample().sealed_file();
  EXPECT_THROW(read_index(file, "index/0002-000000007/000000007000_worker_2.arrow"), FormatError);
  EXPECT_THROW(read_index(file, "index/0003-000000007/000000007000_worker_1.arrow"), FormatError);
  EXPECT_THROW(read_index(file, "index/0002-000000007/000000007001_worker_1.arrow"), FormatError);
  EXPECT_THROW(IndexReader("index/0002-000000007/x.arrow"), UsageError);
}

TEST(IndexFile, sealing_merges_steps_into_batches_of_at_most_16384_rows) {
  IndexWriter writer({"cafe", "worker_1", 2, 0}, {});
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back("t" + std::to_string(100000 + i));
  for (std::int64_t step = 7000; step < 7020; ++step) {
    std::vector<IndexRow> rows(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) rows[i].tensor = names[i];
    writer.encode_step({step, Mode::Train, step, 0}, rows);
  }
  std::vector<std::size_t> batches;
  IndexReader reader(SegmentSample::kKey);
  reader.read(buffer_of(writer.seal()),
              [&](const IndexBatch& batch) { batches.push_back(batch.rows); });
  EXPECT_THAT(batches, ::testing::ElementsAre(16000, 4000));
}

}  // namespace
}  // namespace cupel
