// SPDX-License-Identifier: BSD-3-Clause
//
// Measures an engine with each kind of queue, with both ends in one thread, which excludes
// cross-core traffic. Under callgrind with --toggle-collect='*WorkerPoll*', it counts the worker's
// instructions; alone it prints its TSC cycles. The benchmarks have the command line
//
//   <interface> [frame_size] [burst] [packets] [pipes]
//
// where <interface> is packetized, streaming or bilateral. Streaming uses one burst per pipe.
#pragma once

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_ring.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "link_pair.h"
#include "nic/bilateral.h"
#include "nic/eth_port.h"
#include "nic/packetized.h"
#include "nic/streaming.h"
#include "packet/frame.h"
#include "packet/frame_length.h"
#include "swap/region.h"

namespace sluice::nic_test {

struct QueueBenchOptions {
  std::string_view iface;
  uint32_t size = 60, burst = 64;
  uint64_t packets = 5'000'000;
  uint32_t pipes = 8;

  static std::optional<QueueBenchOptions> Parse(int argc, char** argv) {
    QueueBenchOptions options;
    if (argc > 1) options.iface = argv[1];
    if (argc > 2) options.size = std::atoi(argv[2]);
    if (argc > 3) options.burst = std::atoi(argv[3]);
    if (argc > 4) options.packets = std::atoll(argv[4]);
    if (argc > 5) options.pipes = std::atoi(argv[5]);
    if (options.size < 60 || options.size > 1514 || options.burst < 1 || options.burst > 64 ||
        options.pipes < 1 || options.pipes > nic::kMaxSpansOfPoll) {
      return std::nullopt;
    }
    return options;
  }
};

/// A PipeSet for a StreamingQueue. All memory counts as received, and sent frames are discarded.
/// Copies can be built one after another; Flush removes them.
class MemoryPipes {
 public:
  static constexpr uint32_t kMaxFrameBytes = 9728;

  explicit MemoryPipes(std::vector<nic::Span>& arrived)
      : arrived_(&arrived), copies_(kCopiesBytes + packet::Frame::kSpareBytes) {}

  uint32_t Receive(std::span<nic::Span> spans, nic::QueueCounters&) {
    std::copy(arrived_->begin(), arrived_->end(), spans.begin());
    return static_cast<uint32_t>(arrived_->size());
  }
  nic::FrameTotals Send(uint32_t, const uint8_t*, uint32_t, uint32_t) { return {}; }
  void Release(uint32_t, uint32_t) {}
  nic::SendResult SendCopy(const uint8_t* frame, uint32_t length) {
    std::memcpy(spare(), frame, length);
    SendBuilt(length);
    return nic::SendResult::kSent;
  }
  uint8_t* spare() { return &copies_[used_]; }
  bool SendBuilt(uint32_t length) {
    used_ = (used_ + packet::FlitSpan(length)) % kCopiesBytes;
    return true;
  }
  nic::FrameTotals Flush() {
    used_ = 0;
    return {};
  }
  void Drain() {}
  bool LinkUp() const { return true; }
  void set_tap(nic::SpanTap) {}
  uint64_t waited_cycles() const { return 0; }

 private:
  static constexpr uint32_t kCopiesBytes = 64 * 1024;

  std::vector<nic::Span>* arrived_;
  std::vector<uint8_t> copies_;
  uint32_t used_ = 0;
};

/// The worker's code between two clock readings.
template <typename Queue, typename Engine>
[[gnu::noinline]] uint32_t WorkerPoll(Queue& queue, Engine& engine) {
  return queue.Poll(engine, 0);
}

/// Measures an engine. `frames()` returns the next frame, which has options.size bytes. The engine
/// must forward all frames.
template <typename Engine, typename Frames>
class QueueBench {
 public:
  QueueBench(const QueueBenchOptions& options, Engine& engine, Frames frames)
      : options_(options), engine_(engine), frames_(frames) {}

  /// Returns the exit code.
  int Run() {
    if (options_.iface == "packetized") return OnPackets();
    if (options_.iface == "streaming") return OnPipes();
    if (options_.iface == "bilateral") return OnLink();
    std::fprintf(stderr, "argument 1: must be packetized, streaming or bilateral\n");
    return 2;
  }

