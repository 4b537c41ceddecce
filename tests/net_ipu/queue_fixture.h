// SPDX-License-Identifier: BSD-3-Clause
//
// A queue pair of the driver on a stepped model NIC.
#pragma once

#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <string>
#include <vector>

#include "stepped_nic.h"

namespace sluice::net_ipu::test {

/// A pool whose destructor checks that all objects have been returned.
class CheckedPool {
 public:
  explicit CheckedPool(uint32_t mbufs, uint32_t room = 2048, uint32_t cache = 128) {
    static uint32_t serial = 0;
    pool_ =
        rte_pktmbuf_pool_create(("checked" + std::to_string(serial++)).c_str(), mbufs, cache, 0,
                                static_cast<uint16_t>(RTE_PKTMBUF_HEADROOM + room), SOCKET_ID_ANY);
    EXPECT_NE(pool_, nullptr);
    total_ = rte_mempool_avail_count(pool_);
  }
  ~CheckedPool() {
    EXPECT_EQ(rte_mempool_avail_count(pool_), total_) << "mbufs leaked, or freed twice";
    rte_mempool_free(pool_);
  }
  CheckedPool(const CheckedPool&) = delete;
  CheckedPool& operator=(const CheckedPool&) = delete;
  rte_mempool* get() { return pool_; }
  uint32_t in_use() { return total_ - rte_mempool_avail_count(pool_); }

 private:
  rte_mempool* pool_;
  uint32_t total_;
};

/// Stores the frames that the NIC sends.
class Recorder final : public device::FrameSink {
 public:
  void Deliver(std::span<const device::WireFrame> burst) override {
    for (const auto& f : burst)
      frames.emplace_back(reinterpret_cast<const char*>(f.data), f.length);
  }
  std::vector<std::string> frames;
};

struct QueuePair {
  QueuePair(rte_mempool* pool, uint32_t entries, bool scatter = false, uint64_t tx_offloads = 0,
            Addresses addresses = Addresses::kVirtual) {
    rx = RxCreate(nic.registers(), 7, 0, entries, pool, SOCKET_ID_ANY, addresses);
    tx = TxCreate(nic.registers(), 7, 0, entries, entries / 2, tx_offloads, SOCKET_ID_ANY,
                  addresses);
    EXPECT_NE(rx, nullptr);
    EXPECT_NE(tx, nullptr);
    bar::Bar registers = nic.registers();
    registers.Write32(regs::ipu::kMaxFrame, regs::ipu::kMaxFrameBytes);
    registers.Write32(regs::ipu::kPortControl,
                      regs::ipu::kPortReceive | regs::ipu::kPortPromiscuous);
    EXPECT_EQ(nic.Control([&] { return RxStart(*rx, scatter) + TxStart(*tx); }), 0);
  }
  ~QueuePair() {
    if (rx == nullptr) return;
    nic.Control([&] {
      TxDestroy(tx);
      RxDestroy(rx);
      return 0;
    });
  }
  /// Offers one frame to the NIC. If the NIC has no buffer for the frame, returns false without
  /// counting the frame.
  bool Offer(const std::string& bytes) {
    const device::WireFrame frame{reinterpret_cast<const uint8_t*>(bytes.data()),
                                  static_cast<uint32_t>(bytes.size())};
    return nic.device().Receive({&frame, 1}, true) == 1;
  }
  /// Lets the NIC process doorbells and send posted frames.
  void Step() {
    nic.Drain();
    nic.device().Transmit(sent, 4096);
  }

  SteppedNic nic;
  RxQueue* rx = nullptr;
  TxQueue* tx = nullptr;
  Recorder sent;
};

/// Returns a frame whose length and content depend on `number`.
inline std::string Numbered(uint32_t number, uint32_t min = 60, uint32_t spread = 900) {
  std::string frame(min + number * 37 % spread, '\0');
  for (uint32_t i = 14; i < frame.size(); ++i) frame[i] = static_cast<char>(number + i);
  return frame;
}

inline std::string BytesOf(const rte_mbuf* mbuf) {
  std::string bytes;
  for (; mbuf != nullptr; mbuf = mbuf->next) {
    bytes.append(rte_pktmbuf_mtod(mbuf, const char*), mbuf->data_len);
  }
  return bytes;
}

/// Returns an mbuf with these bytes, in segments of at most `room` bytes.
inline rte_mbuf* MbufOf(rte_mempool* pool, const std::string& bytes, uint32_t room = 2048) {
  rte_mbuf* const head = rte_pktmbuf_alloc(pool);
  rte_mbuf* last = head;
  for (uint32_t at = 0; at < bytes.size(); at += room) {
    if (at != 0) {
      last->next = rte_pktmbuf_alloc(pool);
      last = last->next;
      ++head->nb_segs;
    }
    last->data_len = static_cast<uint16_t>(std::min<size_t>(room, bytes.size() - at));
    std::memcpy(rte_pktmbuf_mtod(last, void*), bytes.data() + at, last->data_len);
  }
  head->pkt_len = static_cast<uint32_t>(bytes.size());
  return head;
}

}  // namespace sluice::net_ipu::test
