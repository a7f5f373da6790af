#include "cupel/format/index_salvage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "segment_sample.h"

namespace cupel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

SalvagedIndex salvage(const Bytes& file) {
  return salvage_index(SegmentSample::kKey, buffer_of(file));
}

Bytes flipped(Bytes file, std::size_t at, unsigned bits = 4) {
  file[at] ^= static_cast<std::byte>(bits);
  return file;
}

std::vector<std::string> batches_of(const SalvagedIndex& index) {
  std::vector<std::string> batches;
  for (const IndexBatch& batch : index.batches) batches.push_back(describe(batch));
  return batches;
}

std::string rows_of(const SalvagedIndex& index) {
  std::string rows;
  for (const std::string& batch : batches_of(index)) rows += batch;
  return rows;
}

std::size_t find(const Bytes& file, std::string_view text, std::size_t from = 0) {
  const std::string_view all(reinterpret_cast<const char*>(file.data()), file.size());
  return all.find(text, from);
}

// Where the digits of the nth checksum are.
std::size_t digits_of(const Bytes& file, int nth) {
  std::size_t at = find(file, "cupel.crc32c=");
  for (; nth > 0; --nth) at = find(file, "cupel.crc32c=", at + 1);
  return at + 13;
}

// An open file of five steps, the rows of each of which are one message.
struct FiveSteps {
  FiveSteps() {
    SegmentSample sample;
    IndexWriter writer({"cafe", "worker_1", 2, 5}, SegmentSample::columns());
    for (std::int64_t i = 0; i < 5; ++i) {
      append(file, writer.encode_step(SegmentSample::header(i), sample.rows(i)));
      ends.push_back(file.size());
    }
    batches = batches_of(salvage(file));
  }
  // Which step's message a byte is in, the first with all that is before it.
  std::size_t step_at(std::size_t byte) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(ends, byte) - ends.begin());
  }
  std::vector<std::string> without(std::initializer_list<std::size_t> steps) const {
    std::vector<std::string> left;
    for (std::size_t i = 0; i < batches.size(); ++i)
      if (std::ranges::find(steps, i) == steps.end()) left.push_back(batches[i]);
    return left;
  }
  Bytes file;
  std::vector<std::size_t> ends;
  std::vector<std::string> batches;
};

TEST(IndexSalvage, an_undamaged_file_is_whole) {
  const SegmentSample sample;
  const SalvagedIndex sealed = salvage(sample.sealed_file());
  EXPECT_EQ(rows_of(sealed), kSampleRows);
  EXPECT_EQ(sealed.end, SegmentEnd::Sealed);
  EXPECT_THAT(sealed.gaps, IsEmpty());
  EXPECT_EQ(sealed.identity->segment, 5);
  const SalvagedIndex open = salvage(sample.open_file());
  EXPECT_EQ(rows_of(open), kSampleRows);
  EXPECT_EQ(open.end, SegmentEnd::Open);
  EXPECT_THAT(open.gaps, IsEmpty());
}

TEST(IndexSalvage, a_changed_byte_of_an_open_file_loses_one_step_at_most_but_for_the_first) {
  const FiveSteps five;
  ASSERT_THAT(five.batches, SizeIs(5));
  for (std::size_t byte = 0; byte < five.file.size(); ++byte) {
    const std::size_t step = five.step_at(byte);
    const SalvagedIndex index = salvage(flipped(five.file, byte));
    const auto batches = batches_of(index);
    if (batches == five.batches) continue;  // the digits of a checksum
    if (step == 0) {
      ASSERT_THAT(batches, IsEmpty()) << byte << ": nothing says whether the schema is whole";
      ASSERT_THAT(index.gaps, SizeIs(1)) << byte;
      continue;
    }
    ASSERT_EQ(batches, five.without({step})) << byte;
    if (step == 4) {
      ASSERT_EQ(index.end, SegmentEnd::Torn) << byte;
      ASSERT_EQ(index.whole_bytes, five.ends[3]) << byte;
      continue;
    }
    ASSERT_THAT(index.gaps, SizeIs(1)) << byte;
    EXPECT_EQ(index.gaps[0].offset, five.ends[step - 1]) << byte;
    EXPECT_EQ(index.gaps[0].after_step, 7000 + static_cast<std::int64_t>(step) - 1);
    EXPECT_EQ(index.gaps[0].before_step, 7000 + static_cast<std::int64_t>(step) + 1);
  }
}

