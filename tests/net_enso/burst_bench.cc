// SPDX-License-Identifier: BSD-3-Clause
//
// Measures what the streaming interface over the Ensō model costs a worker, without cross-core
// traffic: the device and the worker are stepped alternately in one thread. Under callgrind with
// --toggle-collect='Worker*' the bench counts the worker's instructions; alone it prints TSC
// cycles.
//
//   net_enso_burst_bench [frame_size|imix|random] [burst] [packets] [pipes] [grow|copy] [cold]
//
// `grow`: each frame gets 20 bytes more, and is therefore sent as a copy. `copy`: sends an
// unchanged copy. `cold`: frames and notifications are not in any cache when the worker reads them.
#include <rte_cycles.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../cold_caches.h"
#include "../eal_run.h"
#include "../frame_sizes.h"
#include "device/enso/enso_nic.h"
#include "engine/echo/echo.h"
#include "net_enso/enso_port.h"
#include "nic/enso_pipes.h"
#include "nic/streaming.h"
#include "packet/bytes.h"
#include "packet/ethernet.h"
#include "packet/frame.h"
#include "stepped_nic.h"

using namespace sluice;  // NOLINT

namespace {

using EchoQueue = nic::StreamingQueue<nic::EnsoPipes>;

/// Prepends an IPv4 header to each packet, as a balancer does.
class Growing final : public packet::Engine {
 public:
  packet::Verdict Process(packet::Frame& frame, uint64_t /*now*/) {
    uint8_t* const start = frame.spare != nullptr ? frame.spare : room_.data();
    const uint32_t total = frame.length - packet::kEthernetHeaderBytes;
    std::memcpy(start, frame.data, kGrownHeaderBytes);
    std::memcpy(start + kGrownHeaderBytes, frame.data + packet::kEthernetHeaderBytes, total);
    packet::StoreBe16(start + 16, static_cast<uint16_t>(total + packet::kIpv4MinHeaderBytes));
    frame.data = start;
    frame.length = kGrownHeaderBytes + total;
    return packet::kForward;
  }

 private:
  static constexpr uint32_t kGrownHeaderBytes =
      packet::kEthernetHeaderBytes + packet::kIpv4MinHeaderBytes;
  std::array<uint8_t, packet::Frame::kSpareBytes> room_{};
};

/// Sends a copy of each packet, as an application does that stores packets and sends them out of
/// order.
class Copying final : public packet::Engine {
 public:
  packet::Verdict Process(packet::Frame& frame, uint64_t /*now*/) {
    uint8_t* const start = frame.spare != nullptr ? frame.spare : room_.data();
    std::memcpy(start, frame.data, frame.length);
    ++start[kCountedByte];
    frame.data = start;
    return packet::kForward;
  }

 private:
  static constexpr uint32_t kCountedByte = 42;
  std::array<uint8_t, packet::Frame::kSpareBytes> room_{};
};

using net_enso::SteppedBackend;
using net_enso::SteppedNic;

constexpr char kName[] = "stepped";

/// Returns UDP/IPv4 frames of the given sizes. The destination ports spread them over the pipes.
std::vector<std::vector<uint8_t>> MakeFrames(const std::vector<uint32_t>& sizes) {
  std::vector<std::vector<uint8_t>> frames(sizes.size());
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    const uint32_t size = sizes[i];
    frames[i].resize(size);
    frames[i][12] = 0x08;
    frames[i][14] = 0x45;
    frames[i][16] = static_cast<uint8_t>((size - 14) >> 8);
    frames[i][17] = static_cast<uint8_t>(size - 14);
    frames[i][23] = 17;
    frames[i][37] = static_cast<uint8_t>(i);
  }
  return frames;
}

/// Returns a ring size N, in notification slots, that exceeds the number of rx_head stores. Exits
/// if N would exceed 2^20. The driver reads a register after every N head stores, and this program
/// does not answer that read.
uint32_t RingEntries(uint64_t head_stores) {
  constexpr uint64_t kMaxEntries = 1 << 20;
  const uint64_t entries = std::bit_ceil(head_stores + head_stores / 4);
  if (entries > kMaxEntries) {
    std::fprintf(stderr, "too many packets for this burst\n");
    std::exit(2);
  }
  return static_cast<uint32_t>(std::max<uint64_t>(entries, regs::enso::kDefaultNbEntries));
}

}  // namespace

