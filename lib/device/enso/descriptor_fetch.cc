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

bool DescriptorFetcher::BeginRequest() {
  if (waiting_head_ == waiting_tail_) return false;
  nb_ = waiting_[waiting_head_++ % waiting_.size()];
  NotificationBuffer& buffer = registers_.nb(nb_);
  buffer.fetch_pending = false;
  request_next_ = buffer.tx_head & registers_.nb_mask();
  request_left_ = (buffer.tx_tail - buffer.tx_head) & registers_.nb_mask();
  buffer.tx_head = buffer.tx_tail;
  return true;
}

// One DMA read. Reads that the host's memory refuses are skipped.
bool DescriptorFetcher::Fetch() {
  for (;;) {
    while (request_left_ == 0) {
      if (!BeginRequest()) return false;
    }
    const uint32_t entries = registers_.nb_mask() + 1;
    const uint32_t count = std::min({request_left_, kTxFetchMax, entries - request_next_});
    const NotificationBuffer& buffer = registers_.nb(nb_);
    const uint64_t offset = uint64_t{request_next_} * kFlitBytes;
    const uint64_t read_bytes = uint64_t{count} * kFlitBytes;
    const uint8_t* slots = buffer.tx_ring != nullptr
                               ? buffer.tx_ring + offset
                               : dma_.Translate(buffer.tx_mem + offset, read_bytes);
    first_slot_ = request_next_;
    request_next_ = (request_next_ + count) & registers_.nb_mask();
    request_left_ -= count;
    if (slots == nullptr || reinterpret_cast<uintptr_t>(slots) % alignof(uint64_t) != 0) {
      ++tally_[Event::kDmaFaults];
      continue;
    }
    ReadSlots(slots, count);
    return true;
  }
}

void DescriptorFetcher::ReadSlots(const uint8_t* slots, uint32_t count) {
  constexpr uint32_t kAhead = 8;  // slots; their completions will be written
  for (uint32_t i = 0; i < count; ++i) {
    // The host's thread wrote the slot before its signal word and its tail store.
    const auto* words = reinterpret_cast<const uint64_t*>(slots + i * kFlitBytes);
    PrefetchForWrite(reinterpret_cast<uintptr_t>(words) + kAhead * kFlitBytes);
    Descriptor& slot = descriptors_[i];
    slot.words[0] = bar::LoadOnce(words[0], std::memory_order_acquire);
    // All other words at once, and once: volatile.
    static_assert(sizeof(Block) == (Descriptor::kWords - 1) * sizeof(uint64_t));
    reinterpret_cast<Block*>(&slot.words[1])->bytes =
        reinterpret_cast<const volatile Block*>(words + 1)->bytes;
    const bool is_data = slot.words[0] != kSignalConfig;
    slot.data = is_data ? dma_.Translate(slot.words[1], Length(slot)) : nullptr;
  }
  tally_[Event::kTxSlots] += count;
  next_ = 0;
  fetched_ = count;
}

}  // namespace sluice::device::enso