TEST(IndexSalvage, a_gap_tells_how_many_rows_it_had) {
  const FiveSteps five;
  const SalvagedIndex index = salvage(flipped(five.file, five.ends[2] - 1));
  ASSERT_THAT(index.gaps, SizeIs(1));
  EXPECT_EQ(index.gaps[0].rows, 2U);
  EXPECT_EQ(index.gaps[0].problem, "a step fails its checksum");
}

TEST(IndexSalvage, digits_alone_lose_nothing) {
  const FiveSteps five;
  for (const int step : {0, 1, 3}) {
    const SalvagedIndex index = salvage(flipped(five.file, digits_of(five.file, step), 1));
    EXPECT_EQ(batches_of(index), five.batches) << step;
    EXPECT_THAT(index.gaps, IsEmpty());
  }
  EXPECT_EQ(batches_of(salvage(flipped(five.file, digits_of(five.file, 2), 0x40))), five.batches)
      << "no digit at all";
}

TEST(IndexSalvage, a_step_behind_one_whose_digits_and_body_are_damaged_is_not_trusted) {
  const FiveSteps five;
  const Bytes twice = flipped(flipped(five.file, five.ends[1] - 1), digits_of(five.file, 1), 1);
  const SalvagedIndex index = salvage(twice);
  EXPECT_EQ(batches_of(index), five.without({1, 2}));
  ASSERT_THAT(index.gaps, SizeIs(1));
  EXPECT_EQ(index.gaps[0].rows, 4U);
}

TEST(IndexSalvage, several_damages_lose_a_step_each) {
  const FiveSteps five;
  const Bytes twice = flipped(flipped(five.file, five.ends[1] - 1), five.ends[3] - 1);
  const SalvagedIndex apart = salvage(twice);
  EXPECT_EQ(batches_of(apart), five.without({1, 3}));
  EXPECT_THAT(apart.gaps, SizeIs(2));
  const Bytes neighbours = flipped(flipped(five.file, five.ends[1] - 1), five.ends[2] - 1);
  const SalvagedIndex together = salvage(neighbours);
  EXPECT_EQ(batches_of(together), five.without({1, 2}));
  EXPECT_THAT(together.gaps, SizeIs(1));
}

TEST(IndexSalvage, a_step_that_was_removed_or_exchanged_is_not_bridged) {
  const FiveSteps five;
  const auto part = [&](std::size_t begin, std::size_t end) {
    return Bytes(five.file.begin() + static_cast<std::ptrdiff_t>(begin),
                 five.file.begin() + static_cast<std::ptrdiff_t>(end));
  };
  Bytes removed = part(0, five.ends[1]);
  append(removed, part(five.ends[2], five.file.size()));
  const SalvagedIndex index = salvage(removed);
  EXPECT_EQ(batches_of(index), five.without({2, 3})) << "nothing vouches for the step behind";
}

TEST(IndexSalvage, a_changed_byte_of_a_sealed_file_costs_nothing_but_the_batch_it_is_in) {
  const Bytes file = SegmentSample().sealed_file();
  const std::size_t batch = find(file, "cupel.crc32c=");
  const std::size_t footer = find(file, "cupel.crc32c=", batch + 1);
  std::size_t lost = 0;
  for (std::size_t byte = 0; byte < file.size(); ++byte) {
    const SalvagedIndex index = salvage(flipped(file, byte));
    const std::string rows = rows_of(index);
    ASSERT_EQ(index.batches.empty(), !index.gaps.empty()) << byte;
    if (rows == kSampleRows) continue;
    ASSERT_EQ(rows, "") << byte;
    ++lost;
    EXPECT_TRUE(byte + 200 > batch && byte < footer) << byte;
  }
  EXPECT_GT(lost, 500U);
  EXPECT_LT(lost, file.size() / 2);
}

TEST(IndexSalvage, a_damaged_end_of_stream_costs_nothing) {
  const Bytes file = SegmentSample().sealed_file();
  const std::string end_of_stream("\xff\xff\xff\xff\0\0\0\0", 8);
  std::size_t at = 0;
  for (std::size_t next = find(file, end_of_stream); next != std::string_view::npos;
       next = find(file, end_of_stream, next + 1))
    at = next;
  ASSERT_GT(at, 0U);
  for (std::size_t byte = at; byte < at + end_of_stream.size(); ++byte) {
    const SalvagedIndex index = salvage(flipped(file, byte));
    EXPECT_EQ(index.end, SegmentEnd::Sealed) << byte;
    EXPECT_THAT(index.gaps, IsEmpty()) << byte;
    EXPECT_EQ(rows_of(index), kSampleRows) << byte;
  }
}

