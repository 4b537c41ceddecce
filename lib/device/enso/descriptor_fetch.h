// SPDX-License-Identifier: BSD-3-Clause
//
// Reads TX slots from host memory (docs/enso-hardware.md, "Transmitting"): a tx_tail store
// asks for [head, tail) of its ring, which is fetched in DMA reads of at most 256 slots, split
// at the ring's end; head becomes tail when the fetch begins. Fetching runs ahead of the data: a
// configuration acts when its slot is fetched, while data of slots before it, of any buffer, may
// still be unread. It is completed in its turn.
#pragma once

#include <array>
#include <cstdint>

#include "bar/dma.h"
#include "device/enso/configure.h"
#include "device/enso/counters.h"
#include "device/enso/register_file.h"
#include "device/enso/write_port.h"

namespace sluice::device::enso {

/// A TX slot as it was when it was fetched.
struct Descriptor {
  uint64_t word1;       ///< Bus address of data, or id of a command.
  const uint8_t* data;  ///< Host memory of a data slot; null if unreachable.
  uint32_t length;      ///< Of data, in bytes: the 20 bits of word 2 that are wired.
  bool config;          ///< A command, executed already.
  uint16_t nb;          ///< Where it came from.
  uint32_t slot;
};

class DescriptorFetcher {
 public:
  DescriptorFetcher(const bar::DmaSpace& dma, RegisterFile& registers, const WritePort& port,
                    Configurator& configurator, Tally& tally)
      : dma_(dma), registers_(registers), port_(port), configurator_(configurator), tally_(tally) {}

  /// A store of this buffer's tx_tail. Stores coalesce until the fetch begins.
  void Request(uint32_t nb);

  /// Fetches what is asked for while the queue has room for a whole read.
  void FetchAhead() {
    while (Wanted() && fetched_ - next_ <= kQueue - regs::enso::kTxFetchMax && Fetch()) {
    }
  }

  /// The oldest descriptor that is not yet popped; null if none is asked for.
  const Descriptor* Front() {
    if (next_ == fetched_ && !(Wanted() && Fetch())) return nullptr;
    if (dma_.remote() != nullptr && !DataArrived()) [[unlikely]]
      return nullptr;
    return &descriptors_[next_ % kQueue];
  }
  /// The one behind it, if it is fetched and names data.
  const Descriptor* Second() const {
    if (fetched_ - next_ < 2) return nullptr;
    const Descriptor& second = descriptors_[(next_ + 1) % kQueue];
    return second.config || second.data == nullptr ? nullptr : &second;
  }
  void Pop() {
    const Descriptor& used = descriptors_[next_ % kQueue];
    if (dma_.remote() != nullptr && !used.config) [[unlikely]]
      dma_.remote()->Done(used.data);
    ++next_;
  }
  /// Memory was taken away: looks anew for the data of slots that wait.
  void FindData();

 private:
  /// Descriptors that wait for their data: two reads of the largest size.
  static constexpr uint32_t kQueue = 2 * regs::enso::kTxFetchMax;

  bool Wanted() const { return request_left_ != 0 || waiting_head_ != waiting_tail_; }
  bool Fetch();
  /// Whether the data of the oldest descriptor is here; asks for that of some behind it.
  bool DataArrived() const;
  void BeginRequest();
  void ReadSlots(const uint8_t* slots, uint32_t first, uint32_t count);

  const bar::DmaSpace& dma_;
  RegisterFile& registers_;
  const WritePort& port_;
  Configurator& configurator_;
  Tally& tally_;

  /// Buffers with a pending request, oldest first; each at most once.
  std::array<uint16_t, regs::enso::kMaxNotificationBuffers> waiting_{};
  uint32_t waiting_head_ = 0;  ///< Free-running.
  uint32_t waiting_tail_ = 0;

  uint32_t nb_ = 0;            ///< Buffer of the current request.
  uint32_t request_next_ = 0;  ///< Slot from which the request is still unread.
  uint32_t request_left_ = 0;  ///< Slots of it that are.

  std::array<Descriptor, kQueue> descriptors_;
  uint32_t next_ = 0;  ///< Free-running: the oldest descriptor, and behind the newest.
  uint32_t fetched_ = 0;
};

}  // namespace sluice::device::enso
