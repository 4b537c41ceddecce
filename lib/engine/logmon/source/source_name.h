// SPDX-License-Identifier: BSD-3-Clause
//
// Names of sources in output.
#pragma once

#include <netinet/in.h>

#include <array>
#include <string>

#include "engine/logmon/source/source.h"

namespace sluice::engine::logmon {

using AddressChars = std::array<char, INET6_ADDRSTRLEN>;

/// Returns the sender's address as a NUL-terminated text.
AddressChars AddressText(const packet::FlowKey& flow);

/// Returns a name such as "syslog 192.0.2.7", "tcp 192.0.2.7:40000", "lines [2001:db8::7]:40000".
std::string SourceName(const Source& source);

}  // namespace sluice::engine::logmon
