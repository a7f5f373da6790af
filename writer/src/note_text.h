#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace cupel::writer_detail {

// A note's JSON text, put together by hand: destroying an object of the JSON library's allocates,
// and where there is no memory that would end the process. The values are numbers and texts.
std::string note_text(std::initializer_list<std::pair<const char*, nlohmann::ordered_json>> fields);

}  // namespace cupel::writer_detail
