// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-offload-bench [cpu cpu]: measures the latency of a decision between two cores over each
// channel, from the host's ask until the decision is enforced. Compares this latency with the
// minimum, which is a bare ping-pong of one word on one line in each direction. The judge allows
// every decision and the agent knows its answer, so only the channels are measured. All modes
// alternate in short blocks on the same two pinned threads, so that disturbances affect all of
// them. In the prestaged mode, the decision is available and was read (as a prefetch does) before
// the host asks.
//
// Prints one line of JSON: TSC cycles from ask to enforcement, the ratio to the bare round trip,
// and decisions per second. Decisions are made one at a time, including outcome and
// acknowledgement.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "bar/shm_window.h"
#include "cpu/clock.h"
#include "offload/swap_host.h"
#include "offload/swap_nic.h"
#include "offload/wave_host.h"
#include "offload/wave_nic.h"

namespace {

using sluice::bar::ShmWindow;
using sluice::bar::WindowSide;
using namespace sluice::offload;

// The address of a line determines its distance from each core, so the blocks rotate over many
// channels.
constexpr uint32_t kPlaces = 32;
constexpr uint32_t kBlocks = 6 * kPlaces;  // Blocks per mode.
constexpr uint32_t kRoundTrips = 300;
constexpr uint32_t kWarmUp = 50;  // Warm-up rounds per block; not counted.
constexpr uint32_t kEvents = 4;   // Number of events in flight.

struct alignas(128) Word {
  std::atomic<uint64_t> value{0};
};

void Await(const Word& word, uint64_t value) {
  while (word.value.load(std::memory_order_acquire) != value) {
  }
}

struct Allows {
  Ruling Check(Slot, const Item& decision, Item& outcome) {
    outcome = decision;
    return Ruling::kEnforce;
  }
  void Apply(Slot, const Item& decision) { sum += decision.word[0]; }
  uint64_t sum = 0;
};

/// A channel at each of kPlaces addresses. Each thread creates its own ends, so that the threads do
/// not share any cache line of the ends' memory.
template <typename Host, typename Nic, typename Layout>
struct Channels {
  explicit Channels(Layout the_layout)
      : layout(the_layout),
        window(ShmWindow::Create(kPlaces * layout.LinesNeeded(), WindowSide::kHost)),
        peer(window.Peer()) {
    if (!window) {
      std::perror("sluice-offload-bench: window");
      std::exit(1);
    }
  }
  template <typename End>
  std::vector<End> Make(ShmWindow& side) const {
    std::vector<End> ends;
    Layout at = layout;
    for (uint32_t i = 0; i < kPlaces; ++i) {
      at.first = i * layout.LinesNeeded();
      ends.emplace_back(side, at, 1);
    }
    return ends;
  }
  std::vector<Host> MakeHosts() {
    std::vector<Host> hosts = Make<Host>(window);
    for (Host& host : hosts) {
      while (!host.PollRestart()) {
      }
    }
    return hosts;
  }
  std::vector<Nic> MakeNics() {
    std::vector<Nic> nics = Make<Nic>(peer);
    for (Nic& nic : nics) {
      while (!nic.CanCommit(0)) nic.PollLoss();
    }
    return nics;
  }

  Layout layout;
  ShmWindow window, peer;
};
using Wave = Channels<WaveHost<ShmWindow>, WaveNic<ShmWindow>, WaveLayout>;
using Swap = Channels<SwapHost<ShmWindow>, SwapNic<ShmWindow>, SwapLayout>;

struct Samples {
  std::vector<uint32_t> cycles;
  std::vector<uint32_t> nanoseconds;  ///< Duration of each block.

  uint32_t Percentile(double fraction) { return At(cycles, fraction); }
  double Rate() { return 1e9 * kRoundTrips / At(nanoseconds, 0.5); }

  static uint32_t At(std::vector<uint32_t>& values, double fraction) {
    const auto at = static_cast<ptrdiff_t>(fraction * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<size_t>(at)];
  }
};

class Bench {
 public:
  void Run(int host_cpu, int agent_cpu);

 private:
  static constexpr uint32_t kModes = 5;
  static constexpr std::array<const char*, kModes> kNames = {"bare", "wave", "wave_prestaged",
                                                             "swap", "swap_offer"};

  static void PinTo(int cpu);
  void Agent();
  /// Tells the host, outside the channel, that the agent has reached the next decision.
  void Ready() { ready_.value.store(++readied_, std::memory_order_release); }

  template <typename Nic>
  void AgentAsked(Nic& nic);
  template <typename Nic>
  void AgentBefore(Nic& nic);
  template <typename F>
  void Measure(Samples& samples, F round_trip);
  template <typename Host>
  void HostAsks(Samples& samples, Host& host, bool prestaged);

