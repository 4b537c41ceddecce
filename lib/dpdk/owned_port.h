// SPDX-License-Identifier: BSD-3-Clause
//
// An ethdev that another one, or a wire, uses: applications leave it alone, and it may go at any
// time.
#pragma once

#include <rte_ethdev.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::dpdk {

/// Owns a port, and hears of its release. Control path but for gone().
class OwnedPort {
 public:
  /// Null if somebody has the port, whose name is in `*other`, or, with none there, if no owner's
  /// id is left. `owner`: for people, 63 characters of it.
  static std::unique_ptr<OwnedPort> Take(uint16_t port, std::string_view owner,
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
  /// The port is left as it is, for whoever wants it next.
  ~OwnedPort() {
    // Of a port that is gone ethdev takes nothing back but by RTE_ETH_ALL: what is registered stays
    // with the number, for the next port that has it.
    rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_DESTROY, OnDestroy, this);
    if (!gone()) rte_eth_dev_owner_unset(id_, owner_);
  }
  OwnedPort(const OwnedPort&) = delete;
  OwnedPort& operator=(const OwnedPort&) = delete;

  uint16_t id() const { return id_; }
  /// It was released: its number may be another port's. Any thread.
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
