// SPDX-License-Identifier: BSD-3-Clause
//
// `--capture=FILE`: copies the frames of all queues into a pcapng file, which a separate thread
// writes. It works even where dpdk-dumpcap cannot attach, for example without hugepages. Packetized
// queues are captured through ethdev callbacks, other queues through their taps. If the ring is
// full, copies are lost and the loss is reported; the traffic is not affected. After a failed
// write, the capture writes nothing more.
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
  /// Creates the file and starts the writer. The capture ends after `max_pkts` packets, or has no
  /// limit if that is 0. On failure returns null and sets `error` to one line.
  static std::unique_ptr<Capture> Open(const std::string& path, uint64_t max_pkts,
                                       std::string* error);
  /// Calls Close.
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// Detaches from all queues, writes the remaining copies and logs the number of lost copies. All
  /// workers must have stopped polling. Returns an empty string, or the reason why the file is
  /// incomplete. Later calls have no effect.
  std::string Close();

  /// Captures a queue pair of a started port.
  void Attach(uint16_t port, uint16_t queue);
  /// TapSpans returns the tap for a streaming queue, and TapFrames the tap for a bilateral or
  /// coherent queue. A tap is valid while the capture exists.
  nic::SpanTap TapSpans(uint16_t port, uint32_t queue);
  nic::FrameTap TapFrames(uint16_t port, uint32_t queue);

 private:
  /// Argument of a callback or a tap.
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
  rte_ring* ring_ = nullptr;  ///< Any worker may be a producer; the writer is the consumer.
  uint64_t max_pkts_ = 0;
  std::atomic<uint64_t> taken_{0};  ///< Number of copies requested.
  std::atomic<uint64_t> lost_{0};   ///< Number of copies lost: no buffer or ring space was free.
  std::atomic<bool> stop_{false};
  int failure_ = 0;          ///< An errno. Only the writer accesses it until the writer has ended.
  std::list<Point> points_;  ///< A list, because elements must not move.
  std::vector<Callback> callbacks_;
  std::mutex writing_;  ///< Serializes writes to the file.
  std::thread writer_;
};

}  // namespace sluice::runtime
