// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/source/syslog.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>

#include "engine/logmon/source/source_name.h"

namespace sluice::engine::logmon {
namespace {

constexpr uint32_t kMaxPriority = 191;     // Facility 23, severity 7.
constexpr uint32_t kDefaultPriority = 13;  // RFC 3164 section 4.3.3.
constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// Reads from the front of a text. A function that fails may have consumed a part, so a caller that
/// has alternatives reads from a copy.
class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}

  std::string_view rest() const { return rest_; }
  bool AtEnd() const { return rest_.empty(); }
  bool Skip(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  bool SkipOneOf(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_[0]) == characters.npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// Reads up to `most` digits.
  std::string_view Digits(size_t most) {
    size_t count = 0;
    while (count < most && count < rest_.size() && IsDigit(rest_[count])) ++count;
    const std::string_view digits = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return digits;
  }
  bool SkipDigits(size_t least, size_t most) { return Digits(most).size() >= least; }
  /// Reads the bytes before the next space, or all remaining bytes if there is no space.
  std::string_view Word() {
    const std::string_view word = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(word.size());
    return word;
  }

 private:
  std::string_view rest_;
};

/// Reads "<0>" … "<191>" without leading zeros, and returns the number.
std::optional<uint32_t> SkipPriority(Reader& reader) {
  Reader probe = reader;
  if (!probe.Skip("<")) return std::nullopt;
  const std::string_view digits = probe.Digits(3);
  if (digits.empty() || (digits[0] == '0' && digits.size() > 1)) return std::nullopt;
  uint32_t priority = 0;
  for (const char digit : digits) priority = priority * 10 + static_cast<uint32_t>(digit - '0');
  if (priority > kMaxPriority || !probe.Skip(">")) return std::nullopt;
  reader = probe;
  return priority;
}

/// Reads an RFC 3339 date and time with an offset. RFC 5424 limits the fraction of a second to six
/// digits, but some senders write nanoseconds.
bool SkipRfc3339(Reader& reader) {
  Reader probe = reader;
  const bool date_and_time = probe.SkipDigits(4, 4) && probe.Skip("-") && probe.SkipDigits(2, 2) &&
                             probe.Skip("-") && probe.SkipDigits(2, 2) && probe.Skip("T") &&
                             probe.SkipDigits(2, 2) && probe.Skip(":") && probe.SkipDigits(2, 2) &&
                             probe.Skip(":") && probe.SkipDigits(2, 2);
  if (!date_and_time) return false;
  if (probe.Skip(".") && !probe.SkipDigits(1, 9)) return false;
  const bool zone = probe.Skip("Z") || (probe.SkipOneOf("+-") && probe.SkipDigits(2, 2) &&
                                        probe.Skip(":") && probe.SkipDigits(2, 2));
  if (!zone) return false;
  reader = probe;
  return true;
}

/// Reads "Mmm dd hh:mm:ss" as in RFC 3164 section 4.1.2. A day below 10 starts with a space or a
/// zero.
bool SkipRfc3164Date(Reader& reader) {
  Reader probe = reader;
  const bool month = std::any_of(std::begin(kMonths), std::end(kMonths),
                                 [&](std::string_view name) { return probe.Skip(name); });
  const bool rest = month && probe.Skip(" ") &&
                    (probe.Skip(" ") ? probe.SkipDigits(1, 1) : probe.SkipDigits(1, 2)) &&
                    probe.Skip(" ") && probe.SkipDigits(2, 2) && probe.Skip(":") &&
                    probe.SkipDigits(2, 2) && probe.Skip(":") && probe.SkipDigits(2, 2);
  if (rest) reader = probe;
  return rest;
}

/// Reads an SD-NAME (RFC 5424 section 6.3.3).
bool SkipName(Reader& reader) {
  size_t count = 0;
  const std::string_view rest = reader.rest();
  while (count < rest.size() && rest[count] > ' ' && rest[count] < '\x7f' && rest[count] != '=' &&
         rest[count] != ']' && rest[count] != '"') {
    ++count;
  }
  return count > 0 && reader.Skip(rest.substr(0, count));
}

/// Reads a quoted value including the closing quote. A backslash before a character other than '"',
/// '\' and ']' is a normal character (RFC 5424 section 6.3.3).
bool SkipQuoted(Reader& reader) {
  if (!reader.Skip("\"")) return false;
  const std::string_view rest = reader.rest();
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '"') return reader.Skip(rest.substr(0, i + 1));
    if (rest[i] == ']') return false;  // A bracket must be escaped.
    if (rest[i] == '\\' && i + 1 < rest.size() &&
        (rest[i + 1] == '"' || rest[i + 1] == '\\' || rest[i + 1] == ']')) {
      ++i;
    }
  }
  return false;
}

