// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-telemetry's worker behind each kind of queue, both ends in one thread: cost without
// cross-core traffic. Under callgrind with --toggle-collect='*WorkerPoll*' it counts the worker's
// instructions; alone it prints TSC cycles.
//
//   telemetry_queue_bench packetized|streaming|bilateral [frame_size] [burst] [packets] [pipes]
//
// Flows by Zipf's law, p = 0.01, top-k 100, one key. Streaming: a burst for each pipe.
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
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../nic/link_pair.h"
#include "engine/telemetry/meter.h"
#include "engine/workload/popularity.h"
#include "nic/bilateral.h"
#include "nic/eth_port.h"
#include "nic/packetized.h"
#include "nic/streaming.h"
#include "packet/frame_length.h"
#include "traffic.h"
#include "worker.h"

using namespace sluice;  // NOLINT

namespace {

struct Options {
  uint32_t size = 60, burst = 64;
  uint64_t packets = 5'000'000;
  uint32_t pipes = 8;
};

/// A frame of a flow that Zipf's law chooses, over and over.
class Frames {
 public:
  explicit Frames(uint32_t size) : frame_(size) {}
  std::span<const uint8_t> Next() {
    const auto flow = static_cast<uint32_t>(popularity_.Draw(random_));
    const auto head = engine::telemetry::test::FrameOf(flow);
    std::copy(head.begin(), head.end(), frame_.begin());
    packet::StoreBe16(&frame_[16], static_cast<uint16_t>(frame_.size() - 14));
    return frame_;
  }

 private:
  const engine::workload::Popularity popularity_{200'000, 1};
  engine::workload::Random random_{1};
  std::vector<uint8_t> frame_;
};

/// PipeSet of a StreamingQueue: what lies in memory has arrived; what is sent is gone.
class MemoryPipes {
 public:
  static constexpr uint32_t kMaxFrameBytes = 9728;

  explicit MemoryPipes(std::vector<nic::Span>& arrived) : arrived_(&arrived) {}

  uint32_t Receive(std::span<nic::Span> spans, nic::QueueCounters&) {
    std::copy(arrived_->begin(), arrived_->end(), spans.begin());
    return static_cast<uint32_t>(arrived_->size());
  }
  nic::FrameTotals Send(uint32_t, const uint8_t*, uint32_t, uint32_t) { return {}; }
  void Release(uint32_t, uint32_t) {}
  nic::SendResult SendCopy(const uint8_t*, uint32_t) { return nic::SendResult::kSent; }
  uint8_t* spare() { return nullptr; }
  bool SendBuilt(uint32_t) { return false; }
  nic::FrameTotals Flush() { return {}; }
  void Drain() {}
  bool LinkUp() const { return true; }
  void set_tap(nic::SpanTap) {}
  uint64_t waited_cycles() const { return 0; }

