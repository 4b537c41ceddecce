// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/capture.h"

#include <fcntl.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_memcpy.h>
#include <rte_pcapng.h>
#include <rte_ring.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstring>

#include "dpdk/release.h"
#include "packet/frame_length.h"
#include "runtime/log.h"

namespace sluice::runtime {

namespace {

constexpr uint32_t kSnapBytes = 1536;
constexpr uint32_t kRingSlots = 4096;
constexpr uint32_t kBurst = 32;
constexpr auto kIdle = std::chrono::milliseconds(1);

}  // namespace

std::unique_ptr<Capture> Capture::Open(const std::string& path, uint64_t max_pkts,
                                       std::string* error) {
  std::unique_ptr<Capture> capture(new Capture);
  capture->max_pkts_ = max_pkts;
  capture->file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (capture->file_ < 0) {
    *error = "--capture: cannot create " + path + ": " + std::strerror(errno);
    return nullptr;
  }
  capture->pcapng_ =
      rte_pcapng_fdopen(capture->file_, nullptr, nullptr, "sluice " SLUICE_VERSION, nullptr);
  const int why = errno;
  capture->pool_ = rte_pktmbuf_pool_create("sluice_capture", kRingSlots * 2 - 1, 0, 0,
                                           static_cast<uint16_t>(rte_pcapng_mbuf_size(kSnapBytes)),
                                           SOCKET_ID_ANY);
  capture->ring_ = rte_ring_create("sluice_capture", kRingSlots, SOCKET_ID_ANY, RING_F_SC_DEQ);
  if (capture->pcapng_ == nullptr && why != ENOMEM) {
    *error = "--capture: cannot write " + path + ": " + std::strerror(why);
    return nullptr;
  }
  if (capture->pcapng_ == nullptr || capture->pool_ == nullptr || capture->ring_ == nullptr) {
    *error = std::string("--capture: out of memory: ") + rte_strerror(rte_errno);
    return nullptr;
  }
  capture->writer_ = std::thread([raw = capture.get()] { raw->Write(); });
  return capture;
}

Capture::~Capture() {
  Close();
  rte_ring_free(ring_);
  rte_mempool_free(pool_);
}

std::string Capture::Close() {
  for (const Callback& callback : callbacks_) {
    if (callback.receive != nullptr) {
      rte_eth_remove_rx_callback(callback.port, callback.queue, callback.receive);
    }
    if (callback.transmit != nullptr) {
      rte_eth_remove_tx_callback(callback.port, callback.queue, callback.transmit);
    }
  }
  callbacks_.clear();
  stop_.store(true, std::memory_order_release);
  if (writer_.joinable()) writer_.join();
  if (pcapng_ != nullptr) {
    rte_pcapng_close(pcapng_);  // Also closes `file_`.
  } else if (file_ >= 0) {
    close(file_);
  }
  pcapng_ = nullptr;
  file_ = -1;
  if (const uint64_t lost = lost_.load(std::memory_order_relaxed); lost > 0) {
    SLUICE_LOG(capture, WARNING,
               "%" PRIu64 " packets are missing in the capture, because its thread was too slow",
               lost);
    lost_.store(0, std::memory_order_relaxed);
  }
  return failure_ == 0 ? "" : std::string("could not be written: ") + std::strerror(failure_);
}

Capture::Point& Capture::AddPoint(uint16_t port, uint32_t queue) {
  const bool known =
      std::ranges::any_of(points_, [&](const Point& point) { return point.port == port; });
  if (!known) {
    const std::scoped_lock lock(writing_);
    if (!dpdk::AddToCapture(pcapng_, port)) {
      SLUICE_LOG(capture, ERR, "--capture: cannot add port %u to the file", port);
    }
  }
  return points_.emplace_back(Point{this, port, queue});
}

void Capture::Attach(uint16_t port, uint16_t queue) {
  Point& point = AddPoint(port, queue);
  callbacks_.push_back({port, queue, rte_eth_add_rx_callback(port, queue, OnReceive, &point),
                        rte_eth_add_tx_callback(port, queue, OnTransmit, &point)});
}

nic::SpanTap Capture::TapSpans(uint16_t port, uint32_t queue) {
  return {OnSpan, &AddPoint(port, queue)};
}

nic::FrameTap Capture::TapFrames(uint16_t port, uint32_t queue) {
  return {OnFrame, &AddPoint(port, queue)};
}

uint16_t Capture::OnReceive(uint16_t /*port*/, uint16_t /*queue*/, rte_mbuf** mbufs, uint16_t count,
                            uint16_t /*max*/, void* point) {
  const Point& at = *static_cast<const Point*>(point);
  for (uint16_t i = 0; i < count && at.capture->Wanted(); ++i) {
    at.capture->Copy(at, mbufs[i], true);
  }
  return count;
}

uint16_t Capture::OnTransmit(uint16_t /*port*/, uint16_t /*queue*/, rte_mbuf** mbufs,
                             uint16_t count, void* point) {
  const Point& at = *static_cast<const Point*>(point);
  for (uint16_t i = 0; i < count && at.capture->Wanted(); ++i) {
    at.capture->Copy(at, mbufs[i], false);
  }
  return count;
}

void Capture::OnSpan(void* point, nic::TapDirection direction, const uint8_t* data,
                     uint32_t bytes) {
  const Point& at = *static_cast<const Point*>(point);
  Capture& self = *at.capture;
  for (uint32_t offset = 0; offset < bytes && self.Wanted();) {
    const uint32_t length = packet::FrameLength(data + offset);
    const uint32_t present = std::min(length, bytes - offset);
    if (present > 0) self.CopyBytes(at, data + offset, present, direction);
    offset += packet::FlitSpan(std::max(length, 1u));
  }
}

void Capture::OnFrame(void* point, nic::TapDirection direction, const uint8_t* frame,
                      uint32_t length) {
  const Point& at = *static_cast<const Point*>(point);
  if (at.capture->Wanted()) at.capture->CopyBytes(at, frame, length, direction);
}

void Capture::CopyBytes(const Point& point, const uint8_t* frame, uint32_t length,
                        nic::TapDirection direction) {
  rte_mbuf* const mbuf = rte_pktmbuf_alloc(pool_);
  if (mbuf == nullptr) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const uint32_t present = std::min(length, kSnapBytes);
  rte_memcpy(rte_pktmbuf_append(mbuf, static_cast<uint16_t>(present)), frame, present);
  Copy(point, mbuf, direction == nic::TapDirection::kReceived);
  rte_pktmbuf_free(mbuf);
}

bool Capture::Wanted() {
  return max_pkts_ == 0 || taken_.load(std::memory_order_relaxed) < max_pkts_;
}

void Capture::Copy(const Point& point, const rte_mbuf* mbuf, bool received) {
  if (taken_.fetch_add(1, std::memory_order_relaxed) >= max_pkts_ && max_pkts_ != 0) return;
  rte_mbuf* const copy =
      dpdk::CopyForCapture(point.port, point.queue, mbuf, pool_, kSnapBytes,
                           received ? RTE_PCAPNG_DIRECTION_IN : RTE_PCAPNG_DIRECTION_OUT);
  if (copy != nullptr && rte_ring_enqueue(ring_, copy) == 0) return;
  rte_pktmbuf_free(copy);
  lost_.fetch_add(1, std::memory_order_relaxed);
}

void Capture::WriteBlocks(std::span<rte_mbuf*> blocks) {
  ssize_t bytes = 0;
  for (const rte_mbuf* const block : blocks) bytes += block->pkt_len;
  const std::scoped_lock lock(writing_);
  errno = 0;
  const ssize_t written =
      rte_pcapng_write_packets(pcapng_, blocks.data(), static_cast<uint16_t>(blocks.size()));
  // A partial write ends the capture, because readers cannot find the blocks after it.
  if (written != bytes) failure_ = errno != 0 ? errno : written < 0 ? rte_errno : ENOSPC;
}

void Capture::Write() {
  std::array<rte_mbuf*, kBurst> mbufs;
  for (;;) {
    const bool last = stop_.load(std::memory_order_acquire);
    const uint32_t count =
        rte_ring_dequeue_burst(ring_, reinterpret_cast<void**>(mbufs.data()), kBurst, nullptr);
    if (count > 0) {
      if (failure_ == 0) WriteBlocks({mbufs.data(), count});
      rte_pktmbuf_free_bulk(mbufs.data(), count);
    } else if (last) {
      return;
    } else {
      std::this_thread::sleep_for(kIdle);
    }
  }
}

}  // namespace sluice::runtime
