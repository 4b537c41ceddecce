// SPDX-License-Identifier: BSD-3-Clause
//
// The packetized interface: one descriptor and one buffer per packet, through any ethdev. It is the
// baseline of all comparisons. The application's worker builds one PacketizedQueue per receive
// queue; answers are sent on the transmit queue with the same number.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "nic/exception_path.h"
#include "nic/frame_queue.h"
#include "nic/mbuf_transmitter.h"
#include "nic/transmit.h"

namespace sluice::nic {

/// FrameQueue over one receive queue and one transmit queue of a port. Used by one worker.
class PacketizedQueue {
 public:
  static constexpr uint32_t kMaxBurst = 64;

  /// The port must be started and must have this queue in both directions. `burst` is clamped to 1
  /// … kMaxBurst. `pool` provides mbufs for frames that the engine sends by itself. If it is null,
  /// these frames are dropped.
  PacketizedQueue(uint16_t port, uint16_t queue, uint32_t burst = kMaxBurst,
                  ExceptionPath exception = {}, rte_mempool* pool = nullptr)
      : port_(port),
        queue_(queue),
        burst_(static_cast<uint16_t>(std::clamp(burst, 1u, kMaxBurst))),
        exception_(std::move(exception)),
        sender_(port, queue, pool) {}

  /// Receives one burst and answers it. Returns the number of frames received.
  template <packet::QueueEngine Engine>
  uint32_t Poll(Engine& engine, uint64_t now) {
    std::array<rte_mbuf*, kMaxBurst> mbufs;
    const uint32_t received = rte_eth_rx_burst(port_, queue_, mbufs.data(), burst_);
    if (received == 0) return 0;
    tx_bytes_ = 0;
    freed_count_ = 0;
    if constexpr (packet::Sender<Engine>) at_work_ = {mbufs.data(), 0, 0};
    Handled handled;
    if constexpr (packet::BurstEngine<Engine>) {
      handled = HandleBurst(mbufs.data(), received, engine, now);
    } else {
      handled = HandleFrames(mbufs.data(), received, engine, now);
    }
    QueueCounters::Add(counters_.rx_pkts, received);
    QueueCounters::Add(counters_.rx_bytes, handled.bytes);
    tx_bytes_ += handled.bytes;
    if constexpr (packet::Sender<Engine>) {
      FlushSent();
      Transmit(mbufs.data() + at_work_.left, handled.kept - at_work_.left);
      at_work_ = {};
    } else {
      Transmit(mbufs.data(), handled.kept);
    }
    QueueCounters::Add(counters_.tx_bytes, tx_bytes_);
    if (freed_count_ > 0) rte_pktmbuf_free_bulk(freed_.data(), freed_count_);
    exception_.Flush(counters_);
    return received;
  }

  packet::Outbox outbox() { return packet::Outbox::To(*this); }
  /// Called by the outbox. The copy is transmitted no later than in the next FlushSent.
  bool Send(const uint8_t* frame, uint32_t length) {
    QueueCounters::Add(counters_.sent_pkts, 1);
    if (at_work_.left < at_work_.settled) TransmitSettled();
    if (sender_.full()) FlushSent();
    if (!sender_.Add(frame, length)) {
      QueueCounters::Add(counters_.tx_full, 1);
      return false;
    }
    QueueCounters::Add(counters_.tx_pkts, 1);
    QueueCounters::Add(counters_.tx_bytes, length);
    return true;
  }
  template <FrameSource Source>
  uint32_t Emit(const Source& source, uint32_t count) {
    return counters_.AddEmitted(sender_.Emit(source, count));
  }
  bool CanEmit(const uint8_t* /*frame*/, uint32_t length) const { return sender_.CanEmit(length); }
  void FlushSent() {
    if (sender_.empty()) return;
    const FrameTotals unsent = sender_.Flush();
    QueueCounters::Add(counters_.tx_pkts, -unsent.pkts);
    QueueCounters::Add(counters_.tx_bytes, -unsent.bytes);
    QueueCounters::Add(counters_.tx_full, unsent.pkts);
  }

