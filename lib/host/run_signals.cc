// SPDX-License-Identifier: BSD-3-Clause
#include "host/run_signals.h"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace sluice::host {

sigset_t RunSignals(bool hangup) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM}) sigaddset(&set, signal);
  if (hangup) sigaddset(&set, SIGHUP);
  return set;
}

void BlockRunSignals(bool hangup) {
  const sigset_t set = RunSignals(hangup);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void UnblockStopSignals() {
  const sigset_t set = RunSignals(false);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

int WaitForRunSignal(double seconds, bool hangup) {
  const sigset_t set = RunSignals(hangup);
  const double whole = std::floor(std::max(seconds, 0.0));
  const timespec timeout{static_cast<time_t>(whole),
                         static_cast<long>((std::max(seconds, 0.0) - whole) * 1e9)};
  return std::max(sigtimedwait(&set, nullptr, &timeout), 0);
}

bool StopIsPending() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1;
}

}  // namespace sluice::host
