// SPDX-License-Identifier: BSD-3-Clause
//
// The driver's device without a thread: an Ensō model that runs only when the test steps it, and a
// back end like the one that probing creates.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <utility>

#include "bar/posted_queue.h"
#include "device/enso/enso_nic.h"
#include "net_enso/enso_backend.h"
#include "regs/enso.h"

namespace sluice::net_enso {

/// A NIC without threads. Registers are served and frames are moved only in Step.
class SteppedNic {
 public:
  explicit SteppedNic(const Geometry& geometry)
      : nic_(*dma_, {.pipe_flits = geometry.pipe_flits, .nb_entries = geometry.nb_entries}) {}

  /// Processes all earlier register stores and their effects.
  void Step() {
    const auto write = [&](bar::RegisterAccess a) {
      if (on_store) on_store(a);
      nic_.WriteRegister(a.offset, a.bytes, a.value);
    };
    const auto read = [&](bar::RegisterAccess a) { return nic_.ReadRegister(a.offset, a.bytes); };
    while (posted_->Drain(1024, write, read) != 0) {
    }
    while (nic_.Transmit(wire_, 256) != 0) {
    }
  }

  /// Runs control-path code, which waits for the device, while a thread steps the device.
  template <typename Function>
  auto Control(Function&& function) {
    std::atomic<bool> done{false};
    std::thread server([&] {
      while (!done.load(std::memory_order_acquire)) {
        Step();
        if (while_controlled) while_controlled();
        std::this_thread::yield();
      }
    });
    auto result = function();
    done.store(true, std::memory_order_release);
    server.join();
    Step();
    return result;
  }

  bar::Bar registers() { return {posted_.get(), regs::enso::kBarBytes}; }
  bar::DmaSpace& dma() { return *dma_; }
  sluice::device::enso::EnsoNic& device() { return nic_; }
  uint64_t transmitted() const { return wire_.frames; }

  /// Called for every register store before the device handles it. May be null.
  std::function<void(bar::RegisterAccess)> on_store;
  /// Called between two steps while control-path code runs. May be null.
  std::function<void()> while_controlled;
  /// Called for every transmitted frame. May be null.
  std::function<void(const device::WireFrame&)> on_frame;

 private:
  struct Wire final : device::FrameSink {
    explicit Wire(const SteppedNic& nic) : nic(nic) {}
    void Deliver(std::span<const device::WireFrame> f) override {
      frames += f.size();
      if (!nic.on_frame) return;
      for (const device::WireFrame& frame : f) nic.on_frame(frame);
    }
    const SteppedNic& nic;
    uint64_t frames = 0;
  };

  std::unique_ptr<bar::DmaSpace> dma_ = std::make_unique<bar::DmaSpace>();
  std::unique_ptr<bar::PostedQueue> posted_ = std::make_unique<bar::PostedQueue>();
  sluice::device::enso::EnsoNic nic_;
  Wire wire_{*this};
};

/// The back end that probing returns, except that it uses the NIC above instead of a NIC with a
/// thread.
class SteppedBackend final : public Backend {
 public:
  explicit SteppedBackend(SteppedNic& nic) : nic_(nic) {}
  bar::Bar registers() override { return nic_.registers(); }
  bar::RingMemory::Pages pages() const override { return bar::RingMemory::Pages::kPreferHuge; }
  bool Map(const bar::RingMemory& memory, uint64_t* bus) override {
    *bus = reinterpret_cast<uintptr_t>(memory.data());
    return nic_.dma().Add(*bus, memory.data(), memory.bytes());
  }
  void Unmap(const bar::RingMemory&, uint64_t bus) override { nic_.dma().Remove(bus); }

 private:
  SteppedNic& nic_;
};

}  // namespace sluice::net_enso
