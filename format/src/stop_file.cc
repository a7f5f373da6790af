#include "cupel/format/stop_file.h"

#include <nlohmann/json.hpp>
#include <span>

namespace cupel {

std::vector<std::byte> encode_stop_file(const StopRequest& request) {
  using Json = nlohmann::ordered_json;
  const Json json = {{"rule", request.rule}, {"step", request.step}, {"reason", request.reason}};
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace cupel
