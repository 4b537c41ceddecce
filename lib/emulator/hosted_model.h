// SPDX-License-Identifier: BSD-3-Clause
//
// A model as the server of another process's hosts sees it (running_model.h is the one that
// runs).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bar/dma.h"
#include "bar/posted_queue.h"
#include "emulator/attach.h"

namespace sluice::emulator {

/// One controlling thread.
class HostedModel {
 public:
  virtual ~HostedModel() = default;

  /// Connects a host: its register accesses and its memory. The device begins in its
  /// power-on state, with these settings; wire and counters go on. False, with one line
  /// in `error`, if no device has such settings; nothing has changed then.
  virtual bool Connect(const SettingValues& settings, const bar::DmaSpace& dma,
                       bar::PostedQueue* queue, std::string* error) = 0;
  /// The host is gone, if there was one: nothing of its memory or its queue is used any
  /// more. The wire's source is switched off. Needs no memory.
  virtual void Disconnect() = 0;

  virtual std::vector<Statistic> Statistics() = 0;
  virtual bool WireUp() const = 0;
  virtual void EnableWire(bool enabled) = 0;
  /// The address of the wire's side for the host to adopt.
  virtual const std::array<uint8_t, 6>& mac() const = 0;
};

}  // namespace sluice::emulator
