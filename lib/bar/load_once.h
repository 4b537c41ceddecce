// SPDX-License-Identifier: BSD-3-Clause
//
// Reads memory to which a peer may be writing: rings, regions and queues that two processes share.
// The value that is used must be the one that was checked, so every word is loaded once, into a
// local variable. A plain load does not guarantee that, because the compiler may repeat it.
#pragma once

#include <atomic>

namespace sluice::bar {

/// Loads `shared`, a naturally aligned integer or enumeration, exactly once and returns the value.
template <typename T>
T LoadOnce(const T& shared, std::memory_order order = std::memory_order_relaxed) {
  static_assert(std::atomic_ref<T>::is_always_lock_free);
  // std::atomic_ref of a const type requires C++26, hence the cast. The object is not modified.
  return std::atomic_ref<T>(const_cast<T&>(shared)).load(order);
}

}  // namespace sluice::bar
