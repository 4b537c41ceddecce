// SPDX-License-Identifier: BSD-3-Clause
//
// What the port mapper tells clients: where each version of each program is.
#pragma once

#include <string>
#include <vector>

#include "rpc/x_compiler.h"
#include "service_files.h"

namespace sluice::rpc_app {

/// For services/portmap.cc, into the environment: PROGRAM:VERSION:NETWORK:ADDRESS by spaces, with
/// networks as in /etc/netconfig, of which `addresses` (by commas) has some, and universal
/// addresses of RFC 5665 section 5.2.3, the first of each network. `tcp`: the port mapper is there
/// over TCP, too.
void TellPortMapper(const std::string& addresses, const std::vector<ServiceFiles>& services,
                    const std::vector<rpc::CompiledX>& compiled, bool tcp);

}  // namespace sluice::rpc_app
