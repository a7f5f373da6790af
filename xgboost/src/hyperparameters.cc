#include "hyperparameters.h"

#include "cupel/core/number_text.h"

namespace cupel::xgboost_detail {
namespace {

std::variant<std::int64_t, double, std::string> read_value(const std::string& text) {
  const std::string_view number = without_blanks_and_plus(text);
  if (const auto whole = parse_integer<std::int64_t>(number)) return *whole;
  if (const auto real = parse_number(number)) return *real;
  return text;
}

}  // namespace

TensorView Hyperparameter::view() const noexcept {
  return std::visit([](const auto& element) { return TensorView(&element, {1}); }, value);
}

std::vector<Hyperparameter> read_hyperparameters(const std::map<std::string, std::string>& texts) {
  std::vector<Hyperparameter> result;
  result.reserve(texts.size());
  for (const auto& [key, text] : texts)
    result.push_back({"hyperparameters/" + key, read_value(text)});
  return result;
}

}  // namespace cupel::xgboost_detail