  /// Frees transmitted mbufs if the driver supports that.
  void Drain() { rte_eth_tx_done_cleanup(port_, queue_, 0); }
  bool LinkUp() const {
    rte_eth_link link;
    return rte_eth_link_get_nowait(port_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
  }
  uint64_t waited_cycles() const { return sender_.waited_cycles(); }
  const QueueCounters& counters() const { return counters_; }
  QueueCounters& counters() { return counters_; }

 private:
  /// Prefetch distance in frames, enough to hide a cache miss.
  static constexpr uint32_t kPrefetchAhead = 16;
  /// Distance in frames at which Prepare is called. By then, the frame itself has been prefetched.
  static constexpr uint32_t kPrepareAhead = 8;

  /// The current burst of an engine that sends frames by itself. mbufs[0 … left) have been
  /// transmitted. mbufs[left … settled) have a verdict and will be transmitted before the next
  /// frame that the engine sends; null entries are skipped. All frames that the engine sent earlier
  /// precede mbufs[left].
  struct AtWork {
    rte_mbuf** mbufs = nullptr;
    uint32_t left = 0;
    uint32_t settled = 0;
  };

  struct Handled {
    uint32_t kept = 0;   ///< mbufs[0 … kept) are to be transmitted.
    uint64_t bytes = 0;  ///< Bytes received.
  };

  /// Processes the burst frame by frame. Totals are kept per burst; only frames that are not
  /// forwarded unchanged need separate accounting.
  template <packet::FrameEngine Engine>
  Handled HandleFrames(rte_mbuf** mbufs, uint32_t received, Engine& engine, uint64_t now) {
    Handled handled;
    for (uint32_t i = 0; i < std::min(received, kPrefetchAhead); ++i) Prefetch(mbufs[i]);
    for (uint32_t i = 0; i < std::min(received, kPrepareAhead); ++i) Prepare(engine, mbufs[i]);
    for (uint32_t i = 0; i < received; ++i) {
      if (i + kPrefetchAhead < received) Prefetch(mbufs[i + kPrefetchAhead]);
      if (i + kPrepareAhead < received) Prepare(engine, mbufs[i + kPrepareAhead]);
      rte_mbuf* const mbuf = mbufs[i];
      handled.bytes += mbuf->pkt_len;
      if (mbuf->data_len != mbuf->pkt_len && !Linearize(mbuf)) [[unlikely]]
        continue;
      packet::Frame frame = View(mbuf);
      const uint8_t* const data = frame.data;
      const uint32_t length = frame.length;
      const packet::Verdict verdict = engine.Process(frame, now);
      if (Leaves(mbuf, data, length, frame, verdict)) [[likely]]
        mbufs[handled.kept++] = mbuf;
      if constexpr (packet::Sender<Engine>) at_work_.settled = handled.kept;
    }
    return handled;
  }

  /// Processes the burst in one call. For a frame that the engine does not read, only the mbuf is
  /// loaded.
  template <packet::BurstEngine Engine>
  Handled HandleBurst(rte_mbuf** mbufs, uint32_t received, Engine& engine, uint64_t now) {
    Handled handled;
    packet::BurstTotals totals;
    for (uint32_t i = 0; i < received; ++i) {
      rte_mbuf* const mbuf = mbufs[i];
      handled.bytes += mbuf->pkt_len;
      if (mbuf->data_len != mbuf->pkt_len && !Linearize(mbuf)) [[unlikely]]
        continue;
      totals.Add(mbuf->pkt_len);
      mbufs[handled.kept++] = mbuf;
    }
    bool all_leave = true;
    packet::FoundBurst burst(
        handled.kept, totals, [&](uint32_t number) { return View(mbufs[number]); },
        [&](uint32_t number, const packet::Frame& frame, packet::Verdict verdict) {
          rte_mbuf* const mbuf = mbufs[number];
          const auto* const data = rte_pktmbuf_mtod(mbuf, const uint8_t*);
          if constexpr (packet::Sender<Engine>) at_work_.settled = number + 1;
          if (Leaves(mbuf, data, mbuf->data_len, frame, verdict)) return;
          mbufs[number] = nullptr;
          all_leave = false;
        });
    engine.ProcessBurst(burst, now);
    if (!all_leave) {
      rte_mbuf** const end = std::remove(mbufs + at_work_.left, mbufs + handled.kept, nullptr);
      handled.kept = static_cast<uint32_t>(end - mbufs);
    }
    return handled;
  }

  /// Applies the verdict for a frame that arrived as `length` bytes at `data`. Returns whether to
  /// transmit the frame.
  bool Leaves(rte_mbuf* mbuf, const uint8_t* data, uint32_t length, const packet::Frame& frame,
              packet::Verdict verdict) {
    if (verdict.action != packet::Action::kForward) [[unlikely]] {
      End(mbuf, frame, verdict);
      return false;
    }
    if (frame.data == data && frame.length == length) [[likely]]
      return true;
    return Resize(mbuf, frame, data);
  }

  /// Prefetches for writing: engines answer in place, and a line that was prefetched for reading
  /// would have to be fetched again.
  static void Prefetch(rte_mbuf* mbuf) { __builtin_prefetch(rte_pktmbuf_mtod(mbuf, void*), 1); }

  template <packet::FrameEngine Engine>
  static void Prepare(Engine& engine, rte_mbuf* mbuf) {
    if constexpr (packet::PreparingEngine<Engine>) {
      // Engines with Prepare also prepend headers, so the line before the frame is needed, too.
      __builtin_prefetch(rte_pktmbuf_mtod(mbuf, uint8_t*) - 1, 1);
      engine.Prepare(rte_pktmbuf_mtod(mbuf, const uint8_t*), mbuf->data_len);
    }
  }

  static packet::Frame View(rte_mbuf* mbuf) {
    return {rte_pktmbuf_mtod(mbuf, uint8_t*), mbuf->data_len, mbuf->data_off,
            static_cast<uint32_t>(mbuf->buf_len - mbuf->data_off - mbuf->data_len)};
  }

  void Transmit(rte_mbuf** mbufs, uint32_t count) {
    const uint32_t sent =
        count == 0 ? 0 : TransmitBurst(port_, queue_, mbufs, count, sender_.patience());
    if (sent < count) [[unlikely]] {
      for (uint32_t i = sent; i < count; ++i) tx_bytes_ -= mbufs[i]->pkt_len;
      rte_pktmbuf_free_bulk(mbufs + sent, count - sent);
      QueueCounters::Add(counters_.tx_full, count - sent);
    }
    QueueCounters::Add(counters_.tx_pkts, sent);
  }
  [[gnu::noinline]] void TransmitSettled() {
    FlushSent();
    rte_mbuf** const begin = at_work_.mbufs + at_work_.left;
    rte_mbuf** const end = std::remove(begin, at_work_.mbufs + at_work_.settled, nullptr);
    Transmit(begin, static_cast<uint32_t>(end - begin));
    at_work_.left = at_work_.settled;
  }

  void Free(rte_mbuf* mbuf) {
    tx_bytes_ -= mbuf->pkt_len;
    freed_[freed_count_++] = mbuf;
  }

  /// Carries out a verdict other than kForward.
  [[gnu::noinline]] void End(rte_mbuf* mbuf, packet::Frame frame, packet::Verdict verdict) {
    if (verdict.action == packet::Action::kConsume) {
      QueueCounters::Add(counters_.consumed_pkts, 1);
    } else if (verdict.action == packet::Action::kPass) {
      exception_.Pass(frame.data, frame.length, counters_);
    } else {
      const uint32_t reason = std::min<uint32_t>(verdict.reason, QueueCounters::kMaxReasons - 1);
      QueueCounters::Add(counters_.engine_drops[reason], 1);
    }
    Free(mbuf);
  }

  /// Copies a frame that has several segments into the first one, because an engine may read any
  /// byte. Returns false if it does not fit; the frame is then dropped.
  [[gnu::noinline]] bool Linearize(rte_mbuf* mbuf) {
    if (rte_pktmbuf_linearize(mbuf) == 0) return true;
    QueueCounters::Add(counters_.rx_scattered, 1);
    Free(mbuf);
    return false;
  }

  /// Applies an answer with a different start or length, in the mbuf's room or in the engine's
  /// buffer. Returns false if it does not fit into the mbuf; the frame is then dropped.
  [[gnu::noinline]] bool Resize(rte_mbuf* mbuf, packet::Frame frame, const uint8_t* data) {
    auto* const buffer = static_cast<uint8_t*>(mbuf->buf_addr);
    const bool own = frame.data < buffer || frame.data >= buffer + mbuf->buf_len;
    if (frame.length > mbuf->buf_len - (own ? 0 : frame.data - buffer)) {
      QueueCounters::Add(counters_.tx_unframeable, 1);
      Free(mbuf);
      return false;
    }
    if (own) frame.data = static_cast<uint8_t*>(std::memcpy(buffer, frame.data, frame.length));
    tx_bytes_ += static_cast<uint64_t>(frame.length) - mbuf->pkt_len;
    mbuf->data_off = static_cast<uint16_t>(mbuf->data_off + (frame.data - data));
    mbuf->data_len = static_cast<uint16_t>(frame.length);
    mbuf->pkt_len = frame.length;
    return true;
  }

  uint16_t port_;
  uint16_t queue_;
  uint16_t burst_;
  ExceptionPath exception_;
  QueueCounters counters_;
  AtWork at_work_;
  uint64_t tx_bytes_ = 0;  ///< Bytes sent minus bytes received in this burst, modulo 2^64.
  uint32_t freed_count_ = 0;
  std::array<rte_mbuf*, kMaxBurst> freed_;
  MbufTransmitter sender_;  ///< Sends the engine's own frames. Its patience is the queue's.
};

static_assert(FrameQueue<PacketizedQueue>);

}  // namespace sluice::nic
