// SPDX-License-Identifier: BSD-3-Clause
//
// The result of probing a device on any bus: its registers, and a way to make memory reachable by
// DMA. enso_pci.cc and enso_vdev.cc each implement one. The rest of the driver does not depend on
// the bus.
#pragma once

#include <cstdint>
#include <memory>

#include "bar/bar.h"
#include "bar/ring_memory.h"
#include "emulator/attach.h"

namespace sluice::net_enso {

/// Ring sizes and notification mode. The NIC does not report them: for hardware, the driver assumes
/// the defaults of the hardware's JTAG tool, and a model is created with the values given here.
struct Geometry {
  uint32_t pipe_flits;  ///< A power of two.
  uint32_t nb_entries;  ///< Number of slots of the RX ring and of the TX ring; a power of two.
  bool notify_per_packet;
  /// The driver requests a pipe's next notification when a poll returns bytes from the pipe.
  bool prefetches = false;

  uint32_t pipe_bytes() const { return pipe_flits * 64; }
};

/// A probed device. Unless stated otherwise, its functions are for the control path.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual bar::Bar registers() = 0;
  /// Returns the type of the pages in which rings must be allocated so that the device can reach
  /// them.
  virtual bar::RingMemory::Pages pages() const = 0;
  /// Makes the first bytes() bytes of `memory` reachable by the device and sets `*bus` to their bus
  /// address. Returns false on failure.
  virtual bool Map(const bar::RingMemory& memory, uint64_t* bus) = 0;
  /// Logs the reason why a ring of this size could not be allocated or mapped.
  virtual void LogNoRing(size_t) {}
  /// Unmaps `memory`. The device must have stopped using it.
  virtual void Unmap(const bar::RingMemory& memory, uint64_t bus) = 0;
  /// Returns the model of a vdev; null on hardware.
  virtual emulator::Attachment* model() { return nullptr; }
  /// Returns whether the device responds. This function is needed because the driver does not read
  /// registers when there is no traffic. May be called by any thread.
  virtual bool Answers() { return registers().LinkUp(); }
  /// Returns how many times the device has been powered on, as in Attachment::Generation. May be
  /// called by any thread.
  virtual uint32_t Generation() const { return 1; }
};

/// A ring and its bus address. The ring is mapped for the lifetime of the object.
class DmaRing {
 public:
  DmaRing() = default;
  /// Allocates a ring and maps it for the device. The object is empty if either fails.
  DmaRing(Backend* backend, size_t bytes, bool mirrored)
      : backend_(backend), memory_(bar::RingMemory::Create(bytes, mirrored, backend->pages())) {
    if (memory_ && !backend_->Map(memory_, &bus_)) memory_ = bar::RingMemory();
    if (!memory_) backend_->LogNoRing(bytes);
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
