// SPDX-License-Identifier: BSD-3-Clause
//
// A net_enso port per test, frames to send, and checks of counters.
#pragma once

#include <rte_bus_vdev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace sluice::net_enso {

using Bytes = std::vector<uint8_t>;

/// A vdev that exists as long as the object.
class Vdev {
 public:
  explicit Vdev(const std::string& arguments);
  ~Vdev();
  uint16_t port() const { return port_; }

  /// Configures `queues` RX and TX queues with `pool` and starts the port.
  void Start(uint16_t queues, rte_mempool* pool, uint64_t rx_offloads = 0, uint16_t mtu = 1500,
             uint64_t tx_offloads = 0);
  /// Returns an extended statistic; fails the test if the name is unknown.
  uint64_t Xstat(const std::string& name) const;
  rte_eth_stats Stats() const;

 private:
  std::string name_;
  uint16_t port_ = 0;
};

/// A pool whose destructor checks that all mbufs have been returned.
class Pool {
 public:
  explicit Pool(uint32_t mbufs, uint16_t room = RTE_MBUF_DEFAULT_BUF_SIZE);
  ~Pool();
  rte_mempool* get() const { return pool_; }
  rte_mbuf* Fill(const Bytes& frame, uint16_t segment_bytes = 0) const;

 private:
  rte_mempool* pool_;
};

/// An IPv4 frame of `length` bytes (≥ 42) with a payload derived from `seed`.
struct FrameSpec {
  uint32_t length = 60;
  uint32_t dst_ip = 0xc0a8'0001;
  uint16_t dst_port = 80;
  uint32_t src_ip = 0x0a00'0001;
  uint16_t src_port = 1234;
  uint8_t protocol = 17;
  uint8_t tcp_flags = 0x10;
  uint32_t seed = 0;
};
Bytes Ipv4Frame(const FrameSpec& spec);
Bytes ArpFrame();
Bytes VlanFrame(uint32_t length, uint32_t seed);
Bytes Ipv6Frame(uint32_t length, uint32_t seed);
/// Returns a UDP frame over IPv6 with the checksum that DPDK computes.
Bytes Udp6Frame(uint32_t length, uint32_t seed);
/// Sets the header checksum and the UDP or TCP checksum of an IPv4 frame without options, as
/// computed by DPDK.
Bytes WithChecksums(Bytes frame);
/// Return frames with correct checksums; their lengths are 101 and 102 bytes.
Bytes Udp();
Bytes Tcp();
/// Sets the total length field of an IPv4 frame.
Bytes WithTotalLength(Bytes frame, uint16_t total_length);

/// A capture of Ethernet frames; the file is removed by the destructor.
class CaptureFile {
 public:
  explicit CaptureFile(const std::vector<Bytes>& frames);
  ~CaptureFile();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Bytes Contents(const rte_mbuf* mbuf);

/// Calls `step` until it returns true. Returns false after a minute.
template <typename Step>
bool Eventually(Step step) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!step()) {
    if (std::chrono::steady_clock::now() > end) return false;
  }
  return true;
}

/// Returns the number of flits of a frame of `bytes` bytes.
constexpr uint32_t FlitsOf(size_t bytes) { return static_cast<uint32_t>((bytes + 63) / 64); }

}  // namespace sluice::net_enso
