// SPDX-License-Identifier: BSD-3-Clause
//
// A device without rings or registers that echoes all frames of the wire. Tests damage the echo on
// purpose.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "device/device.h"

namespace sluice::emulator {

using Bytes = std::vector<uint8_t>;

class FakeDevice final : public device::Device {
 public:
  /// Number of frames that the device stores before it pauses or drops.
  size_t room = 1u << 20;
  /// Called for each frame on its way back; false drops it.
  std::function<bool(Bytes&)> transform = [](Bytes&) { return true; };

  std::deque<Bytes> held;
  std::map<uint32_t, uint64_t> registers;
  uint64_t time_ns = 0;
  bool time_went_back = false;

  void WriteRegister(uint32_t offset, uint32_t, uint64_t value) override {
    registers[offset] = value;
  }
  uint64_t ReadRegister(uint32_t offset, uint32_t) override { return registers[offset]; }
  void SetTime(uint64_t now_ns) override {
    time_went_back |= now_ns < time_ns;
    time_ns = now_ns;
  }
  uint32_t Receive(std::span<const device::WireFrame> frames, bool pause) override {
    uint32_t taken = 0;
    for (const device::WireFrame& frame : frames) {
      if (held.size() < room) {
        held.emplace_back(frame.data, frame.data + frame.length);
        ++counters_[0].value;
      } else if (pause) {
        break;
      } else {
        ++counters_[1].value;
      }
      ++taken;
    }
    return taken;
  }
  uint32_t Transmit(device::FrameSink& sink, uint32_t budget) override {
    uint32_t sent = 0;
    for (; sent < budget && !held.empty(); ++sent) {
      Bytes frame = std::move(held.front());
      held.pop_front();
      if (!transform(frame)) continue;
      const device::WireFrame view = {frame.data(), static_cast<uint32_t>(frame.size())};
      sink.Deliver({&view, 1});
    }
    return sent;
  }
  std::span<const device::Counter> Counters() override { return counters_; }

 private:
  std::array<device::Counter, 2> counters_ = {{{"rx_frames", 0}, {"rx_no_room", 0}}};
};

}  // namespace sluice::emulator
