#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cupel/format/index_reader.h"
#include "cupel/format/index_writer.h"

namespace cupel {

using Bytes = std::vector<std::byte>;

inline std::shared_ptr<const AlignedBuffer> buffer_of(std::span<const std::byte> bytes) {
  auto buffer = std::make_shared<AlignedBuffer>(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer->data(), bytes.data(), bytes.size());
  return buffer;
}

inline void append(Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

// What a test reads out of a batch, one line a row.
inline std::string describe(const IndexBatch& batch) {
  std::string text;
  for (std::size_t row = 0; row < batch.rows; ++row) {
    const StepHeader header = batch.header(row);
    text += std::to_string(header.step) + ' ' + std::string(to_string(header.mode)) + ' ' +
            std::to_string(header.mode_step) + ' ' + std::string(batch.tensor(row)) + ' ' +
            std::string(to_string(batch.dtype(row))) + " n=" + std::to_string(batch.elements[row]);
    if (batch.offset.has(row)) {
      text += " @" + std::to_string(batch.offset[row]) + '+' + std::to_string(batch.length[row]) +
              " crc=" + std::to_string(batch.crc32c[row]);
    }
    if (batch.inline_begin.has(row))
      text += " inline=" + std::to_string(batch.inline_end[row] - batch.inline_begin[row]);
    if (batch.nan.has(row)) text += " nan=" + std::to_string(batch.nan[row]);
    for (std::size_t i = 0; i < Reduction::kCount; ++i) {
      if (batch.reductions[i].has(row)) {
        text += ' ' + std::string(to_string(Reduction::at(i))) + '=' +
                std::to_string(batch.reductions[i][row]);
      }
    }
    text += '\n';
  }
  return text;
}

// A small segment: three steps of an inline loss and a weight with a location, counts and a mean.
struct SegmentSample {
  static constexpr const char* kKey = "index/0002-000000007/000000007000_worker_1.arrow";

  SegmentSample() : writer({"cafe", "worker_1", 2, 5}, columns()) {
    for (std::int64_t i = 0; i < 3; ++i) steps.push_back(writer.encode_step(header(i), rows(i)));
  }

  static ReductionSet columns() {
    ReductionSet set;
    set.add({ReductionOp::Mean, true});
    return set;
  }
  static StepHeader header(std::int64_t i) {
    return {7000 + i, i == 2 ? Mode::Eval : Mode::Train, i, 1'700'000'000'000'000 + i};
  }

  std::vector<IndexRow> rows(std::int64_t i) {
    loss = 0.5 + static_cast<double>(i);
    IndexRow scalar;
    scalar.tensor = "loss";
    scalar.dtype = DType::F64;
    scalar.elements = 1;
    scalar.shape = &scalar_shape;
    scalar.inline_value = std::as_bytes(std::span(&loss, 1));
    IndexRow weight;
    weight.tensor = "weight";
    weight.elements = 128;
    weight.shape = &weight_shape;
    weight.location = ValueLocation{static_cast<std::uint64_t>(1000 * i), 512, 0xdeadbeef};
    weight.counts = ValueCounts{i, 0, 0, 3};
    weight.reductions.put({ReductionOp::Mean, true}, 0.25);
    return {scalar, weight};
  }

  Bytes open_file() const {
    Bytes all;
    for (const Bytes& step : steps) append(all, step);
    return all;
  }
  Bytes sealed_file() const { return writer.seal(); }

  Shape scalar_shape{};
  Shape weight_shape{8, 16};
  double loss = 0;
  IndexWriter writer;
  std::vector<Bytes> steps;
};

struct ReadResult {
  SegmentEnd end = SegmentEnd::Open;
  std::string rows;
};

inline ReadResult read_index(std::span<const std::byte> file,
                             const char* key = SegmentSample::kKey) {
  IndexReader reader(key);
  ReadResult result;
  result.end = reader.read(buffer_of(file),
                           [&](const IndexBatch& batch) { result.rows += describe(batch); });
  return result;
}

inline constexpr const char* kSampleRows =
    "7000 TRAIN 0 loss f64 n=1 inline=8\n"
    "7000 TRAIN 0 weight f32 n=128 @0+512 crc=3735928559 nan=0 abs_mean=0.250000\n"
    "7001 TRAIN 1 loss f64 n=1 inline=8\n"
    "7001 TRAIN 1 weight f32 n=128 @1000+512 crc=3735928559 nan=1 abs_mean=0.250000\n"
    "7002 EVAL 2 loss f64 n=1 inline=8\n"
    "7002 EVAL 2 weight f32 n=128 @2000+512 crc=3735928559 nan=2 abs_mean=0.250000\n";

}  // namespace cupel
