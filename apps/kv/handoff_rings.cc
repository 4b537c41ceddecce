// SPDX-License-Identifier: BSD-3-Clause
#include "handoff_rings.h"

#include <rte_lcore.h>

#include <new>
#include <string>

namespace sluice::kv {

HandoffRings::HandoffRings(uint32_t workers) : entries_(size_t{workers} * kHandoffsPerWorker) {
  const auto make = [&](const std::string& name) {
    rte_ring* const ring = rte_ring_create(name.c_str(), static_cast<uint32_t>(entries_.size()),
                                           static_cast<int>(rte_socket_id()), RING_F_EXACT_SZ);
    if (ring == nullptr) throw std::bad_alloc();
    return Ring(ring);
  };
  free_ = make("kv_free");
  for (uint32_t i = 0; i < workers; ++i) inboxes_.push_back(make("kv_inbox_" + std::to_string(i)));
  for (engine::kv::Handoff& handoff : entries_) rte_ring_enqueue(free_.get(), &handoff);
}

}  // namespace sluice::kv
