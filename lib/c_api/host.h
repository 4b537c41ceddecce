// SPDX-License-Identifier: BSD-3-Clause
//
// Members "mac" and "ip" of configurations: the host that an engine is on the network.
#pragma once

#include "engine/neighbor/neighbor.h"
#include "runtime/json_reader.h"

namespace sluice::c_api {

/// "mac": the port's address; "ip": addresses for which ARP, neighbour discovery and echo requests
/// are answered, "10.0.0.2,fe80::2".
engine::Neighbor ReadHost(runtime::ObjectReader& reader);

}  // namespace sluice::c_api