bool SkipStructuredData(Reader& reader) {
  if (reader.Skip("-")) return true;
  if (!reader.rest().starts_with("[")) return false;
  while (reader.Skip("[")) {
    if (!SkipName(reader)) return false;
    while (reader.Skip(" ")) {
      if (!SkipName(reader) || !reader.Skip("=") || !SkipQuoted(reader)) return false;
    }
    if (!reader.Skip("]")) return false;
  }
  return true;
}

std::string_view UnlessNil(std::string_view word) { return word == "-" ? "" : word; }

/// Parses the bytes after the priority. Returns false if they are not in RFC 5424 format.
bool ReadRfc5424(Reader reader, SyslogMessage& message) {
  if (!reader.Skip("1 ")) return false;
  const std::string_view stamp = reader.rest().substr(0, reader.rest().find(' '));
  if (!(SkipRfc3339(reader) || reader.Skip("-")) || !reader.Skip(" ")) return false;
  std::string_view words[4];  // HOSTNAME, APP-NAME, PROCID, MSGID.
  for (std::string_view& word : words) {
    word = reader.Word();
    if (word.empty() || !reader.Skip(" ")) return false;
  }
  if (!SkipStructuredData(reader) || !(reader.AtEnd() || reader.Skip(" "))) return false;
  reader.Skip(kByteOrderMark);
  message.header.hostname = UnlessNil(words[0]);
  message.header.app = UnlessNil(words[1]);
  message.process = UnlessNil(words[2]);
  message.stamp = UnlessNil(stamp);
  message.text = reader.rest();
  return true;
}

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
/// Returns whether `c` may be part of a program name. RFC 3164 section 4.1.3 allows only letters
/// and digits.
bool IsOfTag(char c) {
  return IsLetter(c) || IsDigit(c) || std::string_view("-_./").find(c) != std::string_view::npos;
}

/// Reads a tag that starts with a letter and ends before a bracket or a colon, regardless of the
/// next byte (RFC 3164 section 4.1.3). Returns it and sets `pid` to the text in the brackets.
std::optional<std::string_view> SkipNamedTag(Reader& reader, std::string_view* pid) {
  Reader probe = reader;
  const std::string_view rest = probe.rest();
  const auto stop = std::ranges::find_if_not(rest, IsOfTag);
  const std::string_view tag = rest.substr(0, static_cast<size_t>(stop - rest.begin()));
  if (tag.empty() || !IsLetter(tag[0])) return std::nullopt;
  probe.Skip(tag);
  std::string_view process;
  const bool has_process = probe.Skip("[");
  if (has_process) {
    process = probe.rest().substr(0, probe.rest().find_first_of("] "));
    if (!probe.Skip(process) || !probe.Skip("]")) return std::nullopt;
  }
  if (!probe.Skip(":") && !has_process) return std::nullopt;
  probe.Skip(" ");
  *pid = process;
  reader = probe;
  return tag;
}

/// Reads "tag:" or "tag[pid]:" before a space or the end. Returns the tag without "[pid]" and sets
/// `pid` without the brackets.
std::optional<std::string_view> SkipTag(Reader& reader, std::string_view* pid) {
  Reader probe = reader;
  const std::string_view word = probe.Word();
  const size_t colon = word.find(':');
  // A colon within a word is part of an address, path or time and does not end a tag.
  if (colon == word.npos || colon == 0 || colon + 1 != word.size()) return std::nullopt;
  std::string_view tag = word.substr(0, colon);
  if (tag.ends_with(']')) {
    const size_t bracket = tag.find('[');
    if (bracket == tag.npos || bracket == 0) return std::nullopt;
    *pid = tag.substr(bracket + 1, tag.size() - bracket - 2);
    tag = tag.substr(0, bracket);
  }
  probe.Skip(" ");
  reader = probe;
  return tag;
}

