// Arrow keeps its memory pool and its types in objects that are made when they are first needed.
// Encoding a little of everything needs them all.

#include "cupel/format/events_writer.h"
#include "cupel/format/index_writer.h"

namespace cupel {

void prepare_encoding() {
  const SegmentIdentity identity{"0", "worker_0", 0, 0};
  ReductionSet all;
  for (std::size_t i = 0; i < Reduction::kCount; ++i) all.add(Reduction::at(i));
  const Shape shape({1});
  const std::byte value{};
  std::vector<IndexRow> rows(2);
  rows[0].tensor = "a";
  rows[0].elements = 1;
  rows[0].shape = &shape;
  rows[0].inline_value = std::span(&value, 1);
  rows[0].counts.emplace();
  all.for_each([&](Reduction reduction) { rows[0].reductions.put(reduction, 0); });
  rows[1].tensor = "b";
  rows[1].location.emplace();
  IndexWriter index(identity, all);
  index.encode_step({}, rows);
  index.encode_step({.step = 1}, rows);
  index.seal();
  EventsWriter events(identity);
  const EventsValue described{"b", 1};
  events.begin_batch(0, std::span(&described, 1));
  events.finish();
}

}  // namespace cupel
