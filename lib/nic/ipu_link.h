// SPDX-License-Identifier: BSD-3-Clause
//
// The links of a net_ipu port, through the driver's native API. Used by BilateralQueue.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "net_ipu/rte_pmd_ipu.h"
#include "nic/eth_port.h"
#include "nic/held_region.h"

namespace sluice::nic {

/// Implements the concept SwapLink (bilateral.h), which BilateralQueue uses. The main thread opens
/// and closes it while no worker uses it; otherwise one worker uses it.
class IpuLink {
 public:
  struct Options {
    uint32_t regions = 0;  ///< 0 selects the driver's default, here and in the next two members.
    uint32_t region_bytes = 0;
    uint32_t max_frames = 0;
    uint32_t headroom_bytes = 0;
    bool promiscuous = true;  ///< Argument of SetPromiscuous.
    /// Longest IP packet in bytes; a result of FitPacketBytes.
    uint32_t packet_bytes = kUsualPacketBytes;
  };

  /// Opens links 0 … count − 1 of a stopped port. RSS spreads frames over them. Returns 0, or a
  /// negative errno with `error` set to one line.
  static int Open(uint16_t port, uint16_t count, const Options& options,
                  std::vector<IpuLink>* links, std::string* error);

  bool Region(HeldRegion& region) {
    rte_pmd_ipu_region held;
    return rte_pmd_ipu_link_region(link_.get(), &held) && Describe(held, region);
  }
  void Give(uint32_t frames, bool wait_for_frames) {
    rte_pmd_ipu_link_give(link_.get(), frames, wait_for_frames);
  }
  bool Poll(uint64_t now_cycles, HeldRegion& region) {
    rte_pmd_ipu_region held;
    return rte_pmd_ipu_link_poll(link_.get(), now_cycles, &held) && Describe(held, region);
  }
  bool Cancel() { return rte_pmd_ipu_link_cancel(link_.get()); }
  bool LinkUp() const { return rte_pmd_ipu_link_up(link_.get()); }
  uint32_t headroom_bytes() const { return headroom_bytes_; }
  /// May be called by any thread.
  rte_pmd_ipu_link_stats Stats() const;

 private:
  struct Close {
    void operator()(rte_pmd_ipu_link* link) const { rte_pmd_ipu_link_close(link); }
  };
  IpuLink(rte_pmd_ipu_link* link, uint32_t headroom_bytes)
      : link_(link), headroom_bytes_(headroom_bytes) {}

  /// Converts the driver's description, once per region. Always returns true.
  static bool Describe(const rte_pmd_ipu_region& held, HeldRegion& region) {
    region = {.base = held.base,
              .entries = held.entries,
              .received = held.received,
              .capacity = held.capacity,
              .data = held.data,
              .bytes = held.bytes};
    return true;
  }

  std::unique_ptr<rte_pmd_ipu_link, Close> link_;
  uint32_t headroom_bytes_;
};

}  // namespace sluice::nic
