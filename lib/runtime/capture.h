// SPDX-License-Identifier: BSD-3-Clause
//
// `--capture=FILE`: a copy of what passes the queues, written as pcapng by a
// thread of its own. For when dpdk-dumpcap cannot attach, as without hugepages.
// Packetized queues are seen through ethdev callbacks, the others through their taps. A full ring
// loses copies, never traffic; the loss is reported. Nothing is written behind a failure.
#pragma once

#include <rte_ethdev.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "nic/tap.h"

struct rte_mbuf;
struct rte_mempool;
struct rte_pcapng;
struct rte_ring;

namespace sluice::runtime {

class Capture {
 public:
  /// Creates the file and starts the writer; ends after `max_pkts` (0: never). On
  /// failure returns null and sets `error` to one line.
  static std::unique_ptr<Capture> Open(const std::string& path, uint64_t max_pkts,
                                       std::string* error);
  /// As Close.
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// Detaches, writes what is left, says how much was lost. No worker polls any more. Empty, or why
  /// the file could not be written to its end. Later calls do nothing more.
  std::string Close();

  /// Watches a queue pair of a started port.
  void Attach(uint16_t port, uint16_t queue);
  /// For a streaming queue, and for a bilateral or coherent one. Valid while the capture lives.
  nic::SpanTap TapSpans(uint16_t port, uint32_t queue);
  nic::FrameTap TapFrames(uint16_t port, uint32_t queue);

 private:
  /// What a callback or a tap is called with.
  struct Point {
    Capture* capture;
    uint16_t port;
    uint32_t queue;
  };
  struct Callback {
    uint16_t port;
    uint16_t queue;
    const rte_eth_rxtx_callback* receive;
    const rte_eth_rxtx_callback* transmit;
  };

  Capture() = default;
  static uint16_t OnReceive(uint16_t port, uint16_t queue, rte_mbuf** mbufs, uint16_t count,
                            uint16_t max, void* point);
  static uint16_t OnTransmit(uint16_t port, uint16_t queue, rte_mbuf** mbufs, uint16_t count,
                             void* point);
  static void OnSpan(void* point, nic::TapDirection direction, const uint8_t* data, uint32_t bytes);
  static void OnFrame(void* point, nic::TapDirection direction, const uint8_t* frame,
                      uint32_t length);
  Point& AddPoint(uint16_t port, uint32_t queue);
  void CopyBytes(const Point& point, const uint8_t* frame, uint32_t length,
                 nic::TapDirection direction);
  void Copy(const Point& point, const rte_mbuf* mbuf, bool received);
  bool Wanted();
  void Write();
  void WriteBlocks(std::span<rte_mbuf*> blocks);

  int file_ = -1;
  rte_pcapng* pcapng_ = nullptr;
  rte_mempool* pool_ = nullptr;
  rte_ring* ring_ = nullptr;  ///< Any worker in, the writer out.
  uint64_t max_pkts_ = 0;
  std::atomic<uint64_t> taken_{0};  ///< Copies asked for.
  std::atomic<uint64_t> lost_{0};   ///< Copies that found no buffer or no room.
  std::atomic<bool> stop_{false};
  int failure_ = 0;          ///< An errno. The writer's, until it has ended.
  std::list<Point> points_;  ///< Stable addresses.
  std::vector<Callback> callbacks_;
  std::mutex writing_;  ///< Into the file.
  std::thread writer_;
};

}  // namespace sluice::runtime
