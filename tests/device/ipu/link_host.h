// SPDX-License-Identifier: BSD-3-Clause
//
// A host that uses links of regions instead of rings: the host's end of lib/swap in normal memory.
// The registers of regs/ipu.h announce the memory to the model.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "host.h"
#include "swap/host_link.h"

namespace sluice::device::ipu::test {

class LinkHost : public Host {
 public:
  static constexpr uint32_t kLinkStride = 256 << 10;
  /// The link of queue pair q is q strides lower, so an overrun of link 0 is outside the
  /// allocation.
  static constexpr uint32_t kLinkOffset = kBytes - kLinkStride;

  std::span<uint8_t> Memory(uint32_t queue) {
    return {At(kLinkOffset - queue * kLinkStride), kLinkStride};
  }
  uint64_t WriteLink(uint32_t queue, uint32_t reg, uint64_t value, uint32_t bytes = 4) {
    nic.WriteRegister(QueuePage(queue) + kLinkBlock + reg, bytes, value);
    return nic.ReadRegister(QueuePage(queue) + kLinkBlock + kLinkStatus, 4);
  }
  /// Sets the address of link `queue` in the device and enables it. Returns the link's status.
  uint64_t EnableLink(uint32_t queue, uint16_t epoch) {
    WriteLink(queue, kLinkBase, kBus + kLinkOffset - queue * kLinkStride, 8);
    WriteLink(queue, kLinkBytes, kLinkStride, 8);
    WriteLink(queue, kLinkEpoch, epoch);
    return WriteLink(queue, kLinkControl, kLinkEnable);
  }
  /// Formats link `queue` and brings it up.
  void StartLink(const swap::Geometry& geometry, uint32_t queue = 0) {
    links[queue] = swap::HostLink::Open(swap::LinkMemory::Format(Memory(queue), geometry), ~0ull);
    ASSERT_EQ(EnableLink(queue, links[queue]->epoch()), 1u);
    Settle(queue);
  }
  /// Steps both ends eight times. Returns whether the host holds a region afterwards.
  bool Settle(uint32_t queue = 0) {
    for (int i = 0; i < 8; ++i) {
      nic.Transmit(sink, 64);
      links[queue]->Poll(1);
    }
    return links[queue]->holding();
  }
  /// Swaps the host's region, which contains `frames` frames, for the next region.
  bool Swap(uint32_t frames, bool wait_for_frames, uint32_t queue = 0) {
    links[queue]->Give(frames, wait_for_frames);
    return Settle(queue);
  }
  std::vector<std::string> Frames(uint32_t queue = 0) {
    std::vector<std::string> frames;
    const swap::Region region = links[queue]->region();
    for (uint32_t i = 0; i < links[queue]->received(); ++i) {
      const swap::Entry entry = region.entries()[i];
      EXPECT_TRUE(swap::EntryIsSound(entry, links[queue]->geometry())) << i;
      frames.emplace_back(reinterpret_cast<char*>(region.base + swap::EntryOffset(entry)),
                          swap::EntryLength(entry));
    }
    return frames;
  }
  /// Writes frames into the host's region, one per slot of 2 KiB.
  void Fill(const std::vector<std::string>& frames, uint32_t queue = 0) {
    const swap::Region region = links[queue]->region();
    uint32_t at = links[queue]->geometry().DataOffset();
    for (uint32_t i = 0; i < frames.size(); ++i, at += 2048) {
      std::memcpy(region.base + at, frames[i].data(), frames[i].size());
      region.entries()[i] = swap::MakeEntry(at, static_cast<uint32_t>(frames[i].size()));
    }
  }

  RecordingSink sink;
  std::array<std::unique_ptr<swap::HostLink>, 4> links;
};

/// A small geometry whose regions fill quickly: three regions of 16 KiB, each for at most 16
/// frames.
inline constexpr swap::Geometry kSmallLink{
    .regions = 3, .region_bytes = 16384, .max_frames = 16, .headroom_bytes = 0};

}  // namespace sluice::device::ipu::test
