// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the configuration members "mac" and "ip": the addresses of the engine as a host on the
// network.
#pragma once

#include "config/json_reader.h"
#include "packet/own_addresses.h"

namespace sluice::c_api {

/// Reads "mac", which is the port's address, and "ip", which lists the addresses for which ARP,
/// neighbour discovery and echo requests are answered, for example "10.0.0.2,fe80::2".
packet::OwnAddresses ReadHost(config::ObjectReader& reader);

}  // namespace sluice::c_api
