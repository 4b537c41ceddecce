// SPDX-License-Identifier: BSD-3-Clause
//
// Syslog messages, one a datagram: RFC 5424, RFC 3164 (as senders write it, RSYSLOG's and BSD's),
// and what is neither.
//
// The text that filters see is what the program logged: MSG of RFC 5424, and of RFC 3164 the
// content behind "tag: ". A file's lines sent by logger(1) give the same texts as the file itself.
// Nothing is lost to the filters: where a header stops making sense, the text begins.
#pragma once

#include <string>
#include <string_view>

#include "engine/logmon/source/source.h"

namespace sluice::engine::logmon {

struct SyslogMessage {
  SyslogHeader header;
  /// Which run of the program: PROCID of RFC 5424, and of RFC 3164 what the tag has in brackets.
  /// Empty where the message does not say.
  std::string_view process;
  /// The time stamp, in the form of RFC 3339 or RFC 3164; empty where the message has none.
  std::string_view stamp;
  /// Of RFC 3164: the tag with all that belongs to it, up to the text. Empty if there is none.
  std::string_view tag;
  /// Without a byte order mark in front, and NULs behind. May hold line ends; the message is one
  /// line nevertheless. Empty if nothing was logged: an empty line.
  std::string_view text;
  /// False: the datagram does not begin with a valid priority. It is all text, and has the
  /// priority that RFC 3164 section 4.3.3 gives it: 13, user.notice.
  bool has_priority = false;
};

/// Any bytes, maybe with their number before them (RFC 6587 section 3.4.1). By form:
///   RFC 5424: `<PRI>1 TIMESTAMP HOSTNAME APP PROCID MSGID SD MSG`. It is read as such only if
///     everything up to the end of the structured data is as the RFC wants it, lengths apart.
///   RFC 3164: `<PRI>TIMESTAMP HOSTNAME TAG: CONTENT`, with a date of RFC 3164 or RFC 3339. The
///     tag begins with a letter and ends at a colon or behind its `[pid]`, whatever follows (RFC
///     3164 section 4.1.3; a space alone ends none), or is any word that ends with a colon, its
///     `[pid]` aside. Without a tag, all behind the host name is text. Such a word where the host
///     name should be is taken for the tag.
///   `<PRI>` and anything else: all behind the priority is text (RFC 3164 section 4.3.2).
SyslogMessage ReadSyslog(std::string_view datagram);

/// Sets `header` to what rsyslog writes before the text of a message into its files (its template
/// RSYSLOG_TraditionalFileFormat): `Mmm dd hh:mm:ss HOST TAG `. A message without a time stamp has
/// that of the year's begin, one without host name the address of its sender.
void FileHeader(const SyslogMessage& message, const packet::FlowKey& flow, std::string* header);

}  // namespace sluice::engine::logmon
