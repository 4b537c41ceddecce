// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/descriptor_fetch.h"

#include <algorithm>

#include "bar/load_once.h"
#include "device/block.h"
#include "device/enso/flit_copy.h"

namespace sluice::device::enso {

using namespace regs::enso;

void DescriptorFetcher::Request(uint32_t nb) {
  NotificationBuffer& buffer = registers_.nb(nb);
  if (buffer.fetch_pending) return;
  buffer.fetch_pending = true;
  waiting_[waiting_tail_++ % waiting_.size()] = static_cast<uint16_t>(nb);
}

void DescriptorFetcher::BeginRequest() {
  nb_ = waiting_[waiting_head_++ % waiting_.size()];
  NotificationBuffer& buffer = registers_.nb(nb_);
  buffer.fetch_pending = false;
  request_next_ = buffer.tx_head & registers_.nb_mask();
  request_left_ = (buffer.tx_tail - buffer.tx_head) & registers_.nb_mask();
  buffer.tx_head = buffer.tx_tail;
}

bool DescriptorFetcher::DataArrived() const {
  constexpr uint32_t kAhead = 32;
  bool arrived = true;
  for (uint32_t i = next_; i != fetched_ && i - next_ < kAhead; ++i) {
    const Descriptor& slot = descriptors_[i % kQueue];
    if (slot.config || slot.data == nullptr || slot.length == 0) continue;
    const bool here = dma_.Ready(slot.data, slot.length);
    if (i == next_) arrived = here;
  }
  return arrived;
}

void DescriptorFetcher::FindData() {
  for (uint32_t i = next_; i != fetched_; ++i) {
    Descriptor& slot = descriptors_[i % kQueue];
    if (!slot.config) slot.data = dma_.Translate(slot.word1, slot.length);
  }
}

// Performs one DMA read of slots. Skips unreachable or unaligned slots and counts a fault. Returns
// false if nothing was read: no slots are left, they have not arrived from remote memory, or the
// write engine is wedged, so that no completion could be written.
bool DescriptorFetcher::Fetch() {
  if (port_.wedged()) [[unlikely]]
    return false;
  while (Wanted()) {
    if (request_left_ == 0) {
      BeginRequest();
      continue;
    }
    const uint32_t entries = registers_.nb_mask() + 1;
    const uint32_t first = request_next_;
    const uint32_t count = std::min({request_left_, kTxFetchMax, entries - first});
    const NotificationBuffer& buffer = registers_.nb(nb_);
    const uint64_t offset = uint64_t{first} * kFlitBytes;
    const uint64_t read_bytes = uint64_t{count} * kFlitBytes;
    const uint8_t* slots = buffer.tx_ring != nullptr
                               ? buffer.tx_ring + offset
                               : dma_.Translate(buffer.tx_mem + offset, read_bytes);
    if (slots != nullptr && !dma_.Ready(slots, read_bytes)) [[unlikely]]
      return false;
    request_next_ = (first + count) & registers_.nb_mask();
    request_left_ -= count;
    if (slots == nullptr || reinterpret_cast<uintptr_t>(slots) % alignof(uint64_t) != 0) {
      ++tally_[Event::kDmaFaults];
      continue;
    }
    ReadSlots(slots, first, count);
    dma_.Done(slots);
    return true;
  }
  return false;
}

void DescriptorFetcher::ReadSlots(const uint8_t* slots, uint32_t first, uint32_t count) {
  // Prefetch distance in slots; this thread will write completions to them.
  constexpr uint32_t kAhead = 8;
  for (uint32_t i = 0; i < count; ++i) {
    // This load-acquire pairs with the host's store of the signal word, which comes after its
    // stores to the rest of the slot.
    const auto* words = reinterpret_cast<const uint64_t*>(slots + i * kFlitBytes);
    PrefetchForWrite(reinterpret_cast<uintptr_t>(words) + kAhead * kFlitBytes);
    Descriptor& slot = descriptors_[(fetched_ + i) % kQueue];
    const uint64_t signal = bar::LoadOnce(words[0], std::memory_order_acquire);
    ConfigWords command = {signal, bar::LoadOnce(words[1]), bar::LoadOnce(words[2])};
    slot.word1 = command[1];
    slot.length = command[2] & 0xf'ffff;
    slot.config = signal == kSignalConfig;
    slot.nb = static_cast<uint16_t>(nb_);
    slot.slot = first + i;
    if (slot.config) [[unlikely]] {
      command[3] = bar::LoadOnce(words[3]);
      command[4] = bar::LoadOnce(words[4]);
      configurator_.Apply(command);
    } else {
      slot.data = dma_.Translate(slot.word1, slot.length);
    }
  }
  tally_[Event::kTxSlots] += count;
  fetched_ += count;
}

}  // namespace sluice::device::enso