/// Receives arrived frames, increments a byte of each, and sends them in place.
extern "C" __attribute__((noinline)) uint32_t WorkerEcho(EchoQueue* queue,
                                                         engine::IncrementEcho* engine) {
  return queue->Poll(*engine, 0);
}

/// Receives arrived frames, and sends a longer copy of each.
extern "C" __attribute__((noinline)) uint32_t WorkerGrow(EchoQueue* queue, Growing* engine) {
  return queue->Poll(*engine, 0);
}

/// Receives arrived frames, and sends an unchanged copy of each.
extern "C" __attribute__((noinline)) uint32_t WorkerCopy(EchoQueue* queue, Copying* engine) {
  return queue->Poll(*engine, 0);
}

int main(int argc, char** argv) {
  const char* const sizes = argc > 1 ? argv[1] : "60";
  const uint32_t burst = argc > 2 ? std::atoi(argv[2]) : 64;
  const uint64_t packets = argc > 3 ? std::atoll(argv[3]) : 10'000'000;
  const uint32_t pipes = argc > 4 ? std::atoi(argv[4]) : 1;
  const std::vector<std::string> modes(argv + std::min(argc, 5), argv + argc);
  const auto is = [&](const char* mode) {
    return std::find(modes.begin(), modes.end(), mode) != modes.end();
  };
  const bool grow = is("grow"), copy = is("copy");
  ColdCaches caches(is("cold"));
  const EalRun eal(argv[0], {"--no-pci", "-l", "0", "--no-huge", "-m", "64", "--no-telemetry",
                             "--log-level=error"});
  if (!eal.started()) return 1;

  const net_enso::Geometry geometry{regs::enso::kDefaultPipeFlits,
                                    RingEntries(packets / burst * pipes), false};
  SteppedNic nic(geometry);
  rte_device device{};
  device.name = kName;
  uint16_t port = 0;
  if (net_enso::CreatePort(&device, kName, std::make_unique<SteppedBackend>(nic), geometry, 1) !=
          0 ||
      rte_eth_dev_get_port_by_name(kName, &port) != 0) {
    return 1;
  }
  std::string error;
  auto opened = nic.Control([&] { return nic::EnsoPipes::Open(port, pipes, {}, &error); });
  if (!opened) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  auto queue = std::make_unique<EchoQueue>(*std::move(opened));
  engine::IncrementEcho echo;
  Growing growing;
  Copying copying;

  const auto bytes = MakeFrames(FrameSizes(sizes, burst));
  std::vector<device::WireFrame> frames;
  for (const auto& frame : bytes)
    frames.push_back({frame.data(), static_cast<uint32_t>(frame.size())});
  // The NIC always holds `burst` frames. It notifies when a pipe's rx_head is stored, which Poll
  // does once the transmission of the previous batch is complete. Therefore, every second poll
  // finds the whole burst; the polls in between are also counted.
  constexpr uint32_t kMaxIdlePolls = 16;
  uint64_t echoed = 0;
  uint64_t worker_cycles = 0;
  const uint64_t begin = rte_rdtsc();
  nic.device().Receive(frames, false);
  for (uint32_t idle = 0; echoed < packets && idle < kMaxIdlePolls; ++idle) {
    caches.Evict();
    const uint64_t start = rte_rdtsc();
    const uint32_t polled = grow   ? WorkerGrow(queue.get(), &growing)
                            : copy ? WorkerCopy(queue.get(), &copying)
                                   : WorkerEcho(queue.get(), &echo);
    worker_cycles += rte_rdtsc() - start;
    nic.Step();
    if (polled == 0) continue;
    idle = 0;
    echoed += polled;
    nic.device().Receive(std::span(frames).first(polled), false);
  }
  const uint64_t all = rte_rdtsc() - begin;
  std::printf(
      "frame %s burst %u pipes %u: %lu packets, worker %.2f cycles, device %.2f cycles a "
      "packet\n",
      sizes, burst, pipes, echoed, static_cast<double>(worker_cycles) / echoed,
      static_cast<double>(all - worker_cycles) / echoed);
  const bool whole = echoed >= packets && nic.transmitted() == echoed;
  nic.Control([&] {
    queue.reset();
    return rte_eth_dev_close(port);
  });
  return whole ? 0 : 1;
}
