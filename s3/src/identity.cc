#include "identity.h"

#include <array>
#include <chrono>
#include <cstdio>

#include "cupel/core/number_text.h"

namespace cupel::s3_detail {
namespace {

int number(std::string_view text, std::size_t at, std::size_t size) {
  return parse_integer<int>(text.substr(at, size)).value_or(-1);
}

}  // namespace

std::string whole_seconds(std::string_view iso_time) {
  using namespace std::chrono;
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (iso_time.size() < 19 || iso_time[4] != '-' || iso_time[7] != '-' || iso_time[10] != 'T')
    return {};
  const year_month_day date{year(number(iso_time, 0, 4)),
                            month(static_cast<unsigned>(number(iso_time, 5, 2))),
                            day(static_cast<unsigned>(number(iso_time, 8, 2)))};
  const int hour = number(iso_time, 11, 2);
  const int minute = number(iso_time, 14, 2);
  const int second = number(iso_time, 17, 2);
  if (!date.ok() || hour < 0 || minute < 0 || second < 0) return {};
  std::array<char, 64> text{};
  const int size =
      std::snprintf(text.data(), text.size(), "%s, %02u %s %04d %02d:%02d:%02d GMT",
                    kDays[weekday(sys_days(date)).c_encoding()], static_cast<unsigned>(date.day()),
                    kMonths[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
                    hour, minute, second);
  return {text.data(), static_cast<std::size_t>(size)};
}

std::string identity_of(std::string_view etag, std::string_view last_modified) {
  if (etag.size() > 1 && etag.starts_with('"') && etag.ends_with('"'))
    etag = etag.substr(1, etag.size() - 2);  // not every listing has the quotes
  return std::string(etag).append(" ").append(last_modified);
}

}  // namespace cupel::s3_detail
