// SPDX-License-Identifier: BSD-3-Clause
//
// The link of a NIC that reads and writes the host's memory: each transfer is cut into TLPs, sent
// through its direction, and ends by an action at the time of its last byte. Memory answers reads
// at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "fabric/event_queue.h"
#include "fabric/link.h"
#include "simulation/echo/sizes.h"

namespace sluice::simulation {

using fabric::Picoseconds;

/// One thread. The queue outlives it. All calls are made at the queue's present time.
class DmaLink {
 public:
  using Action = fabric::EventQueue::Action;

  DmaLink(fabric::EventQueue& queue, const fabric::LinkParameters& link, Picoseconds oneway)
      : queue_(&queue),
        payload_(link.maximum_payload),
        oneway_(oneway),
        up_(link, oneway),
        down_(link, oneway) {}

  /// `bytes` > 0 of data. Returns when they began to leave.
  Picoseconds DeviceWrites(uint32_t bytes, Action then = nullptr) {
    const fabric::Transmission first = Send(up_, fabric::TlpKind::kPosted, bytes, std::move(then));
    return first.start;
  }
  /// `then` is called with the bytes of each request, when they have come.
  template <typename Then>
  void DeviceReads(uint32_t bytes, Then then) {
    for (uint32_t asked = 0; asked < bytes; asked += kReadRequest) {
      const uint32_t part = std::min(bytes - asked, kReadRequest);
      const auto request = up_.Send(queue_->now(), fabric::TlpKind::kReadRequest, 0, oneway_);
      queue_->At(request.arrival, [this, part, then] {
        Send(down_, fabric::TlpKind::kCompletion, part, [part, then] { then(part); });
      });
    }
  }
  /// A register of the device is stored.
  void HostStores(Action then) {
    Send(down_, fabric::TlpKind::kPosted, kRegister, std::move(then));
  }

 private:
  fabric::Transmission Send(fabric::LinkDirection& direction, fabric::TlpKind kind, uint32_t bytes,
                            Action then) {
    fabric::Transmission first{}, last{};
    for (uint32_t sent = 0; sent < bytes; sent += payload_) {
      last = direction.Send(queue_->now(), kind, std::min(bytes - sent, payload_), oneway_);
      if (sent == 0) first = last;
    }
    if (then != nullptr) queue_->At(last.arrival, std::move(then));
    return first;
  }

  fabric::EventQueue* queue_;
  uint32_t payload_;
  Picoseconds oneway_;
  fabric::LinkDirection up_;
  fabric::LinkDirection down_;
};

}  // namespace sluice::simulation