// 27,000 rows in three batches.
TEST(IndexSalvage, of_several_batches_of_a_sealed_file_the_others_stay) {
  IndexWriter writer({"cafe", "worker_1", 2, 5}, {});
  const double value = 1;
  const Shape shape{};
  std::vector<std::string> names;
  for (int i = 10000; i < 19000; ++i) names.push_back("t" + std::to_string(i));
  std::vector<IndexRow> rows(names.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].tensor = names[i];
    rows[i].dtype = DType::F64;
    rows[i].elements = 1;
    rows[i].shape = &shape;
    rows[i].inline_value = std::as_bytes(std::span(&value, 1));
  }
  for (std::int64_t i = 0; i < 3; ++i)
    static_cast<void>(writer.encode_step(SegmentSample::header(i), rows));
  const Bytes file = writer.seal();
  const auto steps = [&](std::size_t byte) {
    std::vector<std::int64_t> firsts;
    for (const IndexBatch& batch : salvage(flipped(file, byte)).batches)
      firsts.push_back(batch.step.front());
    return firsts;
  };
  const std::size_t first = digits_of(file, 0), second = digits_of(file, 1);
  const std::size_t third = digits_of(file, 2), footer = digits_of(file, 3);
  for (const std::size_t in_preamble : {std::size_t{0}, std::size_t{300}, std::size_t{900}})
    EXPECT_THAT(steps(in_preamble), ElementsAre(7000, 7001, 7002));
  for (const std::size_t digits : {first, second, third, footer})
    EXPECT_THAT(steps(digits), ElementsAre(7000, 7001, 7002));
  EXPECT_THAT(steps(first + 5000), ElementsAre(7001, 7002)) << "the footer vouches for the schema";
  EXPECT_THAT(steps(second + 5000), ElementsAre(7000, 7002));
  EXPECT_THAT(steps(third + 5000), ElementsAre(7000, 7001));
  EXPECT_THAT(steps(file.size() - 1), ElementsAre(7000, 7001, 7002));
  for (std::size_t byte = second - 120; byte < second + 120; ++byte)  // lengths, tag, digits
    EXPECT_GE(steps(byte).size(), 1U) << byte;
}

TEST(IndexSalvage, a_sealed_file_that_was_cut_off_has_a_gap_at_its_end) {
  const SegmentSample sample;
  const Bytes whole = sample.writer.seal(17);
  for (const std::size_t size : {whole.size() / 4, whole.size() / 2, digits_of(whole, 0) + 900}) {
    const SalvagedIndex index = salvage({whole.begin(), whole.begin() + static_cast<long>(size)});
    EXPECT_THAT(index.batches, IsEmpty()) << size;
    EXPECT_THAT(index.gaps, SizeIs(1)) << size;
  }
  const SalvagedIndex in_footer = salvage({whole.begin(), whole.end() - 100});
  EXPECT_EQ(rows_of(in_footer), kSampleRows);
  EXPECT_THAT(in_footer.gaps, IsEmpty());
}

TEST(IndexSalvage, what_is_no_index_file_is_one_gap_or_not_there_yet) {
  EXPECT_EQ(salvage({}).end, SegmentEnd::Torn);
  EXPECT_EQ(salvage(Bytes(5000)).end, SegmentEnd::Torn);
  const Bytes file = SegmentSample().open_file();
  EXPECT_EQ(salvage({file.begin(), file.begin() + 1000}).end, SegmentEnd::Torn);
}

TEST(IndexSalvage, rows_that_were_salvaged_are_sealed_with_other_places_and_another_number) {
  const SalvagedIndex index = salvage(SegmentSample().sealed_file());
  std::vector<std::optional<ValueLocation>> values(4);
  values[3] = ValueLocation{64, 512, 7};
  const Bytes sealed = seal_salvaged(std::vector<SalvagedRows>{{&index.batches[0], values}}, 0, 21);
  IndexReader reader(SegmentSample::kKey);
  std::string rows;
  const SegmentEnd end =
      reader.read(buffer_of(sealed), [&](const IndexBatch& batch) { rows += describe(batch); });
  EXPECT_EQ(end, SegmentEnd::Sealed);
  EXPECT_EQ(reader.identity()->segment, 0);
  EXPECT_EQ(reader.collections_crc32c(), 21U);
  EXPECT_EQ(rows,
            "7000 TRAIN 0 loss f64 n=1 inline=8\n"
            "7000 TRAIN 0 weight f32 n=128 nan=0 abs_mean=0.250000\n"
            "7001 TRAIN 1 loss f64 n=1 inline=8\n"
            "7001 TRAIN 1 weight f32 n=128 @64+512 crc=7 nan=1 abs_mean=0.250000\n");
}

}  // namespace
}  // namespace cupel
