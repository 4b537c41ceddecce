// SPDX-License-Identifier: BSD-3-Clause
#include "courier.h"

#include <rte_lcore.h>

#include <new>
#include <string>

namespace sluice::kv {

PostOffice::PostOffice(uint32_t workers) : parcels_(size_t{workers} * kParcelsPerWorker) {
  const auto make = [&](const std::string& name) {
    rte_ring* const ring = rte_ring_create(name.c_str(), static_cast<uint32_t>(parcels_.size()),
                                           static_cast<int>(rte_socket_id()), RING_F_EXACT_SZ);
    if (ring == nullptr) throw std::bad_alloc();
    return Ring(ring);
  };
  empty_ = make("kv_empty");
  for (uint32_t i = 0; i < workers; ++i) inboxes_.push_back(make("kv_inbox_" + std::to_string(i)));
  for (engine::kv::Parcel& parcel : parcels_) rte_ring_enqueue(empty_.get(), &parcel);
}

}  // namespace sluice::kv
