// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/kv/access.h"
#include "engine/kv/exchange.h"

namespace sluice::engine::kv::memcached {

/// Clears this worker's partitions, increments Exchange::within, and sets Exchange::owner to the
/// next worker. Returns true if all workers have cleared their partitions.
inline bool ClearOwn(Exchange& exchange, Access& access) {
  Store& store = access.store();
  for (size_t i = access.worker(); i < store.partitions.size(); i += store.workers) {
    store.partitions[i].Clear();
  }
  exchange.owner = (access.worker() + 1) % store.workers;
  return ++exchange.within == store.workers;
}

}  // namespace sluice::engine::kv::memcached
