// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/source/syslog_framing.h"

namespace sluice::engine::logmon {

bool BeginsSyslogMessage(std::string_view bytes) {
  uint32_t count = 0;
  const std::string_view digits = ConsumeDigits(bytes, count);
  if (!digits.empty()) {
    if (digits[0] == '0' || !bytes.starts_with(' ')) return false;
    bytes.remove_prefix(1);
  }
  if (!bytes.starts_with('<')) return false;
  bytes.remove_prefix(1);
  uint32_t priority = 0;
  return !ConsumeDigits(bytes, priority).empty() && priority <= 191 && bytes.starts_with('>');
}

std::string_view ConsumeDigits(std::string_view& bytes, uint32_t& value) {
  size_t count = 0;
  for (; count < bytes.size() && bytes[count] >= '0' && bytes[count] <= '9'; ++count) {
    if (value <= SyslogFraming::kMaxCountedBytes) {
      value = value * 10 + static_cast<uint32_t>(bytes[count] - '0');
    }
  }
  const std::string_view digits = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return digits;
}

}  // namespace sluice::engine::logmon
