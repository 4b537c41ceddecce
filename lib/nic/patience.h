// SPDX-License-Identifier: BSD-3-Clause
//
// Limits how long a worker waits for transmit room before frames count as not sent (tx_full). Used
// by all transmitting code in lib/nic.
#pragma once

#include <rte_cycles.h>
#include <rte_pause.h>

#include <cstdint>

#include "nic/model_step.h"

namespace sluice::nic {

/// Maximum wait for transmit room, in milliseconds. The thread that drains a full transmit side (a
/// model's or a virtual port's thread) may itself have to wait for a CPU: a few milliseconds on an
/// idle machine, tens of milliseconds on a busy one. A shorter limit would drop frames on a
/// lossless path. A longer limit would keep a worker from its other work if the transmit side is
/// never drained.
inline constexpr uint64_t kPatienceMs = 100;

/// Limits waits for one transmit side. The time runs from the first failed attempt since the side
/// last accepted a frame, so a blocked side costs kPatienceMs once instead of once per burst. Time
/// during which the worker was not running is excluded, because the draining thread may not have
/// been running either. Owned by one worker. Reads the TSC only while waiting.
class Patience {
 public:
  /// Resets the limit. Called when the transmit side has accepted frames.
  void Renew() { deadline_ = 0; }
  /// Returns the total TSC cycles spent waiting, during which a worker does not count as busy.
  uint64_t waited_cycles() const { return waited_cycles_; }

  /// Called after a failed attempt. Pauses, or steps the model that this worker waits for. Returns
  /// false once the time limit is exceeded.
  [[gnu::noinline]] bool Wait() {
    own_model >= 0 ? StepModel(own_model) : rte_pause();
    const uint64_t now = rte_rdtsc(), hz = rte_get_tsc_hz();
    if (deadline_ == 0) {
      deadline_ = now + hz * kPatienceMs / 1000;
    } else {
      waited_cycles_ += now - last_;
      if (now - last_ > hz / 1000)
        deadline_ += now - last_;  // No attempt takes this long: the worker was not running.
    }
    last_ = now;
    return now < deadline_;
  }

 private:
  uint64_t deadline_ = 0;  ///< In TSC cycles; 0 while not waiting.
  uint64_t last_ = 0;      ///< TSC at the last attempt of this wait.
  uint64_t waited_cycles_ = 0;
};

}  // namespace sluice::nic
