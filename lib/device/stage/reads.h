// SPDX-License-Identifier: BSD-3-Clause
//
// DMA reads of a device that are under way, by their tags.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "device/stage/link.h"
#include "device/switch/tlp.h"

namespace sluice::device::stage {

/// What one or more reads bring.
struct Fetch {
  uint32_t missing = 0;  ///< Bytes that were asked for and have not come.
  bool refused = false;  ///< Some will not come.
  bool done() const { return missing == 0; }
};

/// One thread.
class Reads {
 public:
  static constexpr uint32_t kTags = 64;

  /// `port`: of the device.
  explicit Reads(pcie_switch::PortId port) : port_(port) {}

  /// Asks for up to kMaxReadRequest bytes, for slot `owner`. `to` and `fetch` live until they have
  /// come, or Forget. False: not now.
  bool Start(LinkWriter& link, uint64_t address, uint32_t bytes, uint8_t* to, Fetch& fetch,
             uint8_t owner) {
    if (used_ == kTags) return false;
    pcie_switch::Tlp* const tlp = link.Place();
    if (tlp == nullptr) return false;
    while (reads_[next_].missing != 0) next_ = (next_ + 1) % kTags;
    reads_[next_] = {to, &fetch, bytes, bytes, owner};
    ++used_;
    fetch.missing += bytes;
    tlp->kind = pcie_switch::TlpKind::kRead;
    tlp->refused = false;
    tlp->requester = port_;
    tlp->tag = static_cast<uint8_t>(next_);
    tlp->address = address;
    tlp->length = bytes;
    link.Commit();
    return true;
  }

  /// A completion has arrived. What nobody asked for is ignored.
  void Complete(const pcie_switch::Tlp& tlp) {
    if (tlp.tag >= kTags) return;
    Read& read = reads_[tlp.tag];
    if (read.missing == 0) return;
    const bool fits = tlp.length <= read.missing && tlp.length <= pcie_switch::kMaxPayload &&
                      tlp.address <= read.length && tlp.length <= read.length - tlp.address;
    const uint32_t came = tlp.refused ? read.missing : tlp.length;
    if (!tlp.refused && (!fits || came == 0)) return;
    if (read.fetch != nullptr) {
      if (!tlp.refused) std::memcpy(read.to + tlp.address, tlp.payload.data(), came);
      read.fetch->refused |= tlp.refused;
      read.fetch->missing -= came;
    }
    read.missing -= came;
    used_ -= read.missing == 0;
  }

  /// What `owner` asked for has no place any more.
  void Forget(uint8_t owner) {
    for (Read& read : reads_)
      if (read.owner == owner) read.fetch = nullptr;
  }

 private:
  struct Read {
    uint8_t* to = nullptr;
    Fetch* fetch = nullptr;  ///< Null: what comes is dropped.
    uint32_t length = 0;
    uint32_t missing = 0;  ///< 0: the tag is free.
    uint8_t owner = 0;
  };

  pcie_switch::PortId port_;
  std::array<Read, kTags> reads_{};
  uint32_t used_ = 0;
  uint32_t next_ = 0;
};

}  // namespace sluice::device::stage
