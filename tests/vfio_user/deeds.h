// SPDX-License-Identifier: BSD-3-Clause
//
// A client's actions as bytes that a fuzzer can change. Each action is an Action struct, followed
// by the payload of its message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "bytes.h"

namespace sluice::emulator::vfio_user::test {

struct Action {
  uint8_t command;
  uint8_t flags;    ///< Bits 0 … 5 of the header's flags.
  uint8_t file;     ///< 0 for none; see FileOf.
  uint8_t payload;  ///< Number of payload bytes that follow.
  uint8_t lie;      ///< Error that is added to the message's size; an int8_t.
  uint8_t after;  ///< 1: truncates the file afterwards; 2: punches a hole in it; 3: does not wait.
};
inline constexpr size_t kActionBytes = sizeof(Action);
static_assert(kActionBytes == 6);

/// Returns the usual messages of a client, with files. They are used as seeds and as the input of
/// the truncation test.
inline std::vector<Bytes> HonestActions() {
  const auto action = [](Command command, const Bytes& payload, uint8_t file = 0,
                         uint8_t after = 0) {
    Bytes bytes = {static_cast<uint8_t>(command),        0, file,
                   static_cast<uint8_t>(payload.size()), 0, after};
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
  };
  const auto join = [](std::initializer_list<Bytes> parts) {
    Bytes all;
    for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  const auto store = [](uint64_t offset, uint32_t region, uint32_t bytes, uint64_t value) {
    Bytes payload = Join(RegionAccess{offset, region, bytes}, value);
    payload.resize(sizeof(RegionAccess) + bytes);
    return payload;
  };
  const DmaMap map{32, 3, 0, 0x10000, 0x10000};
  const Bytes enable = action(Command::kRegionWrite, store(4, 7, 2, 6));
  return {
      join({action(Command::kGetInfo, Join(DeviceInfo{16, 0, 0, 0})),
            action(Command::kGetRegionInfo, Join(RegionInfo{32, 0, 2, 0, 0, 0})),
            action(Command::kGetIrqInfo, Join(IrqInfo{16, 0, 2, 0})),
            action(Command::kRegionRead, Join(RegionAccess{0, 7, 64}))}),
      join({action(Command::kDmaMap, Join(map), 1), enable,
            action(Command::kRegionWrite, store(0x1000, 0, 8, 0x10000)),
            action(Command::kRegionWrite, store(0x1008, 0, 4, 64)),
            action(Command::kRegionWrite, store(0x100c, 0, 4, 2048)),
            action(Command::kRegionWrite, store(0x1010, 0, 4, 1)),
            action(Command::kRegionWrite, store(0x1100, 0, 8, 0x11000)),
            action(Command::kRegionWrite, store(0x1108, 0, 4, 64)),
            action(Command::kRegionWrite, store(0x1110, 0, 4, 1)),
            action(Command::kRegionWrite, store(0x1120, 0, 4, 8)),
            action(Command::kDmaUnmap, Join(DmaUnmap{24, 0, 0x10000, 0x10000}))}),
      join({action(Command::kDmaMap, Join(map), 1, 1), enable,
            action(Command::kRegionWrite, store(0x1000, 0, 8, 0x10000)),
            action(Command::kRegionWrite, store(0x1010, 0, 4, 1)), action(Command::kReset, {}),
            action(Command::kDmaUnmap, Join(DmaUnmap{24, 2, 0, 0}))}),
      join({action(Command::kSetIrqs, Join(IrqSet{20, 0x24, 2, 0, 1}), 2),
            action(Command::kSetIrqs, Join(IrqSet{20, 0x21, 2, 0, 1})),
            action(Command::kSetIrqs, Join(IrqSet{20, 0x24, 2, 1, 1}), 5),
            action(Command::kSetIrqs, Join(IrqSet{20, 0x21, 2, 1, 2})),
            action(Command::kRegionWriteMulti,
                   Join(uint64_t{2}, SingleWrite{12, 0, 4, 1}, SingleWrite{4096, 2, 8, 5}))}),
  };
}

}  // namespace sluice::emulator::vfio_user::test
