// SPDX-License-Identifier: BSD-3-Clause
//
// Records a port's events on EAL's interrupt thread, as an application receives them.
#pragma once

#include <gtest/gtest.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "../waiting.h"

namespace sluice::net_ipu::test {

/// Records the events of one type on a port. The port must outlive the object. Otherwise, ethdev
/// would also call the registered function for the next port with the same number.
class EventLog {
 public:
  EventLog(uint16_t port, rte_eth_event_type type) : port_(port), type_(type) {
    EXPECT_EQ(rte_eth_dev_callback_register(port, type, OnEvent, this), 0);
  }
  ~EventLog() {
    while (rte_eth_dev_callback_unregister(port_, type_, OnEvent, this) == -EAGAIN) usleep(1000);
  }
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  size_t count() {
    const std::scoped_lock lock(mutex_);
    return link_up_.size();
  }
  /// Returns the link state at each event.
  std::vector<bool> link_up() {
    const std::scoped_lock lock(mutex_);
    return link_up_;
  }
  /// Waits until there have been `events` events. Returns false after a minute.
  bool WaitFor(size_t events) {
    const uint64_t deadline = rte_get_timer_cycles() + kPatienceS * rte_get_timer_hz();
    while (count() < events) {
      if (rte_get_timer_cycles() > deadline) return false;
      usleep(1000);
    }
    return true;
  }

 private:
  static int OnEvent(uint16_t port, rte_eth_event_type, void* log, void*) {
    rte_eth_link link{};
    EXPECT_EQ(rte_eth_link_get_nowait(port, &link), 0);
    auto* const self = static_cast<EventLog*>(log);
    const std::scoped_lock lock(self->mutex_);
    self->link_up_.push_back(link.link_status == RTE_ETH_LINK_UP);
    return 0;
  }

  const uint16_t port_;
  const rte_eth_event_type type_;
  std::mutex mutex_;
  std::vector<bool> link_up_;
};

}  // namespace sluice::net_ipu::test