 private:
  /// Calls `arrive`, `poll` and `leave` in turn until all packets have been handled; only `poll` is
  /// timed.
  template <typename Arrive, typename Poll, typename Leave>
  int Measure(Arrive arrive, Poll poll, Leave leave) {
    uint64_t handled = 0, cycles = 0;
    while (handled < options_.packets) {
      arrive();
      const uint64_t begin = rte_rdtsc();
      const uint32_t frames = poll();
      cycles += rte_rdtsc() - begin;
      leave();
      if (frames == 0 && handled != 0) return 1;
      handled += frames;
    }
    std::printf("frame %u burst %u: %lu packets, worker %.2f cycles a packet\n", options_.size,
                options_.burst, handled, static_cast<double>(cycles) / handled);
    return 0;
  }

  int OnPackets() {
    const char* eal[] = {"bench", "--no-huge", "--no-shconf",       "--no-pci",    "--no-telemetry",
                         "-m",    "256",       "--log-level=error", "--lcores=0@0"};
    if (rte_eal_init(static_cast<int>(std::size(eal)), const_cast<char**>(eal)) < 0) return 1;
    rte_ring* receive = rte_ring_create("rx", 1024, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
    rte_ring* transmit = rte_ring_create("tx", 1024, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
    const int port = rte_eth_from_rings("ring", &receive, 1, &transmit, 1, 0);
    std::string error;
    const auto opened = nic::EthPort::Open(static_cast<uint16_t>(port), {}, &error);
    if (opened == nullptr) return 1;
    nic::PacketizedQueue queue(opened->id(), 0, options_.burst);
    std::vector<rte_mbuf*> mbufs(options_.burst);
    if (rte_pktmbuf_alloc_bulk(opened->pool(0), mbufs.data(), options_.burst) != 0) return 1;
    return Measure(
        [&] {
          for (rte_mbuf* const mbuf : mbufs) {
            const std::span<const uint8_t> frame = frames_();
            rte_pktmbuf_reset_headroom(mbuf);
            std::memcpy(rte_pktmbuf_mtod(mbuf, void*), frame.data(), frame.size());
            mbuf->data_len = static_cast<uint16_t>(frame.size());
            mbuf->pkt_len = mbuf->data_len;
            rte_ring_enqueue(receive, mbuf);
          }
        },
        [&] { return WorkerPoll(queue, engine_); },
        [&] {
          void* object = nullptr;
          while (rte_ring_dequeue(transmit, &object) == 0) {
          }
        });
  }

  int OnPipes() {
    const uint32_t flits = packet::FlitSpan(options_.size);
    std::vector<uint8_t> memory(uint64_t{flits} * options_.burst * options_.pipes + 128);
    uint8_t* const aligned = &memory[-reinterpret_cast<uintptr_t>(memory.data()) & 63];
    std::vector<nic::Span> arrived;
    for (uint32_t pipe = 0; pipe < options_.pipes; ++pipe) {
      arrived.push_back(
          {pipe, aligned + uint64_t{pipe} * flits * options_.burst, flits * options_.burst});
    }
    nic::StreamingQueue<MemoryPipes> queue{MemoryPipes(arrived)};
    return Measure(
        [&] {
          for (uint32_t i = 0; i < options_.burst * options_.pipes; ++i) {
            const std::span<const uint8_t> frame = frames_();
            std::memcpy(aligned + uint64_t{i} * flits, frame.data(), frame.size());
          }
        },
        [&] { return WorkerPoll(queue, engine_); }, [] {});
  }

  int OnLink() {
    swap::Geometry geometry;
    geometry.headroom_bytes = kHeadroomBytes;
    LinkPair link(geometry);
    nic::BilateralQueue<LinkPair> queue(link);
    link.answers = false;
    return Measure(
        [&] {
          for (uint32_t i = 0; i < options_.burst; ++i) link.Receive(frames_());
          link.nic().Serve();
          link.SkipToSend();
        },
        [&] { return WorkerPoll(queue, engine_); }, [&] { link.given_regions.clear(); });
  }

  /// Headroom for engines that prepend headers.
  static constexpr uint32_t kHeadroomBytes = 64;

  QueueBenchOptions options_;
  Engine& engine_;
  Frames frames_;
};

}  // namespace sluice::nic_test
