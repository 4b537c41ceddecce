// SPDX-License-Identifier: BSD-3-Clause
//
// The source of a text.
#pragma once

#include <cstdint>
#include <string_view>

#include "packet/flow_key.h"

namespace sluice::engine::logmon {

enum class Transport : uint8_t {
  kSyslog,  ///< One message per datagram (RFC 5424, RFC 3164); the source is the sender's address.
  kLines,   ///< UDP: lines that datagrams may split anywhere; a flow is a source.
  kTcp,     ///< An observed direction of a TCP connection.
};

/// Identity of a source for output.
struct Source {
  packet::FlowKey flow;
  Transport transport = Transport::kLines;
};

/// Fields of a syslog header: views into the message, which may contain arbitrary bytes.
struct SyslogHeader {
  uint8_t facility = 0;            ///< 0 … 23.
  uint8_t severity = 0;            ///< 0 … 7.
  std::string_view hostname, app;  ///< Empty if the message has none.
};

}  // namespace sluice::engine::logmon
