// SPDX-License-Identifier: BSD-3-Clause
//
// A run of sluice-rpc from the first call to the last.
#pragma once

#include <csignal>

#include "load_wire.h"
#include "nic_thread.h"
#include "report.h"
#include "settings.h"
#include "supervision.h"

namespace sluice::rpc_app {

/// Runs the clients until the duration is over or one of `signals` arrives; all of `signals` must
/// be blocked. Then stops new calls, and waits until every call has ended, but at most twice
/// `settings.timeout_ns`. Prints one line per period. `clients`: the built-in clients; null if the
/// wire is a network interface.
Figures Run(const Settings& settings, const sigset_t& signals, LoadWire* clients, NicThread& nic,
            Supervision& supervision);

}  // namespace sluice::rpc_app