  Wave wave_{WaveLayout{0, 1, kEvents}};
  Swap swap_{SwapLayout{0, 1, kEvents, true}};
  std::vector<Word> pings_{kPlaces};
  std::vector<Word> pongs_{kPlaces};
  std::array<Samples, kModes> samples_;
  Allows judge_;
  uint64_t expected_ = 0;
  Word ready_;
  alignas(128) uint64_t readied_ = 0;  ///< Owned by the agent's thread.
};

void Bench::PinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0) {
    std::fprintf(stderr, "sluice-offload-bench: CPU %d is not available\n", cpu);
    std::exit(1);
  }
}

template <typename Nic>
void Bench::AgentAsked(Nic& nic) {
  Item item;
  Decided how;
  for (uint32_t i = 0; i < kRoundTrips; ++i) {
    Ready();
    while (!nic.Receive(item)) {
    }
    nic.Commit(0, item, Urgency::kInterrupt);
    while (!nic.PollOutcome(0, item, how)) {
    }
  }
}

template <typename Nic>
void Bench::AgentBefore(Nic& nic) {
  Item item;
  Decided how;
  for (uint32_t i = 0; i < kRoundTrips; ++i) {
    nic.Commit(0, Item{{i}}, Urgency::kPrestaged);
    Ready();
    while (!nic.PollOutcome(0, item, how)) {
    }
    while (!nic.Receive(item)) {
    }
  }
}

void Bench::Agent() {
  auto wave = wave_.MakeNics();
  auto swap = swap_.MakeNics();
  uint64_t round = 0;
  for (uint32_t block = 0; block < kBlocks; ++block) {
    const uint32_t place = block % kPlaces;
    Word& ping = pings_[place];
    Word& pong = pongs_[place];
    for (uint32_t i = 0; i < kRoundTrips; ++i) {
      Await(ping, ++round);
      pong.value.store(round, std::memory_order_release);
    }
    AgentAsked(wave[place]);
    AgentBefore(wave[place]);
    AgentAsked(swap[place]);
    AgentBefore(swap[place]);
  }
}

template <typename F>
void Bench::Measure(Samples& samples, F round_trip) {
  const auto started = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < kRoundTrips; ++i) {
    const uint64_t cycles = round_trip();
    if (i >= kWarmUp) samples.cycles.push_back(static_cast<uint32_t>(cycles));
  }
  const auto took = std::chrono::steady_clock::now() - started;
  samples.nanoseconds.push_back(static_cast<uint32_t>(std::chrono::nanoseconds(took).count()));
}

template <typename Host>
void Bench::HostAsks(Samples& samples, Host& host, bool prestaged) {
  uint64_t number = 0;
  Measure(samples, [&] {
    Item item;
    Await(ready_, ++expected_);
    do {
      // Polls once, as a task does at its safe points. In the prestaged mode, polls until the
      // decision is available. Look also handles the agent's acknowledgements.
    } while (!host.Look(0, item) && prestaged);
    const uint64_t begin = sluice::cpu::Cycles();
    host.Ask(0, Item{{++number}});
    while (host.Decide(0, judge_) != Decided::kEnforced) {
    }
    return sluice::cpu::Cycles() - begin;
  });
}

void Bench::Run(int host_cpu, int agent_cpu) {
  for (Samples& samples : samples_) samples.cycles.reserve(kBlocks * kRoundTrips);
  std::thread agent([&] {
    PinTo(agent_cpu);
    Agent();
  });
  PinTo(host_cpu);
  auto wave = wave_.MakeHosts();
  auto swap = swap_.MakeHosts();
  uint64_t round = 0;
  for (uint32_t block = 0; block < kBlocks; ++block) {
    const uint32_t place = block % kPlaces;
    Word& ping = pings_[place];
    Word& pong = pongs_[place];
    Measure(samples_[0], [&] {
      const uint64_t begin = sluice::cpu::Cycles();
      ping.value.store(++round, std::memory_order_release);
      Await(pong, round);
      return sluice::cpu::Cycles() - begin;
    });
    HostAsks(samples_[1], wave[place], false);
    HostAsks(samples_[2], wave[place], true);
    HostAsks(samples_[3], swap[place], false);
    HostAsks(samples_[4], swap[place], true);
  }
  agent.join();
  const double bare = samples_[0].Percentile(0.5);
  std::printf("{");
  for (uint32_t mode = 0; mode < kModes; ++mode) {
    const uint32_t p50 = samples_[mode].Percentile(0.5);
    std::printf(
        "%s\"%s\": {\"p50_cycles\": %u, \"p99_cycles\": %u, \"p50_ratio\": %.3f, "
        "\"decisions_per_second\": %.0f}",
        mode == 0 ? "" : ", ", kNames[mode], p50, samples_[mode].Percentile(0.99), p50 / bare,
        samples_[mode].Rate());
  }
  std::printf("}\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 1 && argc != 3) {
    std::fprintf(stderr, "usage: sluice-offload-bench [cpu cpu]\n");
    return 2;
  }
  static Bench bench;
  bench.Run(argc == 3 ? std::atoi(argv[1]) : 0, argc == 3 ? std::atoi(argv[2]) : 1);
  return 0;
}
