// SPDX-License-Identifier: BSD-3-Clause
//
// The interface through which a server makes a model available to hosts in other processes.
// RunningModel implements it (running_model.h).
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

/// A model with its wire, which a host can use. Used by one controlling thread.
class HostedModel {
 public:
  virtual ~HostedModel() = default;

  /// Connects a host with its register queue and its memory. The device starts in its power-on
  /// state with these settings; the wire and the counters are not reset. If the settings are
  /// invalid, returns false, sets `error` to a one-line message and has no other effect.
  virtual bool Connect(const SettingValues& settings, const bar::DmaSpace& dma,
                       bar::PostedQueue* queue, std::string* error) = 0;
  /// Sets the receiver of the interrupts that the device sends to the host. A change of the carrier
  /// is reported as kPortVector. Null discards all interrupts, and is the setting after Connect.
  /// `sink` must outlive its use.
  virtual void SetInterrupts(device::InterruptSink* sink) = 0;
  /// Sets whether the device may start transfers, like the bus mastering of a PCI function. Without
  /// it, the device only answers register accesses, and frames wait on the wire. Enabled after
  /// Connect.
  virtual void SetMastering(bool on) = 0;
  /// Runs `change`, which may remove memory from the DmaSpace, while the device is stopped. If the
  /// device accesses removed memory later, that is a fault.
  virtual void ChangeMemory(const std::function<void()>& change) = 0;
  /// Disconnects the host, if any. After this, the model does not use the host's memory, queue or
  /// interrupts, and the wire's source is off. `died` means that the host will not come back with
  /// its state. Does not allocate memory if the model runs on the CPU.
  virtual void Disconnect(bool died) = 0;

  /// Called by a thread while it waits for the device.
  virtual void AwaitedByHost() { std::this_thread::yield(); }

  virtual std::vector<Statistic> Statistics() = 0;
  virtual bool WireUp() const = 0;
  virtual void EnableWire(bool enabled) = 0;
  /// Returns the address that the host should use.
  virtual const std::array<uint8_t, 6>& mac() const = 0;
};

/// Creates a model of a device with its wire. It has no host at first, the wire's source is off,
/// and `arguments` selects how it is executed. `name` must be unique within the process. If
/// `arguments` cannot be satisfied, returns null and sets `error` to a one-line message that names
/// the argument and the fix.
std::unique_ptr<HostedModel> MakeModel(std::string_view name, const ModelInfo& model,
                                       Arguments arguments, std::string* error);

}  // namespace sluice::emulator
