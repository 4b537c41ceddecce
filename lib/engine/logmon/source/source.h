// SPDX-License-Identifier: BSD-3-Clause
//
// Who sends a text.
#pragma once

#include <cstdint>
#include <string_view>

#include "packet/flow_key.h"

namespace sluice::engine::logmon {

enum class Transport : uint8_t {
  kSyslog,  ///< A message each (RFC 5424, RFC 3164): the source is the sender's address.
  kLines,   ///< UDP, bytes of lines that datagrams may cut anywhere: one flow is one source.
  kTcp,     ///< One direction of a connection, observed.
};

/// Name of a source in output.
struct Source {
  packet::FlowKey flow;
  Transport transport = Transport::kLines;
};

/// What a syslog header says. Views into the datagram; any bytes.
struct SyslogHeader {
  uint8_t facility = 0;            ///< 0 … 23.
  uint8_t severity = 0;            ///< 0 … 7.
  std::string_view hostname, app;  ///< Empty where the message does not say.
};

}  // namespace sluice::engine::logmon
