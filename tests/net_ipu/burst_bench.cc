// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the worker's cost without cross-core traffic: the device and the driver are stepped
// alternately in one thread. Under callgrind with --toggle-collect='Worker*' the bench counts the
// worker's instructions; alone it prints TSC cycles.
//
//   net_ipu_burst_bench [frame_size|imix|random] [burst] [packets] [huge|cold]
//
// `cold`: frames and descriptors are not in any cache when the worker reads them.
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../cold_caches.h"
#include "../eal_run.h"
#include "../frame_sizes.h"
#include "stepped_nic.h"

using namespace sluice;           // NOLINT
using namespace sluice::net_ipu;  // NOLINT

namespace {

uint64_t worker_cycles = 0;

}  // namespace

/// Receives up to `burst` frames, increments a byte of each, and sends them.
extern "C" __attribute__((noinline)) uint32_t WorkerEcho(RxQueue* rx, TxQueue* tx, uint32_t burst) {
  rte_mbuf* packets[64];
  const uint16_t received = RxBurstVector(rx, packets, static_cast<uint16_t>(burst));
  for (uint32_t i = 0; i < received; ++i) ++*rte_pktmbuf_mtod_offset(packets[i], uint8_t*, 42);
  return TxBurstSimple(tx, packets, received);
}

int main(int argc, char** argv) {
  const char* const sizes = argc > 1 ? argv[1] : "60";
  const uint32_t burst = argc > 2 ? std::atoi(argv[2]) : 32;
  const uint64_t packets = argc > 3 ? std::atoll(argv[3]) : 20'000'000;
  const std::string mode = argc > 4 ? argv[4] : "";
  const bool huge = mode == "huge";
  ColdCaches caches(mode == "cold");
  const EalRun eal(argv[0], {"--no-pci", "-l", "0", "-m", "64", "--log-level=error",
                             huge ? "--no-telemetry" : "--no-huge"});
  if (!eal.started()) return 1;
  rte_mempool* const pool = rte_pktmbuf_pool_create("bench", 8191, 256, 0, 2176, 0);
  if (pool == nullptr) return 1;

  net_ipu::test::SteppedNic nic;
  bar::Bar registers = nic.registers();
  RxQueue* const rx = RxCreate(registers, 0, 0, 1024, pool, 0);
  TxQueue* const tx =
      TxCreate(registers, 0, 0, 1024, 1024 - 64, RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE, 0);
  if (nic.Control([&] { return RxStart(*rx, false) + TxStart(*tx); }) != 0) return 1;
  registers.Write32(regs::ipu::kPortControl, regs::ipu::kPortReceive | regs::ipu::kPortPromiscuous);
  registers.Write32(regs::ipu::kMaxFrame, regs::ipu::kMaxFrameBytes);
  nic.Drain();

  std::vector<std::vector<uint8_t>> bytes;
  for (const uint32_t size : FrameSizes(sizes, burst)) {
    std::vector<uint8_t>& frame = bytes.emplace_back(size, 0);
    frame[12] = 0x08;
    frame[14] = 0x45;
    frame[16] = static_cast<uint8_t>((size - 14) >> 8);
    frame[17] = static_cast<uint8_t>(size - 14);
    frame[23] = 17;
  }
  std::vector<device::WireFrame> frames;
  for (const auto& frame : bytes) {
    frames.push_back({frame.data(), static_cast<uint32_t>(frame.size())});
  }
  struct Count final : device::FrameSink {
    void Deliver(std::span<const device::WireFrame> f) override { frames += f.size(); }
    uint64_t frames = 0;
  } count;
  uint64_t echoed = 0;
  uint64_t rounds = 0;
  const uint64_t begin = rte_rdtsc();
  for (; echoed < packets; ++rounds) {
    nic.device().Receive(frames, false);
    caches.Evict();
    const uint64_t start = rte_rdtsc();
    echoed += WorkerEcho(rx, tx, burst);
    worker_cycles += rte_rdtsc() - start;
    nic.Drain();
    nic.device().Transmit(count, 256);
  }
  const uint64_t all = rte_rdtsc() - begin;
  std::printf("frame %s burst %u: %lu packets, worker %.2f cycles, device %.2f cycles a packet\n",
              sizes, burst, echoed, static_cast<double>(worker_cycles) / echoed,
              static_cast<double>(all - worker_cycles) / echoed);
  return count.frames == echoed ? 0 : 1;
}
