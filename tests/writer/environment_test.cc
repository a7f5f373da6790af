#include "../../writer/src/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "cupel/core/error.h"
#include "cupel/writer/worker_identity.h"
#include "writer/environment_guard.h"

namespace cupel {
namespace {

using namespace writer_detail;

using ::testing::AllOf;
using ::testing::HasSubstr;

class WorkerEnvironment : public ::testing::Test {
 protected:
  WorkerEnvironment() {
    for (const char* name : {"USE_SMDEBUG", "RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
                             "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS"})
      environment_.unset(name);
  }
  void set(const std::map<std::string, std::string>& variables) {
    for (const auto& [name, value] : variables) environment_.set(name, value);
  }
  // "name of count", or the message of the UsageError.
  static std::string identity(std::string_view name = {}, std::int64_t count = 0) {
    try {
      const WorkerIdentity found = worker_identity(name, count);
      return found.name + " of " + std::to_string(found.count);
    } catch (const UsageError& error) {
      return error.what();
    }
  }

 private:
  testing::EnvironmentGuard environment_;
};

TEST_F(WorkerEnvironment, saving_is_enabled_unless_it_is_switched_off) {
  EXPECT_TRUE(saving_enabled());
  for (const char* yes : {"", "y", "YES", "t", "True", "on", "1"}) {
    set({{"USE_SMDEBUG", yes}});
    EXPECT_TRUE(saving_enabled()) << yes;
  }
  for (const char* no : {"n", "No", "F", "false", "OFF", "0"}) {
    set({{"USE_SMDEBUG", no}});
    EXPECT_FALSE(saving_enabled()) << no;
  }
}

TEST_F(WorkerEnvironment, another_text_is_an_error_that_names_variable_value_and_legal_values) {
  for (const char* text : {"2", "maybe", " 1", "tru"}) {
    set({{"USE_SMDEBUG", text}});
    try {
      saving_enabled();
      FAIL() << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("USE_SMDEBUG"), HasSubstr(text), HasSubstr("off")));
    }
  }
}

TEST_F(WorkerEnvironment, a_process_alone_is_the_chief_of_one) {
  EXPECT_EQ(identity(), "worker_0 of 1");
}

TEST_F(WorkerEnvironment, each_launcher_says_rank_and_count) {
  set({{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "6"}});
  EXPECT_EQ(identity(), "worker_5 of 6");
  set({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
  EXPECT_EQ(identity(), "worker_3 of 4");
  set({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  EXPECT_EQ(identity(), "worker_1 of 2");
}

TEST_F(WorkerEnvironment, rank_and_count_are_not_taken_from_two_launchers_where_one_says_both) {
  set({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"WORLD_SIZE", "2"}});
  EXPECT_EQ(identity(), "worker_3 of 4");
}

TEST_F(WorkerEnvironment, a_rank_without_its_count_takes_the_only_count_there_is) {
  set({{"RANK", "1"}, {"SLURM_NTASKS", "4"}});
  EXPECT_EQ(identity(), "worker_1 of 4");
}

TEST_F(WorkerEnvironment, a_count_without_a_rank_is_that_of_the_chief) {
  set({{"WORLD_SIZE", "4"}});
  EXPECT_EQ(identity(), "worker_0 of 4");
}

TEST_F(WorkerEnvironment, what_is_given_wins) {
  set({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  EXPECT_EQ(identity("left", 7), "left of 7");
  EXPECT_EQ(identity("left"), "left of 2");
  EXPECT_EQ(identity({}, 7), "worker_1 of 7");
}

TEST_F(WorkerEnvironment, what_is_given_is_not_looked_for) {
  set({{"RANK", "first"}, {"WORLD_SIZE", "many"}});
  EXPECT_EQ(identity("left", 7), "left of 7");
}

TEST_F(WorkerEnvironment, an_empty_variable_is_an_unset_one) {
  set({{"RANK", ""}, {"WORLD_SIZE", ""}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}});
  EXPECT_EQ(identity(), "worker_1 of 2");
}

TEST_F(WorkerEnvironment, a_malformed_number_is_an_error_that_names_variable_and_value) {
  for (const char* text : {"x", "1x", " 1", "+1", "1.0", "-1", "99999999999999999999"}) {
    set({{"RANK", text}, {"WORLD_SIZE", "8"}});
    EXPECT_THAT(identity(), AllOf(HasSubstr("RANK="), HasSubstr(text))) << text;
    set({{"RANK", "0"}, {"WORLD_SIZE", text}});
    EXPECT_THAT(identity(), AllOf(HasSubstr("WORLD_SIZE="), HasSubstr(text))) << text;
  }
  set({{"WORLD_SIZE", "0"}});
  EXPECT_THAT(identity(), HasSubstr("WORLD_SIZE=\"0\""));
}

TEST_F(WorkerEnvironment, a_rank_that_is_not_below_the_count_is_an_error) {
  set({{"RANK", "2"}, {"WORLD_SIZE", "2"}});
  EXPECT_THAT(identity(), HasSubstr("RANK=\"2\""));
  EXPECT_THAT(identity({}, 1), HasSubstr("RANK=\"2\""));
  EXPECT_EQ(identity({}, 3), "worker_2 of 3");
}

}  // namespace
}  // namespace cupel
