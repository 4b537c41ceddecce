// SPDX-License-Identifier: BSD-3-Clause
//
// Reads TX slots from host memory (docs/enso-hardware.md, "Transmitting"). A tx_tail store requests
// the slots [head, tail) of its ring. They are fetched in DMA reads of at most 256 slots, split at
// the ring's end; head becomes tail when the fetch begins. Fetching runs ahead of the data: a
// configuration command executes when its slot is fetched, even if the data of earlier slots, of
// any buffer, is still unread. The command's slot is still completed in order.
#pragma once

#include <array>
#include <cstdint>

#include "bar/dma.h"
#include "device/enso/configure.h"
#include "device/enso/counters.h"
#include "device/enso/register_file.h"
#include "device/enso/write_port.h"

namespace sluice::device::enso {

/// Copy of a TX slot, made when it was fetched.
struct Descriptor {
  uint64_t word1;       ///< Bus address of the data, or command id.
  const uint8_t* data;  ///< Host memory of a data slot; null if unreachable.
  uint32_t length;      ///< Data length in bytes: the low 20 bits of word 2.
  bool config;          ///< A command; executed when it was fetched.
  uint16_t nb;          ///< Notification buffer and slot of the descriptor.
  uint32_t slot;
};

class DescriptorFetcher {
 public:
  DescriptorFetcher(const bar::DmaSpace& dma, RegisterFile& registers, const WritePort& port,
                    Configurator& configurator, Tally& tally)
      : dma_(dma), registers_(registers), port_(port), configurator_(configurator), tally_(tally) {}

  /// Handles a store to this buffer's tx_tail. Stores coalesce until the fetch begins.
  void Request(uint32_t nb);

  /// Fetches requested slots while the queue has room for a whole read.
  void FetchAhead() {
    while (Wanted() && fetched_ - next_ <= kQueue - regs::enso::kTxFetchMax && Fetch()) {
    }
  }

  /// Returns the oldest descriptor, after fetching descriptors if necessary. Returns null if none
  /// can be fetched, or if the descriptor's data has not arrived from remote memory.
  const Descriptor* Front() {
    if (next_ == fetched_ && !(Wanted() && Fetch())) return nullptr;
    if (dma_.remote() != nullptr && !DataArrived()) [[unlikely]]
      return nullptr;
    return &descriptors_[next_ % kQueue];
  }
  /// Returns the second-oldest descriptor, or null if it has not been fetched or its data is
  /// unreachable.
  const Descriptor* Second() const {
    if (fetched_ - next_ < 2) return nullptr;
    const Descriptor& second = descriptors_[(next_ + 1) % kQueue];
    return second.config || second.data == nullptr ? nullptr : &second;
  }
  void Pop() {
    const Descriptor& used = descriptors_[next_ % kQueue];
    if (dma_.remote() != nullptr && !used.config) [[unlikely]]
      dma_.Done(used.data);
    ++next_;
  }
  /// Translates the addresses of the waiting data slots again. Called after the host has removed
  /// memory.
  void FindData();

 private:
  /// Capacity for descriptors that have been fetched but not popped: two reads of the maximum size.
  static constexpr uint32_t kQueue = 2 * regs::enso::kTxFetchMax;

  bool Wanted() const { return request_left_ != 0 || waiting_head_ != waiting_tail_; }
  bool Fetch();
  /// Returns whether the oldest descriptor's data has arrived. Also requests the data of the
  /// following descriptors.
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
  uint32_t request_next_ = 0;  ///< Next slot to read for the current request.
  uint32_t request_left_ = 0;  ///< Number of slots of the current request that have not been read
                               ///< yet.

  std::array<Descriptor, kQueue> descriptors_;
  /// Free-running index of the oldest descriptor; fetched_ is one past the newest.
  uint32_t next_ = 0;
  uint32_t fetched_ = 0;
};

}  // namespace sluice::device::enso
