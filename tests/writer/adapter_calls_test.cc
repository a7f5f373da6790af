// The calls of those who make a view only of what is due: the next number of a module, and a tensor
// that cannot become a view.

#include "hook_fixture.h"

namespace cupel {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AdapterCalls : public HookTest {
 protected:
  AdapterCalls() { options.include_regex = {"_(in|out)put_"}; }
  const std::vector<float> values = ramp(3);
};

TEST_F(AdapterCalls, the_next_value_of_a_module_has_the_number_behind_the_last) {
  const auto hook = make_hook();
  hook->next_step();
  const std::vector<TensorView> views = {view(values), view(values)};
  hook->save_outputs("fc", views);
  hook->save_tensor(hook->next_output("fc"), view(values));
  hook->save_tensor(hook->next_input("fc"), view(values));
  hook->save_outputs("fc", views);
  hook->close();
  EXPECT_THAT(open_trial()->tensor_names(),
              ElementsAre("fc_input_0", "fc_output_0", "fc_output_1", "fc_output_2", "fc_output_3",
                          "fc_output_4"));
}

TEST_F(AdapterCalls, the_numbers_of_a_module_begin_anew_with_each_step) {
  const auto hook = make_hook();
  for (int step = 0; step < 2; ++step) {
    hook->next_step();
    hook->save_tensor(hook->next_output("fc"), view(values));
  }
  hook->close();
  EXPECT_THAT(open_trial()->tensor("fc_output_0").steps(), ElementsAre(0, 1));
}

TEST_F(AdapterCalls, the_next_value_joins_the_collections_of_the_call) {
  const auto hook = make_hook();
  hook->next_step();
  hook->save_tensor(hook->next_output("relu", {"activations"}), view(values));
  hook->close();
  EXPECT_THAT(open_trial()->tensor_names({.collection = "activations"}),
              ElementsAre("relu_output_0"));
}

TEST_F(AdapterCalls, the_next_value_is_wanted_where_a_collection_is_due) {
  options.save_config = {.save_interval = 2};
  const auto hook = make_hook();
  hook->next_step();
  EXPECT_TRUE(hook->wants(hook->next_output("fc")));
  hook->next_step();
  EXPECT_FALSE(hook->wants(hook->next_output("fc")));
}

TEST_F(AdapterCalls, a_closed_hook_wants_no_next_value) {
  const auto hook = make_hook();
  hook->next_step();
  hook->close();
  EXPECT_FALSE(hook->wants(hook->next_output("fc")));
}

TEST_F(AdapterCalls, a_tensor_that_is_left_out_is_reported_once_with_the_reason) {
  const auto hook = make_hook();
  for (int step = 0; step < 3; ++step) {
    hook->next_step();
    hook->leave_out(hook->next_output("fc"), "it has no values");
  }
  EXPECT_THAT(hook->close().problems, ElementsAre("cannot save fc_output_0: it has no values"));
}

TEST_F(AdapterCalls, a_tensor_that_is_left_out_and_not_due_is_not_reported) {
  const auto hook = make_hook();
  hook->next_step();
  hook->leave_out(hook->handle("other"), "it has no values");
  hook->leave_out(TensorHandle(), "it has no name");
  EXPECT_THAT(hook->close().problems, IsEmpty());
}

TEST_F(AdapterCalls, a_tensor_that_is_left_out_is_thrown_where_the_hook_throws) {
  options.on_error = OnError::Throw;
  const auto hook = make_hook();
  hook->next_step();
  EXPECT_THROW(hook->leave_out(hook->next_output("fc"), "it has no values"), UsageError);
}

TEST_F(AdapterCalls, a_save_outside_of_a_step_is_reported_as_a_call_of_save_tensor_is) {
  const auto hook = make_hook();
  const TensorHandle wanted = hook->handle("fc_output_0");
  hook->report_outside_step(wanted);
  EXPECT_EQ(logged_,
            "saved before the first next_step(), and so not saved (said once): fc_output_0\n");
  hook->next_step();
  hook->report_outside_step(wanted);
  hook->report_outside_step(TensorHandle());
  hook->end_step();
  hook->report_outside_step(hook->handle("other"));
  hook->report_outside_step(wanted);
  const HookReport report = hook->close();
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_THAT(report.problems[0], ::testing::StartsWith("a tensor was saved after end_step()"));
  EXPECT_EQ(report.rows, 0);
}

TEST_F(AdapterCalls, the_collections_as_configured_have_no_names_of_calls) {
  const auto hook = make_hook();
  hook->get_collection("mine").add_tensor_name("listed");
  static_cast<void>(hook->handle("fc_output_0", {"mine"}));
  EXPECT_THAT(hook->collections_as_configured().at("mine").tensor_names(), ElementsAre("listed"));
  EXPECT_THAT(hook->collections_now().at("mine").tensor_names(),
              ElementsAre("fc_output_0", "listed"));
}

TEST_F(AdapterCalls, a_second_function_that_delivers_is_refused) {
  const auto hook = make_hook();
  int calls = 0;
  hook->deliver_before_step_ends([&] { ++calls; });
  EXPECT_THROW(hook->deliver_before_step_ends([] {}), UsageError);
  hook->next_step();
  EXPECT_EQ(calls, 1);
}

TEST_F(AdapterCalls, what_is_held_back_is_delivered_into_the_step_that_ends) {
  const auto hook = make_hook();
  hook->deliver_before_step_ends([&] { hook->save_tensor("fc_output_9", view(values)); });
  hook->next_step();
  hook->next_step();
  hook->end_step();
  hook->next_step();
  hook->set_mode(Mode::Eval);
  hook->next_step();
  hook->close();
  EXPECT_THAT(open_trial()->tensor("fc_output_9").steps(), ElementsAre(0, 1, 2, 3));
}

TEST_F(AdapterCalls, nothing_is_delivered_when_the_function_is_taken_back_or_the_hook_closed) {
  const auto hook = make_hook();
  int calls = 0;
  hook->deliver_before_step_ends([&] { ++calls; });
  hook->next_step();
  EXPECT_EQ(calls, 1);
  hook->deliver_before_step_ends({});
  hook->next_step();
  EXPECT_EQ(calls, 1);
  hook->deliver_before_step_ends([&] { ++calls; });
  hook->close();
  hook->close();
  hook->next_step();
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace cupel
