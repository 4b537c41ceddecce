// SPDX-License-Identifier: BSD-3-Clause
//
// The link of a NIC that reads and writes host memory. Each transfer is split into TLPs, which are
// sent in one direction of the link. The action passed with a transfer runs when the last byte
// arrives. Memory answers reads without delay.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "fabric/event_queue.h"
#include "fabric/link.h"
#include "simulation/echo/sizes.h"

namespace sluice::simulation {

using fabric::Picoseconds;

/// Both directions of the link. Used by one thread. The queue must outlive this object. All calls
/// take place at the queue's current time.
class DmaLink {
 public:
  using Action = fabric::EventQueue::Action;

  DmaLink(fabric::EventQueue& queue, const fabric::LinkParameters& link, Picoseconds oneway)
      : queue_(&queue),
        payload_(link.maximum_payload),
        oneway_(oneway),
        up_(link, oneway),
        down_(link, oneway) {}

  /// Writes `bytes` > 0 of data. Calls `then`, unless it is null, when the last byte has arrived.
  /// Returns the time at which the first byte leaves.
  Picoseconds DeviceWrites(uint32_t bytes, Action then = nullptr) {
    const fabric::Transmission first = Send(up_, fabric::TlpKind::kPosted, bytes, std::move(then));
    return first.start;
  }
  /// Reads `bytes` in requests of at most kReadRequest bytes. When the data of a request has
  /// arrived, calls `then` with the size of the request in bytes.
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
  /// Stores to a register of the device. Calls `then` when the store has arrived.
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
