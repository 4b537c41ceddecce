// SPDX-License-Identifier: BSD-3-Clause
//
// `--capture=FILE`: copies the frames of all queues into a pcapng file, written by a separate
// thread. It also works where dpdk-dumpcap cannot attach, for example without hugepages. Packetized
// queues are captured through ethdev callbacks, other queues through their taps. If the ring is
// full, copies are lost and the loss is reported; the traffic is not affected. After a failed write
// the capture writes nothing more.
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
  /// Creates the file and starts the writer. The capture ends after `max_pkts` packets; 0 means no
  /// limit. On failure returns null and sets `error` to one line.
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
  /// TapSpans returns the tap for a streaming queue, TapFrames the tap for a bilateral or coherent
  /// queue. A tap is valid while the capture exists.
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
  rte_ring* ring_ = nullptr;  ///< Producers: any worker. Consumer: the writer.
  uint64_t max_pkts_ = 0;
  std::atomic<uint64_t> taken_{0};  ///< Number of requested copies.
  std::atomic<uint64_t> lost_{0};  ///< Number of copies lost for lack of a buffer or of ring space.
  std::atomic<bool> stop_{false};
  int failure_ = 0;          ///< An errno; only the writer accesses it until the writer ends.
  std::list<Point> points_;  ///< A list, because elements need stable addresses.
  std::vector<Callback> callbacks_;
  std::mutex writing_;  ///< Serializes writes to the file.
  std::thread writer_;
};

}  // namespace sluice::runtime
