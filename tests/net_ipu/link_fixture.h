// SPDX-License-Identifier: BSD-3-Clause
//
// A net_ipu port that ethdev never configured, and links opened on it.
#pragma once

#include <gtest/gtest.h>
#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "../waiting.h"
#include "net_ipu/rte_pmd_ipu.h"

namespace sluice::net_ipu::test {

/// Return the parts of an entry, as described in rte_pmd_ipu.h.
inline uint32_t OffsetOf(uint32_t entry) { return entry & 0x3ffff; }
inline uint32_t LengthOf(uint32_t entry) { return entry >> 18; }

/// rte_pmd_ipu_link_conf with defaults, for tests that set only some members.
struct Sizes {
  uint32_t regions = 0;
  uint32_t region_bytes = 0;
  uint32_t max_frames = 0;
  uint32_t headroom_bytes = 0;
  uint32_t suspect_us = 0;

  rte_pmd_ipu_link_conf Conf() const {
    return {regions, region_bytes, max_frames, headroom_bytes, suspect_us};
  }
};

inline std::map<std::string, uint64_t> XstatsOf(uint16_t port) {
  const int count = rte_eth_xstats_get(port, nullptr, 0);
  std::vector<rte_eth_xstat> values(count);
  std::vector<rte_eth_xstat_name> names(count);
  EXPECT_EQ(rte_eth_xstats_get(port, values.data(), count), count);
  EXPECT_EQ(rte_eth_xstats_get_names(port, names.data(), count), count);
  std::map<std::string, uint64_t> stats;
  for (int i = 0; i < count; ++i) stats[names[i].name] = values[i].value;
  return stats;
}

/// A link and the state of its thread.
class Link {
 public:
  Link(uint16_t port, uint16_t queue, const Sizes& sizes) {
    const rte_pmd_ipu_link_conf conf = sizes.Conf();
    EXPECT_EQ(rte_pmd_ipu_link_open(port, queue, &conf, &handle), 0);
  }
  ~Link() { Close(); }
  Link(Link&& other) noexcept { *this = std::move(other); }
  Link& operator=(Link&& other) noexcept {
    std::swap(handle, other.handle);
    std::swap(received, other.received);
    std::swap(bytes, other.bytes);
    return *this;
  }
  void Close() {
    rte_pmd_ipu_link_close(handle);
    handle = nullptr;
  }

  using Look = std::function<void(const uint8_t* frame, uint32_t length)>;

  /// Runs one step of an echo: sends received frames back in place.
  void Echo(const Look& look = nullptr) {
    rte_pmd_ipu_region region;
    if (!Own(&region)) return;
    for (uint32_t i = 0; i < region.received; ++i) {
      const uint32_t entry = region.entries[i];
      ASSERT_GE(OffsetOf(entry), region.data);
      ASSERT_LE(OffsetOf(entry) + LengthOf(entry), region.bytes);
      if (look) look(region.base + OffsetOf(entry), LengthOf(entry));
      bytes += LengthOf(entry);
    }
    received += region.received;
    rte_pmd_ipu_link_give(handle, region.received, region.received == 0);
  }
  bool Own(rte_pmd_ipu_region* region) {
    return rte_pmd_ipu_link_region(handle, region) ||
           rte_pmd_ipu_link_poll(handle, rte_get_tsc_cycles(), region);
  }
  /// Waits until the host owns a region. Returns false on a timeout.
  bool AwaitRegion(rte_pmd_ipu_region* region) {
    const uint64_t deadline = rte_get_timer_cycles() + kPatienceS * rte_get_timer_hz();
    while (!Own(region)) {
      if (rte_get_timer_cycles() > deadline) return false;
    }
    return true;
  }
  rte_pmd_ipu_link_stats Stats() const {
    rte_pmd_ipu_link_stats stats;
    rte_pmd_ipu_link_stats_get(handle, &stats);
    return stats;
  }

  rte_pmd_ipu_link* handle = nullptr;
  uint64_t received = 0;
  uint64_t bytes = 0;
};

class LinkPort {
 public:
  static constexpr const char* kName = "net_ipu_link0";

  explicit LinkPort(const std::string& arguments) {
    EXPECT_EQ(rte_vdev_init(kName, arguments.c_str()), 0);
    EXPECT_EQ(rte_eth_dev_get_port_by_name(kName, &id), 0);
  }
  ~LinkPort() {
    links.clear();
    EXPECT_EQ(rte_eth_dev_close(id), 0);
    rte_vdev_uninit(kName);
  }
  LinkPort(const LinkPort&) = delete;
  LinkPort& operator=(const LinkPort&) = delete;

  void Open(uint16_t count) {
    for (uint16_t queue = 0; queue < count; ++queue) links.emplace_back(id, queue, Sizes{});
  }
  void Up() { EXPECT_EQ(rte_eth_dev_set_link_up(id), 0); }
  void Down() { EXPECT_EQ(rte_eth_dev_set_link_down(id), 0); }

  /// Echoes on all links until `done` returns true. Returns false on a timeout.
  bool EchoUntil(const std::function<bool()>& done) {
    const uint64_t deadline = rte_get_timer_cycles() + kPatienceS * rte_get_timer_hz();
    while (!done()) {
      if (rte_get_timer_cycles() > deadline) return false;
      for (Link& link : links) link.Echo();
    }
    return true;
  }
  uint64_t Received() const {
    uint64_t frames = 0;
    for (const Link& link : links) frames += link.received;
    return frames;
  }
  std::map<std::string, uint64_t> Xstats() { return XstatsOf(id); }

  uint16_t id = 0;
  std::vector<Link> links;
};

}  // namespace sluice::net_ipu::test
