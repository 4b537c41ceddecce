// SPDX-License-Identifier: BSD-3-Clause
//
// Ends of cables at a private socket, in test time.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "emulator/cable.h"
#include "fake_device.h"

namespace sluice::emulator {

/// A socket path in a temporary folder. The destructor removes both.
class TemporarySocketPath {
 public:
  TemporarySocketPath() {
    const char* const folder = std::getenv("TMPDIR");
    folder_ = std::string(folder != nullptr ? folder : "/tmp") + "/sluice-cable-XXXXXX";
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  ~TemporarySocketPath() {
    unlink(path().c_str());
    rmdir(folder_.c_str());
  }
  std::string path() const { return folder_ + "/cable"; }

 private:
  std::string folder_;
};

inline uint64_t Count(Wire& wire, std::string_view name) {
  for (const device::Counter& counter : wire.Counters()) {
    if (counter.name == name) return counter.value;
  }
  ADD_FAILURE() << "no counter " << name;
  return ~uint64_t{0};
}

inline device::WireFrame ViewOf(const Bytes& bytes) {
  return {bytes.data(), static_cast<uint32_t>(bytes.size())};
}

/// Returns whether `frame` is the result of NumberedFrame(number, length).
inline bool IsNumbered(const device::WireFrame& frame, uint32_t number) {
  uint32_t found;
  if (frame.length < 60) return false;
  std::memcpy(&found, frame.data, sizeof(found));
  if (found != number) return false;
  for (uint32_t i = sizeof(found); i < frame.length; ++i) {
    if (frame.data[i] != static_cast<uint8_t>(number * 7 + i)) return false;
  }
  return true;
}

inline Bytes NumberedFrame(uint32_t number, uint32_t length) {
  Bytes frame(length);
  std::memcpy(frame.data(), &number, sizeof(number));
  for (uint32_t i = sizeof(number); i < length; ++i) {
    frame[i] = static_cast<uint8_t>(number * 7 + i);
  }
  return frame;
}

inline void SendNumbered(Wire& wire, uint32_t first, uint32_t count, uint32_t length = 60) {
  for (uint32_t i = 0; i < count; ++i) {
    const Bytes frame = NumberedFrame(first + i, length);
    const device::WireFrame view = ViewOf(frame);
    wire.Deliver(0, {&view, 1});
  }
}

/// Receives all available frames and checks that they are numbered consecutively from `first`.
/// Returns their count.
inline uint32_t ReceiveNumbered(Wire& wire, uint32_t first) {
  uint32_t taken = 0;
  for (auto frames = wire.Pull(0, 256); !frames.empty(); frames = wire.Pull(0, 256)) {
    for (const device::WireFrame& frame : frames) {
      EXPECT_TRUE(IsNumbered(frame, first + taken)) << first + taken;
      ++taken;
    }
    wire.Consumed(static_cast<uint32_t>(frames.size()));
  }
  return taken;
}

/// Cable ends that one thread steps.
struct CableEnds {
  static constexpr uint64_t kStep_ns = 10'000'000;

  std::unique_ptr<CableWire> Open(std::string* error = nullptr, const MacAddress& given = {}) {
    std::string said;
    mac = given;
    auto wire =
        CableWire::Create(place.path(), "net_test0", &mac, &said, std::chrono::milliseconds(0));
    EXPECT_TRUE(wire != nullptr || error != nullptr) << said;
    if (error != nullptr) *error = said;
    return wire;
  }
  /// Opens an end as an application does: it waits while another thread steps `first`, which
  /// answers the request.
  std::unique_ptr<CableWire> OpenPatiently(MacAddress* given, std::string* error, Wire& first) {
    std::atomic<bool> done{false};
    std::unique_ptr<CableWire> wire;
    std::thread patient([&] {
      wire = CableWire::Create(place.path(), "net_test1", given, error, std::chrono::seconds(20));
      done = true;
    });
    while (!done) {
      usleep(1000);
      Pass(first, kStep_ns);
    }
    patient.join();
    return wire;
  }
  /// Returns whether all `wires` are up within one second of test time.
  template <typename... Wires>
  bool Connect(Wires&... wires) {
    for (int i = 0; i < 100; ++i) {
      now_ns += kStep_ns;
      if ((static_cast<int>(wires.LinkUp(now_ns)) & ...) != 0) return true;
    }
    return false;
  }
  /// Steps `wire` for `ns` nanoseconds of test time.
  void Pass(Wire& wire, uint64_t ns) {
    for (const uint64_t end = now_ns + ns; now_ns < end;) wire.LinkUp(now_ns += kStep_ns);
  }

  TemporarySocketPath place;
  MacAddress mac = {};  ///< MAC address of the end that was opened last.
  uint64_t now_ns = 0;
};

}  // namespace sluice::emulator
