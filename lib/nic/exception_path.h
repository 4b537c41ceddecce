// SPDX-License-Identifier: BSD-3-Clause
//
// Copies frames that an engine passes on (packet::Action::kPass) to the exception port, in bursts.
// Each frame queue has one path.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "nic/frame_queue.h"
#include "nic/mbuf_transmitter.h"

namespace sluice::nic {

/// The path of one frame queue. Used by one worker, which also owns the transmit queue.
class ExceptionPath {
 public:
  /// Constructs a path without an exception port. Its frames count in no_exception_port.
  ExceptionPath() = default;
  explicit ExceptionPath(MbufTransmitter out) : out_(std::move(out)) {}

  /// Queues a copy of the frame and counts the frame. The copy is sent no later than in the next
  /// Flush.
  [[gnu::noinline]] void Pass(const uint8_t* frame, uint32_t length, QueueCounters& counters) {
    if (!out_) {
      QueueCounters::Add(counters.no_exception_port, 1);
      return;
    }
    if (out_->full()) Flush(counters);
    if (!out_->Add(frame, length)) {
      QueueCounters::Add(counters.tx_full, 1);
      return;
    }
    QueueCounters::Add(counters.passed_pkts, 1);
    QueueCounters::Add(counters.consumed_pkts, 1);
  }

  /// Must be called at the end of each Poll.
  void Flush(QueueCounters& counters) {
    if (!out_ || out_->empty()) [[likely]]
      return;
    const uint64_t unsent = out_->Flush().pkts;
    QueueCounters::Add(counters.passed_pkts, -unsent);
    QueueCounters::Add(counters.consumed_pkts, -unsent);
    QueueCounters::Add(counters.tx_full, unsent);
  }

 private:
  std::optional<MbufTransmitter> out_;
};

}  // namespace sluice::nic
