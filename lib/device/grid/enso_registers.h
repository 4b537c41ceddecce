// SPDX-License-Identifier: BSD-3-Clause
//
// BAR 2 of the Ensō NIC on a card, as in device/enso/register_file.h. The register block applies
// the accesses.
#pragma once

#include <cstdint>

#include "device/grid/enso_notify.h"
#include "device/grid/posted.h"
#include "regs/enso.h"

namespace sluice::device::grid {

class EnsoRegisters {
 public:
  explicit EnsoRegisters(EnsoCard& card) : card_(card) {}

  /// Writes the registers that the store covers completely.
  template <typename Writes>
  void Write(uint32_t offset, uint32_t bytes, uint64_t value, Writes& writes) {
    if (offset >= kBar2Bytes || bytes > sizeof(value)) return;
    for (uint32_t at = (offset + 3) & ~3u; at + 4 <= offset + bytes; at += 4) {
      const auto word = static_cast<uint32_t>(value >> (8 * (at - offset)));
      const uint32_t page = at / regs::enso::kPageBytes, reg = at & kBlockMask;
      if (page < regs::enso::kMaxPipes) {
        StorePipe(page, reg, word, writes);
      } else {
        StoreBuffer(BufferOfPage(page), reg, word);
      }
    }
  }

  uint64_t Read(uint32_t offset, uint32_t bytes) const {
    if (bytes == 0 || bytes > sizeof(uint64_t)) return ~uint64_t{0};
    if (offset >= regs::enso::kBarBytes || bytes > regs::enso::kBarBytes - offset) {
      return ~uint64_t{0} >> (64 - 8 * bytes);
    }
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; ++i) {
      const uint32_t at = offset + i;
      value |= uint64_t{(LoadWord(at & ~3u) >> (8 * (at & 3))) & 0xff} << (8 * i);
    }
    return value;
  }

 private:
  static constexpr uint32_t kBar2Bytes = 1u << 30;
  static constexpr uint32_t kBlockMask = 0x3f;

  static uint32_t BufferOfPage(uint32_t page) {
    return (page - regs::enso::kMaxPipes) % regs::enso::kMaxNotificationBuffers;
  }
  static uint64_t WithLow(uint64_t word, uint32_t value) {
    return (word & ~uint64_t{0xffff'ffff}) | value;
  }
  static uint64_t WithHigh(uint64_t word, uint32_t value) {
    return (word & 0xffff'ffff) | uint64_t{value} << 32;
  }
  uint8_t* Ring(uint64_t bus, uint32_t mask) const {
    return bus == 0 ? nullptr : card_.dma.Translate(bus, (uint64_t{mask} + 1) * kSlotBytes);
  }

  template <typename Writes>
  void StorePipe(uint32_t id, uint32_t reg, uint32_t value, Writes& writes) {
    using namespace regs::enso;
    EnsoPipe& pipe = card_.pipes[id];
    if (reg == kRxTail) {
      Store(&pipe.reserved, value);
      Store(&pipe.tail, value);
    } else if (reg == kRxHead) {
      Store(&pipe.head, value);
      HeadStored(card_, id, value, writes);
    } else if (reg == kRxMemLo || reg == kRxMemHi) {
      const uint64_t memory =
          reg == kRxMemLo ? WithLow(pipe.memory, value) : WithHigh(pipe.memory, value);
      Store(&pipe.ring, Ring(memory & ~kPipeNbMask, card_.pipe_mask));
      FenceCard();
      Store(&pipe.memory, memory);
    }
  }

  void StoreBuffer(uint32_t id, uint32_t reg, uint32_t value) {
    using namespace regs::enso;
    EnsoBuffer& buffer = card_.buffers[id];
    if (reg == kRxTail) Store(&buffer.rx_tail, value);
    if (reg == kRxHead) Store(&buffer.rx_head, value);
    if (reg == kTxTail) StoreRelease(&buffer.tx_tail, value);  // Announces slots.
    if (reg == kTxHead) {
      Store(&buffer.done, value & card_.nb_mask);
      Store(&buffer.offset, 0u);
      Store(&buffer.tx_head, value);
    }
    if (reg == kRxMemLo || reg == kRxMemHi) {
      const uint64_t memory =
          reg == kRxMemLo ? WithLow(buffer.rx_memory, value) : WithHigh(buffer.rx_memory, value);
      Store(&buffer.rx_ring, Ring(memory, card_.nb_mask));
      FenceCard();
      Store(&buffer.rx_memory, memory);
    }
    if (reg == kTxMemLo || reg == kTxMemHi) {
      const uint64_t memory =
          reg == kTxMemLo ? WithLow(buffer.tx_memory, value) : WithHigh(buffer.tx_memory, value);
      Store(&buffer.tx_ring, Ring(memory, card_.nb_mask));
      FenceCard();
      Store(&buffer.tx_memory, memory);
      if (memory != 0 && Exchange(&buffer.listed, 1) == 0) {
        Store(&card_.sending[Add(&card_.listed, 1u)], id + 1);
      }
    }
  }

  uint32_t LoadWord(uint32_t offset) const {
    using namespace regs::enso;
    const uint32_t page = offset / kPageBytes, reg = offset & kBlockMask;
    const auto half = [](uint64_t word, bool high) {
      return static_cast<uint32_t>(high ? word >> 32 : word);
    };
    if (page < kMaxPipes) {
      const EnsoPipe& pipe = card_.pipes[page];
      if (reg == kRxTail) return Load(&pipe.tail);
      if (reg == kRxHead) return Load(&pipe.head);
      if (reg == kRxMemLo || reg == kRxMemHi) return half(Load(&pipe.memory), reg == kRxMemHi);
      return 0;
    }
    const EnsoBuffer& buffer = card_.buffers[BufferOfPage(page)];
    if (reg == kRxTail) return Load(&buffer.rx_tail);
    if (reg == kRxHead) return Load(&buffer.rx_head);
    if (reg == kRxMemLo || reg == kRxMemHi) return half(Load(&buffer.rx_memory), reg == kRxMemHi);
    if (reg == kTxTail) return Load(&buffer.tx_tail);
    if (reg == kTxHead) return Load(&buffer.tx_head);
    if (reg == kTxMemLo || reg == kTxMemHi) return half(Load(&buffer.tx_memory), reg == kTxMemHi);
    return 0;
  }

  EnsoCard& card_;
};

}  // namespace sluice::device::grid
