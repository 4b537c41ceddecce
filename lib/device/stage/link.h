// SPDX-License-Identifier: BSD-3-Clause
//
// A PCIe link between a device and a port of the switch, in memory that two threads or two
// processes share: a ring of TLPs in each direction, with one writer and one reader. Neither end
// believes the other: counts are its own, TLPs are copied before they are looked at, and an end
// that claims more than a ring holds is broken for good.
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
  Count written;  ///< TLPs, cumulative; release.
  Count read;     ///< TLPs, cumulative; release.
  std::array<pcie_switch::Tlp, kLinkTlps> tlps;
};
/// Zeroes are a link on which nothing has passed.
struct LinkMemory {
  LinkDirection to_switch;
  LinkDirection to_device;
};

/// Bytes of its payload.
inline uint32_t PayloadBytes(const pcie_switch::Tlp& tlp) {
  return tlp.kind == pcie_switch::TlpKind::kRead ? 0
                                                 : std::min(tlp.length, pcie_switch::kMaxPayload);
}

class LinkWriter {
 public:
  explicit LinkWriter(LinkDirection& direction) : direction_(&direction) {}

  /// Where the next TLP is to be written, or null: the ring is full.
  pcie_switch::Tlp* Place() {
    if (written_ - read_ == kLinkTlps) {
      const uint32_t read = std::atomic_ref(direction_->read.value).load(std::memory_order_acquire);
      if (written_ - read > kLinkTlps) return nullptr;
      read_ = read;
      if (written_ - read_ == kLinkTlps) return nullptr;
    }
    return &direction_->tlps[written_ % kLinkTlps];
  }
  /// The TLP at Place is whole; the reader sees it after Publish.
  void Commit() { ++written_; }
  /// Writes this one at Place, which is not null, and nothing but what is of it.
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
  uint32_t read_ = 0;  ///< As last seen.
};

class LinkReader {
 public:
  explicit LinkReader(LinkDirection& direction) : direction_(&direction) {}

  /// Copies the next TLP. False: there is none now.
  bool Next(pcie_switch::Tlp& out) {
    if (read_ == written_ && !Look()) return false;
    const pcie_switch::Tlp& tlp = direction_->tlps[read_ % kLinkTlps];
    std::array<uint8_t, offsetof(pcie_switch::Tlp, payload)> head;
    std::memcpy(head.data(), &tlp, head.size());
    head[offsetof(pcie_switch::Tlp, refused)] &= 1;  // Any other byte is no bool.
    std::memcpy(static_cast<void*>(&out), head.data(), head.size());
    std::memcpy(out.payload.data(), tlp.payload.data(), PayloadBytes(out));
    ++read_;
    return true;
  }
  /// Lets the writer use again what Next has copied.
  void Release() {
    if (released_ == read_) return;
    released_ = read_;
    std::atomic_ref(direction_->read.value).store(read_, std::memory_order_release);
  }
  /// The writer claimed what cannot be: nothing more comes.
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
  uint32_t written_ = 0;  ///< As last seen.
  bool broken_ = false;
};

}  // namespace sluice::device::stage
