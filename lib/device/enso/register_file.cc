// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/register_file.h"

#include <algorithm>

namespace sluice::device::enso {
namespace {

using namespace regs::enso;

constexpr uint32_t kBlockMask = 0x3f;  ///< Address bits 6 … 11 are not decoded.

void SetLow(uint64_t& word, uint32_t value) { word = (word & ~uint64_t{0xffff'ffff}) | value; }
void SetHigh(uint64_t& word, uint32_t value) {
  word = (word & 0xffff'ffff) | (uint64_t{value} << 32);
}

/// Returns the notification buffer of a page. Pages beyond the pipes alias onto the notification
/// buffers.
uint32_t NbOfPage(uint32_t page) { return (page - kMaxPipes) % kMaxNotificationBuffers; }

}  // namespace

RegisterFile::RegisterFile(const bar::DmaSpace& dma, uint32_t pipe_flits, uint32_t nb_entries)
    : dma_(dma),
      pipe_mask_(pipe_flits - 1),
      nb_mask_(nb_entries - 1),
      pipes_(kMaxPipes + kNoPipes),
      nbs_(kMaxNotificationBuffers) {}

SideEffect RegisterFile::Write(uint32_t offset, uint32_t bytes, uint64_t value) {
  if (bytes == 4 && offset % 4 == 0 && offset < kBar2Bytes) [[likely]] {
    return Store(offset, static_cast<uint32_t>(value));
  }
  SideEffect effect;
  if (offset >= kBar2Bytes || bytes > sizeof(value)) return effect;
  // Only registers that the store covers completely are written.
  for (uint32_t reg = (offset + 3) & ~3u; reg + 4 <= offset + bytes; reg += 4) {
    const SideEffect next = Store(reg, static_cast<uint32_t>(value >> (8 * (reg - offset))));
    if (next.kind != SideEffect::Kind::kNone) effect = next;
  }
  return effect;
}

uint64_t RegisterFile::Read(uint32_t offset, uint32_t bytes) const {
  if (bytes == 0 || bytes > sizeof(uint64_t)) return ~uint64_t{0};
  const uint64_t all_ones = ~uint64_t{0} >> (64 - 8 * bytes);
  if (offset >= kBarBytes || bytes > kBarBytes - offset) return all_ones;
  uint64_t value = 0;
  for (uint32_t i = 0; i < bytes; ++i) {
    const uint32_t at = offset + i;
    value |= uint64_t{(Load(at & ~3u) >> (8 * (at & 3))) & 0xff} << (8 * i);
  }
  return value;
}

SideEffect RegisterFile::Store(uint32_t offset, uint32_t value) {
  const uint32_t page = offset / kPageBytes;
  const uint32_t reg = offset & kBlockMask;
  return page < kMaxPipes ? StorePipe(page, reg, value) : StoreNb(NbOfPage(page), reg, value);
}

SideEffect RegisterFile::StorePipe(uint32_t id, uint32_t reg, uint32_t value) {
  Pipe& pipe = pipes_[id];
  pipe.limit = 0;
  switch (reg) {
    case kRxTail:
      pipe.rx_tail = value;
      return {};
    case kRxHead:
      pipe.rx_head = value;
      return {SideEffect::Kind::kHeadTrigger, id};
    case kRxMemLo:
      SetLow(pipe.rx_mem, value);
      break;
    case kRxMemHi:
      SetHigh(pipe.rx_mem, value);
      break;
    default:
      return {};
  }
  dma_.Forget();
  FindRing(pipe);
  return {};
}

SideEffect RegisterFile::StoreNb(uint32_t id, uint32_t reg, uint32_t value) {
  NotificationBuffer& nb = nbs_[id];
  switch (reg) {
    case kRxTail:
      nb.rx_tail = value;
      return {};
    case kRxHead:
      nb.rx_head = value;
      return {};
    case kTxTail:
      nb.tx_tail = value;
      return {SideEffect::Kind::kDescriptorFetch, id};
    case kTxHead:
      nb.tx_head = value;
      return {};
    case kRxMemLo:
      SetLow(nb.rx_mem, value);
      break;
    case kRxMemHi:
      SetHigh(nb.rx_mem, value);
      break;
    case kTxMemLo:
      SetLow(nb.tx_mem, value);
      break;
    case kTxMemHi:
      SetHigh(nb.tx_mem, value);
      break;
    default:
      return {};
  }
  if (nb.rx_mem == 0) ForgetLimits();
  dma_.Forget();
  FindRings(nb);
  return {};
}

void RegisterFile::FindRing(Pipe& pipe) const {
  const uint64_t ring_bytes = (uint64_t{pipe_mask_} + 1) * kFlitBytes;
  pipe.ring =
      pipe.rx_mem == 0 ? nullptr : dma_.TranslateLocal(pipe.rx_mem & ~kPipeNbMask, ring_bytes);
}

void RegisterFile::FindRings(NotificationBuffer& nb) const {
  const uint64_t ring_bytes = (uint64_t{nb_mask_} + 1) * kFlitBytes;
  nb.rx_ring = dma_.TranslateLocal(nb.rx_mem, ring_bytes);
  nb.tx_ring = dma_.TranslateLocal(nb.tx_mem, ring_bytes);
}

void RegisterFile::FindRings() {
  for (Pipe& pipe : pipes_) {
    if (pipe.ring != nullptr) FindRing(pipe);
  }
  for (NotificationBuffer& nb : nbs_) {
    if (nb.rx_ring != nullptr || nb.tx_ring != nullptr) FindRings(nb);
  }
  ForgetLimits();
}

// Sets the pipe's limit. The limit is at most the ring's last flit, so that rx_tail does not wrap
// in the hot loop.
void RegisterFile::UpdateLimit(Pipe& pipe) const {
  const bool plain = pipe.status && pipe.ring != nullptr && pipe.rx_tail <= pipe_mask_ &&
                     nbs_[pipe.rx_mem & kPipeNbMask].rx_mem != 0;
  pipe.limit = plain ? std::min(pipe.rx_tail + FreeFlits(pipe), pipe_mask_) : 0;
}

// Clears all limits; each pipe's next frame computes the limit again.
void RegisterFile::ForgetLimits() {
  for (Pipe& pipe : pipes_) pipe.limit = 0;
}

uint32_t RegisterFile::Load(uint32_t offset) const {
  const uint32_t page = offset / kPageBytes;
  const uint32_t reg = offset & kBlockMask;
  if (page < kMaxPipes) {
    const Pipe& pipe = pipes_[page];
    switch (reg) {
      case kRxTail:
        return pipe.rx_tail;
      case kRxHead:
        return pipe.rx_head;
      case kRxMemLo:
        return static_cast<uint32_t>(pipe.rx_mem);
      case kRxMemHi:
        return static_cast<uint32_t>(pipe.rx_mem >> 32);
      default:
        return 0;
    }
  }
  const NotificationBuffer& nb = nbs_[NbOfPage(page)];
  switch (reg) {
    case kRxTail:
      return nb.rx_tail;
    case kRxHead:
      return nb.rx_head;
    case kRxMemLo:
      return static_cast<uint32_t>(nb.rx_mem);
    case kRxMemHi:
      return static_cast<uint32_t>(nb.rx_mem >> 32);
    case kTxTail:
      return nb.tx_tail;
    case kTxHead:
      return nb.tx_head;
    case kTxMemLo:
      return static_cast<uint32_t>(nb.tx_mem);
    case kTxMemHi:
      return static_cast<uint32_t>(nb.tx_mem >> 32);
    default:
      return 0;
  }
}

}  // namespace sluice::device::enso
