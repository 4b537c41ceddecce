// SPDX-License-Identifier: BSD-3-Clause
//
// Syslog messages, one a datagram: RFC 5424, RFC 3164 (as senders write it, RSYSLOG's and BSD's),
// and what is neither.
//
// The text that filters see is what the program logged: MSG of RFC 5424, and of RFC 3164 the
// content behind "tag: ". A file's lines sent by logger(1) give the same texts as the file itself.
// Nothing is lost to the filters: where a header stops making sense, the text begins.
#pragma once

#include <string_view>

#include "engine/logmon/source/source.h"

namespace sluice::engine::logmon {

struct SyslogMessage {
  SyslogHeader header;
  /// Which run of the program: PROCID of RFC 5424, and of RFC 3164 what the tag has in brackets.
  /// Empty where the message does not say.
  std::string_view process;
  /// Without a byte order mark in front, and NULs behind. May hold line ends: then it is as many
  /// lines. Empty if nothing was logged: an empty line.
  std::string_view text;
  /// False: the datagram does not begin with a valid priority. It is all text, and has the
  /// priority that RFC 3164 section 4.3.3 gives it: 13, user.notice.
  bool has_priority = false;
};

/// Any bytes. By form:
///   RFC 5424: `<PRI>1 TIMESTAMP HOSTNAME APP PROCID MSGID SD MSG`. It is read as such only if
///     everything up to the end of the structured data is as the RFC wants it, lengths apart.
///   RFC 3164: `<PRI>TIMESTAMP HOSTNAME TAG: CONTENT`, with a date of RFC 3164 or RFC 3339. The
///     tag is a word that ends with a colon, its `[pid]` aside; without one, all behind the host
///     name is text. A tag where the host name should be is taken for the tag.
///   `<PRI>` and anything else: all behind the priority is text (RFC 3164 section 4.3.2).
SyslogMessage ReadSyslog(std::string_view datagram);

}  // namespace sluice::engine::logmon
