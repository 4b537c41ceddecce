// SPDX-License-Identifier: BSD-3-Clause
//
// The way out for frames that an engine passes on (packet::Action::kPass): copies, to the
// exception port, in bursts. Each queue of frames has one.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "nic/frame_queue.h"
#include "nic/mbuf_transmitter.h"

namespace sluice::nic {

/// Used by one worker, whose is the transmit queue, too.
class ExceptionPath {
 public:
  /// There is no exception port: frames end under no_exception_port.
  ExceptionPath() = default;
  explicit ExceptionPath(MbufTransmitter out) : out_(std::move(out)) {}

  /// Sends a copy, at the next Flush at the latest, and counts the frame's ending.
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

  /// At the end of each Poll.
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
