// SPDX-License-Identifier: BSD-3-Clause
//
// A device's outstanding DMA reads, indexed by tag.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "device/stage/link.h"
#include "device/switch/tlp.h"

namespace sluice::device::stage {

/// State of one or more reads to the same memory.
struct Fetch {
  uint32_t missing = 0;  ///< Bytes that have been requested but have not arrived.
  bool refused = false;  ///< A read was refused, so its data will not arrive.
  bool done() const { return missing == 0; }
};

/// The outstanding reads of one device. Used by one thread.
class Reads {
 public:
  static constexpr uint32_t kTags = 64;

  explicit Reads(pcie_switch::PortId port) : port_(port) {}

  /// Reads up to kMaxReadRequest bytes for slot `owner`. `to` and `fetch` must stay valid until the
  /// data has arrived or Forget is called. Returns false if no tag is free or the link is full.
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

  /// Handles a completion. Ignores unexpected completions.
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

  /// Discards the data of all outstanding reads of `owner`.
  void Forget(uint8_t owner) {
    for (Read& read : reads_)
      if (read.owner == owner) read.fetch = nullptr;
  }

 private:
  struct Read {
    uint8_t* to = nullptr;
    Fetch* fetch = nullptr;  ///< Null: arriving data is dropped.
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