 private:
  std::vector<nic::Span>* arrived_;
};

/// Calls `arrive`, `poll` and `leave` in turn until `packets` were handled; only `poll` is timed.
template <typename Arrive, typename Poll, typename Leave>
int Measure(const Options& options, Arrive arrive, Poll poll, Leave leave) {
  uint64_t handled = 0, cycles = 0;
  while (handled < options.packets) {
    arrive();
    const uint64_t begin = rte_rdtsc();
    const uint32_t frames = poll();
    cycles += rte_rdtsc() - begin;
    leave();
    if (frames == 0 && handled != 0) return 1;
    handled += frames;
  }
  std::printf("frame %u burst %u: %lu packets, worker %.2f cycles a packet\n", options.size,
              options.burst, handled, static_cast<double>(cycles) / handled);
  return 0;
}

}  // namespace

/// What a worker does between two looks at the clock.
template <typename Queue>
__attribute__((noinline)) uint32_t WorkerPoll(Queue& queue, telemetry::Worker& worker) {
  return queue.Poll(worker, 0);
}

namespace {

int OnPackets(const Options& options, telemetry::Worker& worker) {
  const char* eal[] = {"bench", "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry",
                       "-m", "256", "--log-level=error", "--lcores=0@0"};
  if (rte_eal_init(static_cast<int>(std::size(eal)), const_cast<char**>(eal)) < 0) return 1;
  rte_ring* receive = rte_ring_create("rx", 1024, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
  rte_ring* transmit = rte_ring_create("tx", 1024, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
  const int port = rte_eth_from_rings("ring", &receive, 1, &transmit, 1, 0);
  std::string error;
  const auto opened = nic::EthPort::Open(static_cast<uint16_t>(port), {}, &error);
  if (opened == nullptr) return 1;
  nic::PacketizedQueue queue(opened->id(), 0, options.burst);
  Frames frames(options.size);
  std::vector<rte_mbuf*> mbufs(options.burst);
  if (rte_pktmbuf_alloc_bulk(opened->pool(0), mbufs.data(), options.burst) != 0) return 1;
  return Measure(
      options,
      [&] {
        for (rte_mbuf* const mbuf : mbufs) {
          const auto frame = frames.Next();
          std::memcpy(rte_pktmbuf_mtod(mbuf, void*), frame.data(), frame.size());
          mbuf->data_len = static_cast<uint16_t>(frame.size());
          mbuf->pkt_len = mbuf->data_len;
          rte_ring_enqueue(receive, mbuf);
        }
      },
      [&] { return WorkerPoll(queue, worker); },
      [&] {
        void* object = nullptr;
        while (rte_ring_dequeue(transmit, &object) == 0) {
        }
      });
}

int OnPipes(const Options& options, telemetry::Worker& worker) {
  const uint32_t flits = packet::FlitSpan(options.size);
  std::vector<uint8_t> memory(uint64_t{flits} * options.burst * options.pipes + 128);
  uint8_t* const aligned = &memory[-reinterpret_cast<uintptr_t>(memory.data()) & 63];
  std::vector<nic::Span> arrived;
  for (uint32_t pipe = 0; pipe < options.pipes; ++pipe) {
    arrived.push_back({pipe, aligned + uint64_t{pipe} * flits * options.burst,
                       flits * options.burst});
  }
  nic::StreamingQueue<MemoryPipes> queue{MemoryPipes(arrived)};
  Frames frames(options.size);
  return Measure(
      options,
      [&] {
        for (uint32_t i = 0; i < options.burst * options.pipes; ++i) {
          const auto frame = frames.Next();
          std::memcpy(aligned + uint64_t{i} * flits, frame.data(), frame.size());
        }
      },
      [&] { return WorkerPoll(queue, worker); }, [] {});
}

int OnLink(const Options& options, telemetry::Worker& worker) {
  nic_test::LinkPair link;
  nic::BilateralQueue<nic_test::LinkPair> queue(link);
  link.answers = false;
  Frames frames(options.size);
  return Measure(
      options,
      [&] {
        for (uint32_t i = 0; i < options.burst; ++i) link.Receive(frames.Next());
        link.nic().Serve();
        link.SkipToSend();
      },
      [&] { return WorkerPoll(queue, worker); }, [&] { link.given.clear(); });
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const std::string_view iface = argc > 1 ? argv[1] : "";
  if (argc > 2) options.size = std::atoi(argv[2]);
  if (argc > 3) options.burst = std::atoi(argv[3]);
  if (argc > 4) options.packets = std::atoll(argv[4]);
  if (argc > 5) options.pipes = std::atoi(argv[5]);
  if (options.size < 60 || options.size > 1514 || options.burst < 1 || options.burst > 64 ||
      options.pipes < 1 || options.pipes > nic::kMaxSpansOfPoll) {
    return 2;
  }
  engine::telemetry::Setup setup;
  setup.pace = engine::telemetry::Pace::kFixed;
  engine::telemetry::Meter meter(setup, 0, 1'000'000'000, 0);
  telemetry::Worker worker(meter);
  if (iface == "packetized") return OnPackets(options, worker);
  if (iface == "streaming") return OnPipes(options, worker);
  if (iface == "bilateral") return OnLink(options, worker);
  std::fprintf(stderr, "usage: %s packetized|streaming|bilateral [frame_size] [burst] [packets] "
               "[pipes]\n", argv[0]);
  return 2;
}
