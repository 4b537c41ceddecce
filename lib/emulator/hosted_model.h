// SPDX-License-Identifier: BSD-3-Clause
//
// A model as the server of another process's hosts sees it (running_model.h is the one that
// runs).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bar/dma.h"
#include "bar/posted_queue.h"
#include "device/device.h"
#include "emulator/arguments.h"
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
  /// Where the host's interrupts go, and news of the carrier as kPortVector; null: nowhere, as
  /// after Connect. `sink` outlives its use.
  virtual void SetInterrupts(device::InterruptSink* sink) = 0;
  /// Whether the device may begin transfers of its own: without, as a PCI function without bus
  /// mastering, it answers registers and does nothing else, and frames wait on the wire. It may
  /// after Connect.
  virtual void SetMastering(bool on) = 0;
  /// Runs `change`, which may take memory from the DmaSpace, while the device does nothing. What
  /// it used there it misses afterwards, under a fault.
  virtual void TakeMemory(const std::function<void()>& change) = 0;
  /// The host is disconnected, if there was one: nothing of its memory, its queue or its interrupts
  /// is used any more. The wire's source is switched off. `died`: it does not come back with what
  /// it held. Needs no memory.
  virtual void Disconnect(bool died) = 0;

  /// What a thread does that waits for the device.
  virtual void AwaitedByHost() { std::this_thread::yield(); }

  virtual std::vector<Statistic> Statistics() = 0;
  virtual bool WireUp() const = 0;
  virtual void EnableWire(bool enabled) = 0;
  /// The address of the wire's side for the host to adopt.
  virtual const std::array<uint8_t, 6>& mac() const = 0;
};

/// A model of a device with its wire, the wire's source off and without a host, executed where
/// `arguments` say. `name` is unique in the process. Null, with one line in `error` that names the
/// argument and the fix, if `arguments` ask for what there is not.
std::unique_ptr<HostedModel> MakeModel(std::string_view name, const ModelInfo& model,
                                       Arguments arguments, std::string* error);

}  // namespace sluice::emulator
