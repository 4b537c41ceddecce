// SPDX-License-Identifier: BSD-3-Clause
//
// Parcels between workers: an inbox each, and one heap of empty parcels, all rte_rings.
#pragma once

#include <rte_ring.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/kv/parcel.h"

namespace sluice::kv {

/// All parcels and rings of the workers; made after EAL started. Throws std::bad_alloc.
class PostOffice {
 public:
  /// Parcels for each worker: two bursts.
  static constexpr uint32_t kParcelsPerWorker = 128;

  explicit PostOffice(uint32_t workers);

 private:
  friend class RingCourier;
  struct FreeRing {
    void operator()(rte_ring* ring) const { rte_ring_free(ring); }
  };
  using Ring = std::unique_ptr<rte_ring, FreeRing>;

  std::vector<engine::kv::Parcel> parcels_;
  Ring empty_;
  std::vector<Ring> inboxes_;  ///< By worker. Every ring has room for all parcels.
};

/// One worker's: satisfies engine::kv::Courier.
class RingCourier {
 public:
  /// `office` outlives the courier.
  RingCourier(PostOffice& office, uint32_t worker) : office_(&office), worker_(worker) {}

  engine::kv::Parcel* Empty() { return Take(office_->empty_.get()); }
  engine::kv::Parcel* Receive() { return Take(office_->inboxes_[worker_].get()); }
  void Send(uint32_t worker, engine::kv::Parcel* parcel) {
    rte_ring_enqueue(office_->inboxes_[worker].get(), parcel);
  }
  void Return(engine::kv::Parcel* parcel) { rte_ring_enqueue(office_->empty_.get(), parcel); }

 private:
  static engine::kv::Parcel* Take(rte_ring* ring) {
    void* parcel = nullptr;
    return rte_ring_dequeue(ring, &parcel) == 0 ? static_cast<engine::kv::Parcel*>(parcel)
                                                : nullptr;
  }

  PostOffice* office_;
  uint32_t worker_;
};

}  // namespace sluice::kv
