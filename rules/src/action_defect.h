#pragma once

#include <string>
#include <string_view>

namespace cupel::rules_detail {

/// Why a text cannot be a webhook's URL, a command, an address, a number or a path, as a phrase
/// about it; empty when it can.
std::string url_defect(std::string_view url);
std::string command_defect(std::string_view command);
std::string mail_address_defect(std::string_view address);
std::string phone_number_defect(std::string_view number);
std::string path_defect(std::string_view path);

}  // namespace cupel::rules_detail
