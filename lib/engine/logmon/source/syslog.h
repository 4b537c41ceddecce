// SPDX-License-Identifier: BSD-3-Clause
//
// Parses syslog messages, one per datagram: RFC 5424, RFC 3164 (as RSYSLOG and BSD write it), and
// messages in neither form.
//
// Filters search the text that the program logged: MSG in RFC 5424, or the content after "tag: " in
// RFC 3164. If logger(1) sends the lines of a file, the texts of the messages equal those lines.
// The text starts where the valid header ends, so filters see all bytes that are not valid as a
// header.
#pragma once

#include <string>
#include <string_view>

#include "engine/logmon/source/source.h"

namespace sluice::engine::logmon {

struct SyslogMessage {
  SyslogHeader header;
  /// Process of the program: PROCID in RFC 5424, or the text in brackets of the RFC 3164 tag. Empty
  /// if the message has none.
  std::string_view process;
  /// Time stamp in RFC 3339 or RFC 3164 format; empty if the message has none.
  std::string_view stamp;
  /// RFC 3164: the tag with all of its parts, up to the text. Empty if there is no tag.
  std::string_view tag;
  /// The text without a leading byte order mark and without trailing NULs. It may contain line
  /// ends, but the message counts as one line. Empty if an empty line was logged.
  std::string_view text;
  /// False: the datagram does not start with a valid priority. The whole datagram is text and has
  /// priority 13, user.notice (RFC 3164 section 4.3.3).
  bool has_priority = false;
};

/// Parses a message of arbitrary bytes, with an optional message length before it (RFC 6587 section
/// 3.4.1). The forms are:
///   RFC 5424: `<PRI>1 TIMESTAMP HOSTNAME APP PROCID MSGID SD MSG`. Used only if everything up to
///     the end of the structured data is valid, except for the lengths.
///   RFC 3164: `<PRI>TIMESTAMP HOSTNAME TAG: CONTENT`, with an RFC 3164 or RFC 3339 date. The tag
///     starts with a letter and ends at a colon or after its `[pid]`, regardless of the next byte
///     (RFC 3164 section 4.1.3; a space alone does not end it). Any other word that ends with a
///     colon, optionally before that with `[pid]`, is a tag, too. Without a tag, all bytes after
///     the host name are text. A tag at the position of the host name means that the host name is
///     missing.
///   `<PRI>` and other bytes: all bytes after the priority are text (RFC 3164 section 4.3.2).
SyslogMessage ReadSyslog(std::string_view datagram);

/// Sets `header` to the header that rsyslog writes to files before the text of a message (template
/// RSYSLOG_TraditionalFileFormat): `Mmm dd hh:mm:ss HOST TAG `. A missing time stamp is replaced by
/// the start of the year, a missing host name by the sender's address.
void FileHeader(const SyslogMessage& message, const packet::FlowKey& flow, std::string* header);

}  // namespace sluice::engine::logmon
