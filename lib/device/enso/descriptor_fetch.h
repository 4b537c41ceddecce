// SPDX-License-Identifier: BSD-3-Clause
//
// Reads TX slots from host memory (docs/enso-hardware.md, "Transmitting"): a tx_tail store
// asks for [head, tail) of its ring, which is fetched in DMA reads of at most 256
// slots, split at the ring's end; head becomes tail when the fetch begins.
#pragma once

#include <array>
#include <cstdint>

#include "bar/dma.h"
#include "device/enso/counters.h"
#include "device/enso/register_file.h"

namespace sluice::device::enso {

/// A TX slot as it was when it was fetched.
struct Descriptor {
  static constexpr uint32_t kWords = 5;  ///< No format has fields behind byte 39.
  std::array<uint64_t, kWords> words;    ///< 0 signal, 1 address or command, 2 length, …
  const uint8_t* data;                   ///< Host memory of a data slot; null if unreachable.
};

class DescriptorFetcher {
 public:
  DescriptorFetcher(const bar::DmaSpace& dma, RegisterFile& registers, Tally& tally)
      : dma_(dma), registers_(registers), tally_(tally) {}

  /// A store of this buffer's tx_tail. Stores coalesce until the fetch begins.
  void Request(uint32_t nb);

  /// The oldest descriptor that is not yet popped; null if none is asked for.
  const Descriptor* Front() {
    if (next_ == fetched_ && !Fetch()) return nullptr;
    return &descriptors_[next_];
  }
  /// Where Front() came from.
  uint32_t nb() const { return nb_; }
  uint32_t slot() const { return first_slot_ + next_; }
  void Pop() { ++next_; }

  /// Data length of a slot in bytes: 20 bits are wired.
  static uint32_t Length(const Descriptor& slot) { return slot.words[2] & 0xf'ffff; }

 private:
  bool Fetch();
  bool BeginRequest();
  void ReadSlots(const uint8_t* slots, uint32_t count);

  const bar::DmaSpace& dma_;
  RegisterFile& registers_;
  Tally& tally_;

  /// Buffers with a pending request, oldest first; each at most once.
  std::array<uint16_t, regs::enso::kMaxNotificationBuffers> waiting_{};
  uint32_t waiting_head_ = 0;  ///< Free-running.
  uint32_t waiting_tail_ = 0;

  uint32_t nb_ = 0;
  uint32_t request_next_ = 0;  ///< Slot from which the current request is still unread.
  uint32_t request_left_ = 0;  ///< Slots of it that are.

  std::array<Descriptor, regs::enso::kTxFetchMax> descriptors_;
  uint32_t first_slot_ = 0;  ///< Slot index of descriptors_[0].
  uint32_t next_ = 0;
  uint32_t fetched_ = 0;
};

}  // namespace sluice::device::enso
