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

/// Has clients call until the time is over or one of `signals`, which are blocked, comes; then
/// waits until every call has ended. Prints a line a period. `clients`: our own; null: the wire is
/// a network's.
Figures Run(const Settings& settings, const sigset_t& signals, LoadWire* clients, NicThread& nic,
            Supervision& supervision);

}  // namespace sluice::rpc_app
