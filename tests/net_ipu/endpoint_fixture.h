// SPDX-License-Identifier: BSD-3-Clause
//
// Endpoints opened on a port that ethdev never configured (LinkPort).
#pragma once

#include <gtest/gtest.h>
#include <rte_cycles.h>

#include <functional>
#include <memory>
#include <vector>

#include "../waiting.h"
#include "link_fixture.h"
#include "net_ipu/rte_pmd_ipu.h"

namespace sluice::net_ipu::test {

/// An endpoint and the state of its thread.
class Endpoint {
 public:
  Endpoint(uint16_t port, uint16_t queue, const rte_pmd_ipu_endpoint_conf& conf = {}) {
    EXPECT_EQ(rte_pmd_ipu_endpoint_open(port, queue, &conf, &handle), 0);
  }
  ~Endpoint() { rte_pmd_ipu_endpoint_close(handle); }
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  /// Runs one step of an echo: sends received frames back in place.
  void Echo(const Link::Look& look = nullptr) {
    const uint32_t count = rte_pmd_ipu_endpoint_wait(handle, frames);
    if (count == 0) return;
    for (uint32_t i = 0; i < count && look; ++i) look(frames[i].data, frames[i].length);
    received += count;
    rte_pmd_ipu_endpoint_answer(handle, frames, count);
  }
  rte_pmd_ipu_endpoint_stats Stats() const {
    rte_pmd_ipu_endpoint_stats stats;
    rte_pmd_ipu_endpoint_stats_get(handle, &stats);
    return stats;
  }

  rte_pmd_ipu_endpoint* handle = nullptr;
  rte_pmd_ipu_line_frame frames[RTE_PMD_IPU_ENDPOINT_MAX_FRAMES];
  uint64_t received = 0;
};
using Endpoints = std::vector<std::unique_ptr<Endpoint>>;

inline Endpoints OpenEndpoints(uint16_t port, uint16_t count) {
  Endpoints endpoints;
  for (uint16_t queue = 0; queue < count; ++queue) {
    endpoints.push_back(std::make_unique<Endpoint>(port, queue));
  }
  return endpoints;
}
inline uint64_t Received(const Endpoints& endpoints) {
  uint64_t received = 0;
  for (const auto& endpoint : endpoints) received += endpoint->received;
  return received;
}
inline bool Within10s(const std::function<bool()>& step) {
  const uint64_t deadline = rte_get_timer_cycles() + kPatienceS * rte_get_timer_hz();
  while (!step()) {
    if (rte_get_timer_cycles() > deadline) return false;
  }
  return true;
}

}  // namespace sluice::net_ipu::test
