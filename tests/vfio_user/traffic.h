// SPDX-License-Identifier: BSD-3-Clause
//
// Frames that a wire sends to a guest, and checks of the returned frames.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "packet/capture_file.h"
#include "packet/fixtures.h"
#include "rig.h"

namespace sluice::emulator::vfio_user::test {

inline constexpr uint64_t kFrames = 400;

/// Returns a capture of IPv4/UDP frames with 60 to 1257 bytes.
inline const std::string& CaptureOfFrames() {
  static const sluice::test::TemporaryFile file([] {
    sluice::test::CaptureFile capture({});
    for (uint64_t i = 0; i < kFrames; ++i) {
      Bytes frame = sluice::test::kUdp4NoChecksum;
      frame.resize(60 + 3 * i);
      for (size_t at = 42; at < frame.size(); ++at) frame[at] = static_cast<uint8_t>(at * 7 + i);
      const size_t total = frame.size() - 14;
      frame[16] = static_cast<uint8_t>(total >> 8);
      frame[17] = static_cast<uint8_t>(total);
      frame[38] = static_cast<uint8_t>((total - 20) >> 8);
      frame[39] = static_cast<uint8_t>(total - 20);
      const auto bytes = static_cast<uint32_t>(frame.size());
      capture.AddRecord(1, 2, bytes, bytes, frame);
    }
    return capture.bytes();
  }());
  return file.path();
}

inline std::vector<Argument> Replay(const char* loops) {
  return {{"wire", "pcap:" + CaptureOfFrames() + "+loop=" + loops}, {"verify", "full"}};
}

inline void ExpectAllBack(Rig& rig, uint64_t frames) {
  EXPECT_EQ(rig["wire_offered"], frames);
  EXPECT_EQ(rig["wire_returned"], frames);
  for (const char* const name : {"lost", "corrupted", "duplicated", "abandoned"}) {
    EXPECT_EQ(rig[std::string("wire_") + name], 0u) << name;
  }
}

/// Checks that no returned frame is damaged. Ignores lost frames, because Ensō drops frames before
/// a pipe is enabled, and an endless wire never stops.
inline void ExpectNoneBroken(Rig& rig) {
  for (const char* const name : {"corrupted", "duplicated"}) {
    EXPECT_EQ(rig[std::string("wire_") + name], 0u) << name;
  }
}

}  // namespace sluice::emulator::vfio_user::test
