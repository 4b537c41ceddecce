// SPDX-License-Identifier: BSD-3-Clause
//
// A run of sluice-rpc from the first call to the last.
#pragma once

#include "load_wire.h"
#include "nic_thread.h"
#include "report.h"
#include "settings.h"
#include "supervision.h"

namespace sluice::rpc_app {

/// Runs the clients until the duration is over or SIGINT or SIGTERM arrives; both must be blocked
/// (host::BlockRunSignals). Then stops new calls and waits, for at most twice
/// `settings.timeout_ns`, until every call has ended. Prints one line per period. `clients`: the
/// built-in clients; null if the wire is a network interface.
Figures Run(const Settings& settings, LoadWire* clients, NicThread& nic, Supervision& supervision);

}  // namespace sluice::rpc_app
