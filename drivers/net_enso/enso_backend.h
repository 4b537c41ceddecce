// SPDX-License-Identifier: BSD-3-Clause
//
// What probing a device yields, whichever bus it sits on: registers, and a way to
// make memory reachable by DMA. enso_pci.cc and enso_vdev.cc create one each; all
// other code of the driver is the same for both.
#pragma once

#include <cstdint>
#include <memory>

#include "bar/bar.h"
#include "bar/ring_memory.h"
#include "emulator/attach.h"

namespace sluice::net_enso {

/// Ring sizes and notification mode. The NIC does not tell them: on hardware the
/// defaults of its JTAG tool are assumed, a model is created with them.
struct Geometry {
  uint32_t pipe_flits;  ///< Power of two.
  uint32_t nb_entries;  ///< Power of two, slots of the RX and of the TX ring each.
  bool notify_per_packet;
  bool prefetches = false;  ///< The driver asks for a pipe's next notification as it returns it.

  uint32_t pipe_bytes() const { return pipe_flits * 64; }
};

/// Control path only.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual bar::Bar registers() = 0;
  /// Pages that rings must have for the device to reach them.
  virtual bar::RingMemory::Pages pages() const = 0;
  /// Lets the device reach `memory` (its first bytes() bytes) and sets `*bus` to its
  /// bus address. False if that is impossible.
  virtual bool Map(const bar::RingMemory& memory, uint64_t* bus) = 0;
  /// Says why there is no ring of that size, where Map or the memory itself was refused.
  virtual void TellNoRing(size_t) {}
  /// The device has stopped using `memory`.
  virtual void Unmap(const bar::RingMemory& memory, uint64_t bus) = 0;
  /// The model behind a vdev; null on hardware.
  virtual emulator::Attachment* model() { return nullptr; }
  /// Asks the device whether it is there: nothing else reads registers while there is no traffic.
  /// Any thread.
  virtual bool Answers() { return registers().LinkUp(); }
  /// Counts the device's power-ons, as Attachment::Generation. Any thread.
  virtual uint32_t Generation() const { return 1; }
};

/// A ring and its bus address: mapped while the object lives.
class DmaRing {
 public:
  DmaRing() = default;
  /// Empty if there is no memory or the device cannot reach it.
  DmaRing(Backend* backend, size_t bytes, bool mirrored)
      : backend_(backend), memory_(bar::RingMemory::Create(bytes, mirrored, backend->pages())) {
    if (memory_ && !backend_->Map(memory_, &bus_)) memory_ = bar::RingMemory();
    if (!memory_) backend_->TellNoRing(bytes);
  }
  DmaRing(DmaRing&&) = default;
  DmaRing& operator=(DmaRing&& other) noexcept {
    std::swap(backend_, other.backend_);
    std::swap(memory_, other.memory_);
    std::swap(bus_, other.bus_);
    return *this;
  }
  ~DmaRing() {
    if (memory_) backend_->Unmap(memory_, bus_);
  }

  explicit operator bool() const { return static_cast<bool>(memory_); }
  uint8_t* data() const { return memory_.data(); }
  uint64_t bus() const { return bus_; }

 private:
  Backend* backend_ = nullptr;
  bar::RingMemory memory_;
  uint64_t bus_ = 0;
};

}  // namespace sluice::net_enso
