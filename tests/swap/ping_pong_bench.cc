// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-swap-ping-pong [cpu cpu]: measures the latency of a small swap between two cores, and
// compares it with the minimum. For the minimum, each side stores one word to one line per
// direction and spins on the peer's word, without decoding, decisions or payload. Both kinds of
// round trip alternate in short blocks on the same two pinned threads and the same lines of the
// window, so that disturbances affect both. A round trip is one two-message swap: offer and answer.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "bar/shm_window.h"
#include "cpu/clock.h"
#include "swap/port.h"

namespace {

using sluice::bar::ShmWindow;
using sluice::bar::WindowSide;
using namespace sluice::swap;

// The address of a line determines its distance from each core, so the blocks rotate over many
// lines.
constexpr uint32_t kLines = 64;
constexpr uint32_t kBlocks = 6 * kLines;  // Blocks per kind.
constexpr uint32_t kRoundTrips = 500;
constexpr uint32_t kWarmUp = 50;  // Warm-up rounds per block; not counted.

// The bare lines are spaced like the window's lines.
struct alignas(128) Word {
  std::atomic<uint64_t> value{0};
};

/// Exchanges a counter for the value in the offer.
struct Cell {
  uint64_t value = 0;

  Answer Evaluate(const Message&, Reply& reply) const {
    reply.payload[0] = value;
    return Answer::kTrue;
  }
};

void PinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0) {
    std::fprintf(stderr, "sluice-swap-ping-pong: CPU %d is not available\n", cpu);
    std::exit(1);
  }
}

void Respond(ShmWindow window, std::vector<Word>& pings, std::vector<Word>& pongs) {
  std::vector<ResponderPort<ShmWindow>> ports;
  Cell cell;
  for (uint32_t i = 0; i < kLines; ++i) {
    ports.emplace_back(window, i, Responder(kTwoMessage, 1, 1));
    while (ports[i].end().state() == State::kSync) ports[i].Poll(cell);
  }
  uint64_t round = 0;
  for (uint32_t block = 0; block < kBlocks; ++block) {
    ResponderPort<ShmWindow>& port = ports[block % kLines];
    Word& ping = pings[block % kLines];
    Word& pong = pongs[block % kLines];
    for (uint32_t i = 0; i < kRoundTrips; ++i) {
      ++round;
      while (ping.value.load(std::memory_order_acquire) != round) {
      }
      pong.value.store(round, std::memory_order_release);
    }
    for (uint32_t i = 0; i < kRoundTrips; ++i) {
      while (port.Poll(cell) != Event::kCommitted) {
      }
      cell.value = port.offer().payload[0];
    }
  }
}

struct Samples {
  std::vector<uint32_t> cycles;

  uint32_t Percentile(double fraction) {
    const auto at = static_cast<ptrdiff_t>(fraction * static_cast<double>(cycles.size() - 1));
    std::nth_element(cycles.begin(), cycles.begin() + at, cycles.end());
    return cycles[static_cast<size_t>(at)];
  }
};

/// Calls `round_trip` for one block.
template <typename F>
void Measure(Samples& samples, F round_trip) {
  for (uint32_t i = 0; i < kRoundTrips; ++i) {
    const uint64_t begin = sluice::cpu::Cycles();
    round_trip();
    const uint64_t end = sluice::cpu::Cycles();
    if (i >= kWarmUp) samples.cycles.push_back(static_cast<uint32_t>(end - begin));
  }
}

}  // namespace

int main(int argc, char** argv) {
  int cpus[2] = {0, 1};
  if (argc != 1 && argc != 3) {
    std::fprintf(stderr, "usage: sluice-swap-ping-pong [cpu cpu]\n");
    return 2;
  }
  for (int i = 1; i < argc; ++i) cpus[i - 1] = std::atoi(argv[i]);

  ShmWindow window = ShmWindow::Create(kLines, WindowSide::kHost);
  if (!window) {
    std::perror("sluice-swap-ping-pong: window");
    return 1;
  }
  std::vector<Word> pings(kLines);
  std::vector<Word> pongs(kLines);
  Samples bare;
  Samples swapped;
  bare.cycles.reserve(kBlocks * kRoundTrips);
  swapped.cycles.reserve(kBlocks * kRoundTrips);

  std::thread responder([&] {
    PinTo(cpus[1]);
    Respond(window.Peer(), pings, pongs);
  });
  PinTo(cpus[0]);
  std::vector<InitiatorPort<ShmWindow>> ports;
  for (uint32_t i = 0; i < kLines; ++i) {
    ports.emplace_back(window, i, Initiator(kTwoMessage, 1, 1));
    while (!ports[i].end().CanOffer()) ports[i].Poll();
  }
  uint64_t round = 0;
  uint64_t value = 1;
  for (uint32_t block = 0; block < kBlocks; ++block) {
    InitiatorPort<ShmWindow>& port = ports[block % kLines];
    Word& ping = pings[block % kLines];
    Word& pong = pongs[block % kLines];
    Measure(bare, [&] {
      ping.value.store(++round, std::memory_order_release);
      while (pong.value.load(std::memory_order_acquire) != round) {
      }
    });
    Measure(swapped, [&] {
      port.MakeOffer({0, {value}});
      std::optional<Result> result;
      while (!(result = port.Poll())) {
      }
      value = result->payload[0];
    });
  }
  responder.join();
  const uint32_t bare_p50 = bare.Percentile(0.5), bare_p99 = bare.Percentile(0.99);
  const uint32_t swap_p50 = swapped.Percentile(0.5), swap_p99 = swapped.Percentile(0.99);
  std::printf(
      "{\"bare_p50_cycles\": %u, \"bare_p99_cycles\": %u, \"swap_p50_cycles\": %u, "
      "\"swap_p99_cycles\": %u, \"p50_ratio\": %.3f}\n",
      bare_p50, bare_p99, swap_p50, swap_p99,
      static_cast<double>(swap_p50) / static_cast<double>(bare_p50));
  return 0;
}