bool ReadRfc3164(Reader reader, SyslogMessage& message) {
  const std::string_view date = reader.rest();
  if (!(SkipRfc3164Date(reader) || SkipRfc3339(reader))) return false;
  const std::string_view stamp = date.substr(0, date.size() - reader.rest().size());
  if (!reader.Skip(" ")) return false;
  message.stamp = stamp;
  std::string_view front = reader.rest();
  std::optional<std::string_view> tag = SkipTag(reader, &message.process);
  if (!tag) {
    message.header.hostname = reader.Word();
    reader.Skip(" ");
    front = reader.rest();
    tag = SkipNamedTag(reader, &message.process);
    if (!tag) tag = SkipTag(reader, &message.process);
  }
  message.tag = front.substr(0, front.size() - reader.rest().size());
  message.header.app = tag.value_or("");
  message.text = reader.rest();
  return true;
}

/// Returns the message without the preceding message length (RFC 6587 section 3.4.1), which some
/// senders also write into datagrams. A number is a length only if it is the size of the rest, and
/// the rest starts with a valid priority; otherwise it is text.
std::string_view WithoutCount(std::string_view datagram) {
  Reader reader(datagram);
  const std::string_view digits = reader.Digits(5);
  size_t count = 0;
  for (const char digit : digits) count = count * 10 + static_cast<size_t>(digit - '0');
  if (digits.empty() || digits[0] == '0' || !reader.Skip(" ")) return datagram;
  const std::string_view message = reader.rest();
  return message.size() == count && SkipPriority(reader) ? message : datagram;
}

}  // namespace

SyslogMessage ReadSyslog(std::string_view datagram) {
  // Some senders end their datagrams with NULs.
  while (datagram.ends_with('\0')) datagram.remove_suffix(1);
  datagram = WithoutCount(datagram);
  SyslogMessage message;
  Reader reader(datagram);
  const std::optional<uint32_t> found = SkipPriority(reader);
  const uint32_t priority = found.value_or(kDefaultPriority);
  message.has_priority = found.has_value();
  message.header.facility = static_cast<uint8_t>(priority / 8);
  message.header.severity = static_cast<uint8_t>(priority % 8);
  message.text = reader.rest();
  if (found && !ReadRfc5424(reader, message)) ReadRfc3164(reader, message);
  return message;
}

void FileHeader(const SyslogMessage& message, const packet::FlowKey& flow, std::string* header) {
  const std::string_view stamp = message.stamp.empty() ? "Jan  1 00:00:00" : message.stamp;
  if (IsDigit(stamp[0])) {  // RFC 3339.
    const auto month = static_cast<size_t>((stamp[5] - '0') * 10 + stamp[6] - '1');
    header->assign(kMonths[std::min(month, std::size(kMonths) - 1)]);
    header->append(stamp[8] == '0' ? "  " : " ");
    header->append(stamp[8] == '0' ? stamp.substr(9, 1) : stamp.substr(8, 2));
    header->append(" ").append(stamp.substr(11, 8));
  } else {
    header->assign(stamp);
  }
  header->append(" ");
  if (message.header.hostname.empty()) {
    header->append(AddressText(flow).data());
  } else {
    header->append(message.header.hostname);
  }
  header->append(" ");
  if (!message.tag.empty()) {
    header->append(message.tag);
    if (!message.tag.ends_with(' ') && !message.text.starts_with(' ')) header->append(" ");
  } else if (!message.header.app.empty()) {
    header->append(message.header.app);
    if (!message.process.empty()) header->append("[").append(message.process).append("]");
    if (!message.text.starts_with(' ')) header->append(" ");
  }
  std::replace_if(
      header->begin(), header->end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
}

}  // namespace sluice::engine::logmon
