// SPDX-License-Identifier: BSD-3-Clause
//
// The links of a net_ipu port, through the driver's native API. Used by BilateralQueue.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nic/held_region.h"
#include "nic/interface.h"

namespace sluice::nic {

/// Implements the concept SwapLink (bilateral.h), which BilateralQueue uses. The main thread opens
/// and closes it while no worker uses it. Otherwise one worker uses it.
class IpuLink {
 public:
  /// Opens links 0 … workers − 1 of a stopped port. RSS spreads frames over them. `packet_bytes`
  /// must be a result of FitPacketBytes. Returns 0, or a negative errno with `error` set to one
  /// line.
  static int Open(const InterfaceOptions& options, std::vector<IpuLink>* links, std::string* error);

  bool Region(HeldRegion& region) { return rte_pmd_ipu_link_region(link_.get(), &region); }
  void Give(uint32_t frames, bool wait_for_frames) {
    rte_pmd_ipu_link_give(link_.get(), frames, wait_for_frames);
  }
  bool Poll(uint64_t now_cycles, HeldRegion& region) {
    return rte_pmd_ipu_link_poll(link_.get(), now_cycles, &region);
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

  std::unique_ptr<rte_pmd_ipu_link, Close> link_;
  uint32_t headroom_bytes_;
};

}  // namespace sluice::nic
