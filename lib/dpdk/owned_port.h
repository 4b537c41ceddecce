// SPDX-License-Identifier: BSD-3-Clause
//
// An ethdev that is owned by another ethdev or by a wire. Applications do not use it. It may be
// released at any time.
#pragma once

#include <rte_ethdev.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::dpdk {

/// Owns a port and is notified of its release. All functions except gone() are for the control
/// path.
class OwnedPort {
 public:
  /// Acquires the port. `owner` is a display name, of which the first 63 characters are used. On
  /// failure, returns null and stores the name of the port's owner in `*other`, or an empty string
  /// if no owner id is available.
  static std::unique_ptr<OwnedPort> Acquire(uint16_t port, std::string_view owner,
                                            std::string* other) {
    rte_eth_dev_owner mine{};
    owner.substr(0, sizeof(mine.name) - 1).copy(mine.name, sizeof(mine.name) - 1);
    other->clear();
    if (rte_eth_dev_owner_new(&mine.id) != 0) return nullptr;
    if (rte_eth_dev_owner_set(port, &mine) != 0) {
      rte_eth_dev_owner holder{};
      rte_eth_dev_owner_get(port, &holder);
      *other = holder.name;
      return nullptr;
    }
    return std::unique_ptr<OwnedPort>(new OwnedPort(port, mine.id));
  }
  /// Releases the ownership. The port's state is unchanged.
  ~OwnedPort() {
    // For a released port, ethdev unregisters callbacks only through RTE_ETH_ALL. A callback that
    // stayed registered would be called for the next port with that number.
    rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_DESTROY, OnDestroy, this);
    if (!gone()) rte_eth_dev_owner_unset(id_, owner_);
  }
  OwnedPort(const OwnedPort&) = delete;
  OwnedPort& operator=(const OwnedPort&) = delete;

  uint16_t id() const { return id_; }
  /// Returns whether the port has been released; its number may then belong to another port. May be
  /// called by any thread.
  bool gone() const { return gone_.load(std::memory_order_acquire); }

 private:
  OwnedPort(uint16_t id, uint64_t owner) : id_(id), owner_(owner) {
    rte_eth_dev_callback_register(id_, RTE_ETH_EVENT_DESTROY, OnDestroy, this);
  }
  static int OnDestroy(uint16_t, rte_eth_event_type, void* port, void*) {
    static_cast<OwnedPort*>(port)->gone_.store(true, std::memory_order_release);
    return 0;
  }

  const uint16_t id_;
  const uint64_t owner_;
  std::atomic<bool> gone_ = false;
};

}  // namespace sluice::dpdk
