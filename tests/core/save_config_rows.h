#pragma once

#include <cstdint>
#include <vector>

#include "cupel/core/save_config.h"

namespace cupel {

/// A row of the specification's table of save configurations: the steps that are saved among 0 to
/// `until`.
struct SaveConfigRow {
  const char* name;
  SaveConfigMode config;
  std::int64_t until;
  std::vector<std::int64_t> steps;
};

inline const std::vector<SaveConfigRow>& save_config_rows() {
  static const std::vector<SaveConfigRow> rows = {
      {"defaults", {}, 1400, {0, 500, 1000}},
      {"interval_1", {.save_interval = 1}, 4, {0, 1, 2, 3, 4}},
      {"interval_100_end_200", {.save_interval = 100, .end_step = 200}, 900, {0, 100}},
      {"interval_100_end_201", {.save_interval = 100, .end_step = 201}, 900, {0, 100, 200}},
      {"interval_100_start_150", {.save_interval = 100, .start_step = 150}, 350, {200, 300}},
      {"interval_2_start_8_end_14",
       {.save_interval = 2, .start_step = 8, .end_step = 14},
       99,
       {8, 10, 12}},
      {"interval_20_start_5_end_100",
       {.save_interval = 20, .start_step = 5, .end_step = 100},
       999,
       {20, 40, 60, 80}},
      {"listed_3_7", {.save_steps = {3, 7}}, 700, {0, 3, 7, 500}},
      {"listed_0", {.save_steps = {0}}, 1100, {0, 500, 1000}},
      {"interval_3_start_4_end_14_listed_0_20",
       {.save_interval = 3, .start_step = 4, .end_step = 14, .save_steps = {0, 20}},
       99,
       {0, 6, 9, 12, 20}},
      {"end_0", {.end_step = 0}, 1500, {}},
      {"end_0_interval_5_listed_3",
       {.save_interval = 5, .end_step = 0, .save_steps = {3}},
       99,
       {3}},
      {"listed_0_2_end_0", {.end_step = 0, .save_steps = {0, 2}}, 1500, {0, 2}}};
  return rows;
}

}  // namespace cupel
