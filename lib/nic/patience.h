// SPDX-License-Identifier: BSD-3-Clause
//
// How long a worker waits for room on a transmit side before frames count as not
// sent (tx_full). Used by whatever in lib/nic transmits.
#pragma once

#include <rte_cycles.h>
#include <rte_pause.h>

#include <cstdint>

#include "nic/model_step.h"

namespace sluice::nic {

/// The thread behind a full transmit side, that of a model or of a virtual port, may
/// wait for a CPU itself: a few milliseconds on an idle machine, tens on a busy one.
/// Giving up before would drop frames of a path that loses none. Waiting longer would
/// keep a worker from the rest of its work where nobody takes frames at all.
inline constexpr uint64_t kPatienceMs = 100;

/// Patience with one transmit side, counted from the first fruitless attempt since it
/// last took something. A side that takes nothing costs kPatienceMs once, not once a
/// burst. Time in which the worker itself had no CPU does not count: the other thread may
/// have had none, either. Owned by one worker. Time comes from the TSC, read only while waiting.
class Patience {
 public:
  /// The transmit side took something.
  void Renew() { deadline_ = 0; }
  /// TSC cycles spent waiting, in total: a worker is not busy then.
  uint64_t waited_cycles() const { return waited_cycles_; }

  /// An attempt was fruitless. Pauses, or steps the model that this worker waits for; false when
  /// it is time to give up.
  [[gnu::noinline]] bool Wait() {
    own_model >= 0 ? StepModel(own_model) : rte_pause();
    const uint64_t now = rte_rdtsc(), hz = rte_get_tsc_hz();
    if (deadline_ == 0) {
      deadline_ = now + hz * kPatienceMs / 1000;
    } else {
      waited_cycles_ += now - last_;
      if (now - last_ > hz / 1000) deadline_ += now - last_;  // Longer than any attempt takes.
    }
    last_ = now;
    return now < deadline_;
  }

 private:
  uint64_t deadline_ = 0;  ///< In TSC cycles; 0: not waiting.
  uint64_t last_ = 0;      ///< Attempt of this wait.
  uint64_t waited_cycles_ = 0;
};

}  // namespace sluice::nic
