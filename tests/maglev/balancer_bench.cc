// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the cost per packet of the complete engine without an interface: parsing, VIP and
// connection lookup, and encapsulation or rewriting, for bursts of 60-byte UDP frames in memory.
// Run it under valgrind --tool=callgrind --toggle-collect=WorkerBursts to count instructions.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/maglev/balancer.h"
#include "maglev_frames.h"
#include "packet/burst.h"

namespace sluice::engine::maglev {
namespace {

constexpr uint32_t kRoom = 128;  // Slot size: headroom and frame.
constexpr uint32_t kHeadroom = 64;
constexpr uint32_t kBurst = 64;    // The default burst size of a packetized interface.
constexpr uint32_t kBatch = 2048;  // Frames per batch, which is as many as a ring holds.

}  // namespace

/// Passes kBatch frames to the balancer in bursts of `size`. Returns the number of forwarded
/// frames.
extern "C" [[gnu::noinline, gnu::noclone]] uint64_t WorkerBursts(Balancer* balancer, uint8_t* slots,
                                                                 uint32_t size) {
  uint64_t forwarded = 0;
  for (uint32_t first = 0; first < kBatch; first += size) {
    uint8_t* const start = slots + size_t{first} * kRoom + kHeadroom;
    packet::FoundBurst burst(
        size, packet::BurstTotals{60 * size, 60},
        [start](uint32_t number) {
          return packet::Frame{start + size_t{number} * kRoom, 60, kHeadroom, 4};
        },
        [&](uint32_t, const packet::Frame& frame, packet::Verdict verdict) {
          forwarded += verdict == packet::kForward;
          uint8_t* const data = frame.data;
          benchmark::DoNotOptimize(data);
        });
    balancer->ProcessBurst(burst, 0);
  }
  return forwarded;
}

namespace {

void Measure(benchmark::State& state, Encapsulation encapsulation, uint32_t size = kBurst) {
  const auto flows = static_cast<uint32_t>(state.range(0));
  Setup setup = test::SetupOf(1000);
  setup.connections = 1 << 21;
  setup.vips[0].encapsulation = encapsulation;
  for (BackendSetup& backend : setup.vips[0].backends) backend.mac = test::kRouter;
  const auto tables = Tables::Build(setup, nullptr);
  const std::atomic<const Tables*> published = tables.get();
  Balancer balancer(&published, 1, 1'000'000'000);
  test::Settle(balancer, flows);
  const std::vector<uint8_t> frame = test::UdpFrame(0);
  std::vector<uint8_t> slots(size_t{kBatch} * kRoom);
  uint32_t flow = 0;
  uint64_t forwarded = 0;
  const auto fill = [&] {
    for (uint32_t i = 0; i < kBatch; ++i) {
      uint8_t* const data = &slots[size_t{i} * kRoom + kHeadroom];
      std::memcpy(data, frame.data(), frame.size());
      // Visits the flows in a permuted order that hardware prefetchers cannot predict.
      test::SetFlow(data, (flow++ * 0x9e3779b1u) % flows);
    }
  };
  for (auto _ : state) {
    state.PauseTiming();
    fill();
    state.ResumeTiming();
    forwarded += WorkerBursts(&balancer, slots.data(), size);
  }
  if (forwarded != static_cast<uint64_t>(state.iterations()) * kBatch) {
    state.SkipWithError("a frame was not forwarded");
  }
  state.SetLabel(std::to_string(forwarded) +
                 " packets");  // scripts/bench/instruction_rows.py parses this label.
  state.SetItemsProcessed(static_cast<int64_t>(forwarded));
}

void BM_Balancer(benchmark::State& state) { Measure(state, Encapsulation::kIp); }
BENCHMARK(BM_Balancer)->Arg(16)->Arg(1 << 10)->Arg(1 << 16)->Arg(1 << 20)->MinTime(2);
/// Uses a fixed number of frames, to count the instructions per frame.
BENCHMARK(BM_Balancer)->Name("BM_BalancerCounted")->Arg(16)->Iterations(50);
void BM_BalancerMac(benchmark::State& state) { Measure(state, Encapsulation::kMac); }
BENCHMARK(BM_BalancerMac)->Arg(16)->Arg(1 << 20)->MinTime(2);
void BM_BalancerNat(benchmark::State& state) { Measure(state, Encapsulation::kNat); }
BENCHMARK(BM_BalancerNat)->Arg(16)->Arg(1 << 20)->MinTime(2);
/// Uses several burst sizes; size 1 processes single frames.
void BM_BalancerBursts(benchmark::State& state) {
  Measure(state, Encapsulation::kIp, static_cast<uint32_t>(state.range(1)));
}
BENCHMARK(BM_BalancerBursts)->ArgsProduct({{16, 1 << 20}, {1, 8, 16, 32, 64, 128}})->MinTime(1);

/// Every frame is the first of its flow, as in a flood. The argument is the TCP flags (2 is SYN, 16
/// is ACK), or 0 for UDP.
void BM_BalancerMiss(benchmark::State& state) {
  const auto flags = static_cast<uint8_t>(state.range(0));
  Setup setup = test::SetupOf(1000);
  setup.connections = 1 << 16;
  if (flags != 0) setup.vips[0].protocol = 6;
  const auto tables = Tables::Build(setup, nullptr);
  const std::atomic<const Tables*> published = tables.get();
  Balancer balancer(&published, 1, 1'000'000'000);
  balancer.AtRest(0);
  std::vector<uint8_t> frame = test::UdpFrame(0);
  if (flags != 0) {
    frame[23] = 6;
    frame[46] = 0x50;
    frame[47] = flags;
  }
  std::vector<uint8_t> slots(size_t{kBatch} * kRoom);
  uint32_t flow = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (uint32_t i = 0; i < kBatch; ++i) {
      uint8_t* const data = &slots[size_t{i} * kRoom + kHeadroom];
      std::memcpy(data, frame.data(), frame.size());
      test::SetFlow(data, flow++);
    }
    state.ResumeTiming();
    WorkerBursts(&balancer, slots.data(), kBurst);
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(BM_BalancerMiss)->Arg(2)->Arg(16)->Arg(0)->Iterations(200);

}  // namespace
}  // namespace sluice::engine::maglev

BENCHMARK_MAIN();
