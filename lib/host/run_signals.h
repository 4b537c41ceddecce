// SPDX-License-Identifier: BSD-3-Clause
//
// The signals of a run: SIGINT and SIGTERM end it, and SIGHUP reloads the configuration of programs
// that have one.
#pragma once

#include <csignal>

namespace sluice::host {

/// Returns SIGINT and SIGTERM, and also SIGHUP if `hangup` is set.
sigset_t RunSignals(bool hangup);

/// Blocks these signals in the calling thread and in all threads that it starts later.
void BlockRunSignals(bool hangup);

/// Unblocks SIGINT and SIGTERM in the calling thread; they then end the process.
void UnblockStopSignals();

/// Waits at most `seconds` for one of these signals, which must be blocked. Returns the signal, or
/// 0 if none arrived.
int WaitForRunSignal(double seconds, bool hangup);

/// Returns whether SIGINT or SIGTERM is pending.
bool StopIsPending();

}  // namespace sluice::host
