// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzzes the receiver of a cable with arbitrary stores by its sender, and the sender with arbitrary
// stores by its receiver. Each 8 bytes of input are one store: the address followed by the value.
#include <algorithm>
#include <cstring>
#include <memory>

#include "check.h"
#include "emulator/cable_lane.h"

using sluice::emulator::CableLane;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::unique_ptr<CableLane> lane(new CableLane());
  sluice::emulator::CableSender sender(*lane);
  const auto receiver = std::make_unique<sluice::emulator::CableReceiver>(*lane);
  for (; size >= 8; data += 8, size -= 8) {
    uint32_t where, what;
    std::memcpy(&where, data, 4);
    std::memcpy(&what, data + 4, 4);
    if (where % 4 == 0) {
      lane->written.bytes = uint64_t{what} << (where >> 4) % 40;
    } else if (where % 4 == 1) {
      lane->consumed.bytes = uint64_t{what} << (where >> 4) % 40;
    } else {
      std::memcpy(&lane->records[(where >> 2) * CableLane::kLine % CableLane::kBytes], &what, 4);
    }
    const sluice::device::WireFrame mine = {data, 8};
    FUZZ_CHECK(sender.Send({&mine, 1}) <= 1);
    const auto frames = receiver->Pull(64);
    FUZZ_CHECK(frames.size() <= 64);
    for (const sluice::device::WireFrame& frame : frames) {
      FUZZ_CHECK(frame.length >= 60 && frame.length <= CableLane::kMaxFrameBytes);
      FUZZ_CHECK(std::count(frame.data, frame.data + frame.length, 0) <= frame.length);
    }
    receiver->Consumed(static_cast<uint32_t>(frames.size()) / 2);
    FUZZ_CHECK(sender.InFlight() <= CableLane::kBytes);
    FUZZ_CHECK(receiver->InFlight() <= 2 * CableLane::kBytes);
  }
  return 0;
}
