// SPDX-License-Identifier: BSD-3-Clause
//
// The port mapper's data: the address of each version of each program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rpc/x_compiler.h"
#include "service_files.h"

namespace sluice::rpc_app {

/// The protocols over which calls are served.
enum class Served : uint8_t {
  kUdp,
  kUdpAndPortMapperTcp,  ///< Only the port mapper serves TCP, too.
  kTcp,
};

/// Passes the bindings to services/portmap.cc in the environment, as
/// PROGRAM:VERSION:NETWORK:ADDRESS, separated by spaces. Networks are named as in /etc/netconfig.
/// `addresses` is a comma-separated list; the first address of each network is used. Addresses are
/// universal addresses as defined in RFC 5665 section 5.2.3.
void PublishToPortMapper(const std::string& addresses, const std::vector<ServiceFiles>& services,
                         const std::vector<rpc::CompiledX>& compiled, Served served);

}  // namespace sluice::rpc_app
