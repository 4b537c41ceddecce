// SPDX-License-Identifier: BSD-3-Clause
//
// A PCIe link between a device and a port of the switch, in memory that two threads or two
// processes share: a ring of TLPs per direction, with one writer and one reader. Writer and reader
// do not trust each other: each keeps a private copy of its own count, and the reader copies each
// TLP before it evaluates it. If the writer's count is ever more than a ring ahead, the reader
// ignores the writer from then on.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/switch/tlp.h"

namespace sluice::device::stage {

inline constexpr uint32_t kLinkTlps = 256;

struct LinkDirection {
  struct alignas(64) Count {
    uint32_t value;
  };
  Count written;  ///< Number of TLPs written so far; stored with release order.
  Count read;     ///< Number of TLPs read so far; stored with release order.
  std::array<pcie_switch::Tlp, kLinkTlps> tlps;
};
/// Shared memory of a link. If it is all zeroes, the link is valid and empty.
struct LinkMemory {
  LinkDirection to_switch;
  LinkDirection to_device;
};

/// Returns the size of the TLP's payload in bytes.
inline uint32_t PayloadBytes(const pcie_switch::Tlp& tlp) {
  return tlp.kind == pcie_switch::TlpKind::kRead ? 0
                                                 : std::min(tlp.length, pcie_switch::kMaxPayload);
}

class LinkWriter {
 public:
  explicit LinkWriter(LinkDirection& direction) : direction_(&direction) {}

  /// Returns the ring slot for the next TLP, or null if the ring is full.
  pcie_switch::Tlp* Place() {
    if (written_ - read_ == kLinkTlps) {
      const uint32_t read = std::atomic_ref(direction_->read.value).load(std::memory_order_acquire);
      if (written_ - read > kLinkTlps) return nullptr;
      read_ = read;
      if (written_ - read_ == kLinkTlps) return nullptr;
    }
    return &direction_->tlps[written_ % kLinkTlps];
  }
  /// Commits the TLP at Place. The reader sees the TLP after Publish.
  void Commit() { ++written_; }
  /// Copies a TLP, without unused payload bytes, to Place(), which must not return null.
  void Put(const pcie_switch::Tlp& tlp) {
    std::memcpy(static_cast<void*>(Place()), &tlp,
                offsetof(pcie_switch::Tlp, payload) + PayloadBytes(tlp));
    Commit();
  }
  void Publish() {
    if (published_ == written_) return;
    published_ = written_;
    std::atomic_ref(direction_->written.value).store(written_, std::memory_order_release);
  }

 private:
  LinkDirection* direction_;
  uint32_t written_ = 0;
  uint32_t published_ = 0;
  uint32_t read_ = 0;  ///< The reader's count when it was last read.
};

class LinkReader {
 public:
  explicit LinkReader(LinkDirection& direction) : direction_(&direction) {}

  /// Copies the next TLP. Returns false if the ring is empty.
  bool Next(pcie_switch::Tlp& out) {
    if (read_ == written_ && !Look()) return false;
    const pcie_switch::Tlp& tlp = direction_->tlps[read_ % kLinkTlps];
    std::array<uint8_t, offsetof(pcie_switch::Tlp, payload)> head;
    std::memcpy(head.data(), &tlp, head.size());
    // A bool must be 0 or 1, so all bits except the lowest are cleared.
    head[offsetof(pcie_switch::Tlp, refused)] &= 1;
    std::memcpy(static_cast<void*>(&out), head.data(), head.size());
    std::memcpy(out.payload.data(), tlp.payload.data(), PayloadBytes(out));
    ++read_;
    return true;
  }
  /// Returns the slots of copied TLPs to the writer.
  void Release() {
    if (released_ == read_) return;
    released_ = read_;
    std::atomic_ref(direction_->read.value).store(read_, std::memory_order_release);
  }
  /// Returns whether the writer's count was invalid. If so, no more TLPs are read.
  bool broken() const { return broken_; }

 private:
  bool Look() {
    const uint32_t written =
        std::atomic_ref(direction_->written.value).load(std::memory_order_acquire);
    broken_ |= written - read_ > kLinkTlps;
    if (broken_) return false;
    written_ = written;
    return read_ != written_;
  }

  LinkDirection* direction_;
  uint32_t read_ = 0;
  uint32_t released_ = 0;
  uint32_t written_ = 0;  ///< The writer's count when it was last read.
  bool broken_ = false;
};

}  // namespace sluice::device::stage
