// SPDX-License-Identifier: BSD-3-Clause
//
// Distinguishes socket errors caused by this host from answers by the network or a backend.
#pragma once

#include "engine/maglev/address.h"

namespace sluice::maglev {

/// Returns true if connect(2) or send(2) failed with `error` because this host lacks descriptors,
/// memory, ports, an interface or a permission. Every failure of socket(2) has one of these causes.
bool IsLocalFault(int error);

/// Returns ENOBUFS or EINVAL if one of them prevents this host from sending a datagram to `to`,
/// else 0. TCP does not report a full neighbour table: it retries until the connection times out.
/// Sends one empty datagram to the discard port (RFC 863).
int FaultOfSending(const engine::maglev::IpAddress& to);

}  // namespace sluice::maglev
