#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"
#include "cupel/trial/stop_request.h"
#include "cupel/trial/text_object.h"
#include "cupel/trial/trial.h"
#include "store/directory_scheme.h"
#include "store/scratch_directory.h"
#include "trial/run_builder.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Schemes : public ::testing::Test {
 protected:
  std::string location() const { return "dir://" + scratch.path(); }

  const ScratchDirectory scratch;
  const StoreSchemes schemes = {directory_scheme()};
};

TEST_F(Schemes, a_trial_is_opened_by_the_schemes_of_its_options) {
  LocalStore store(scratch.path());
  WorkerWriter writer(store);
  writer.save({4}, {scalar("loss", 1)});
  writer.finish();
  const auto trial = create_trial(location(), {.schemes = schemes});
  EXPECT_THAT(trial->steps(), ElementsAre(4));
  EXPECT_EQ(trial->location(), location());
  EXPECT_EQ(trial->schemes().at(0).name, "dir");
  EXPECT_EQ(trial->view()->schemes().at(0).name, "dir");
}

TEST_F(Schemes, a_location_of_another_scheme_is_a_mistake) {
  EXPECT_THAT([&] { create_trial(location()); },
              ThrowsMessage<UsageError>(HasSubstr("cannot open dir:// locations")));
  EXPECT_THROW(request_stop(location(), {}), UsageError);
  EXPECT_THROW(TextObject(location() + "/text"), UsageError);
}

TEST_F(Schemes, a_request_to_stop_goes_where_they_lead) {
  request_stop(location(), {"TooLarge", 7, "why"}, schemes);
  EXPECT_TRUE(LocalStore(scratch.path()).stat(kStopFile).has_value());
}

TEST_F(Schemes, a_text_is_kept_where_they_lead) {
  TextObject(location() + "/text", schemes).write("words");
  EXPECT_EQ(TextObject(scratch.path() + "/text").read(100), "words");
}

}  // namespace
}  // namespace cupel::testing
