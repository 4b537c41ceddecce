// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-control [cpu cpu]: measures the current costs of this host's memory system, without a NIC.
// scripts/throughput runs it before, between and after its samples.
//
//   ping_pong_cycles  cycles to hand a cache line to another core and back
//   ping_pong_us      microseconds of single round trips of such a line: p50, p99
//   stream_cycles     a core's cost per 64-byte line that another core has just written into a
//                     2 MiB ring, if the core only loads and stores one byte of the line. This is
//                     a lower bound for every receiver of such a stream.
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/standard_streams.h"
#include "cpu/clock.h"

namespace {

constexpr uint64_t kRoundTrips = 200'000;
constexpr uint64_t kTimedRoundTrips = 100'000;
constexpr uint64_t kLines = 10'000'000;
constexpr uint64_t kLineBytes = 64;
constexpr uint64_t kRingBytes = 2 << 20;
constexpr uint64_t kRingLines = kRingBytes / kLineBytes;
constexpr uint64_t kBatchLines = 64;
constexpr size_t kByteInLine = 42;  // First payload byte of a UDP frame.

// 128 bytes, so that the adjacent-line prefetcher does not load another Index.
struct alignas(128) Index {
  std::atomic<uint64_t> value{0};
};

void PinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0) {
    std::fprintf(stderr, "sluice-control: CPU %d is not available\n", cpu);
    std::exit(1);
  }
}

double PingPongCycles(int cpu, int other_cpu) {
  Index ping;  // Written by this core.
  Index pong;  // Written by the other core.
  std::thread echo([&] {
    PinTo(other_cpu);
    for (uint64_t i = 1; i <= kRoundTrips; ++i) {
      while (ping.value.load(std::memory_order_acquire) != i) {
      }
      pong.value.store(i, std::memory_order_release);
    }
  });
  PinTo(cpu);
  uint64_t begin = 0;
  for (uint64_t i = 1; i <= kRoundTrips; ++i) {
    if (i == kRoundTrips / 10) begin = sluice::cpu::Cycles();  // Both threads are running now.
    ping.value.store(i, std::memory_order_release);
    while (pong.value.load(std::memory_order_acquire) != i) {
    }
  }
  const uint64_t end = sluice::cpu::Cycles();
  echo.join();
  return static_cast<double>(end - begin) / static_cast<double>(kRoundTrips - kRoundTrips / 10 + 1);
}

// Reads the clock for each round trip, as clients do for each call.
nlohmann::json PingPongTimes(int cpu, int other_cpu) {
  Index ping;
  Index pong;
  std::thread echo([&] {
    PinTo(other_cpu);
    for (uint64_t i = 1; i <= kTimedRoundTrips; ++i) {
      while (ping.value.load(std::memory_order_acquire) != i) {
      }
      pong.value.store(i, std::memory_order_release);
    }
  });
  PinTo(cpu);
  using Clock = std::chrono::steady_clock;
  std::vector<double> us(kTimedRoundTrips);
  for (uint64_t i = 1; i <= kTimedRoundTrips; ++i) {
    const Clock::time_point begin = Clock::now();
    ping.value.store(i, std::memory_order_release);
    while (pong.value.load(std::memory_order_acquire) != i) {
    }
    us[i - 1] = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }
  echo.join();
  std::sort(us.begin(), us.end());
  return {{"p50", us[us.size() / 2]}, {"p99", us[us.size() * 99 / 100]}};
}

double StreamCycles(int cpu, int other_cpu) {
  void* memory =
      mmap(nullptr, 2 * kRingBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("sluice-control: mmap");
    std::exit(1);
  }
  // Aligned, so that one transparent hugepage can hold the ring.
  auto* const ring = reinterpret_cast<uint8_t*>(
      (reinterpret_cast<uintptr_t>(memory) + kRingBytes - 1) & ~uintptr_t{kRingBytes - 1});
  madvise(ring, kRingBytes, MADV_HUGEPAGE);
  std::memset(ring, 1, kRingBytes);

  Index head;  // Number of lines written; stored by the other core.
  Index tail;  // Number of lines consumed; stored by this core.
  std::thread producer([&] {
    PinTo(other_cpu);
    const uint8_t line[kLineBytes] = {1};
    for (uint64_t next = 0; next < kLines; next += kBatchLines) {
      while (next + kBatchLines - tail.value.load(std::memory_order_acquire) > kRingLines) {
      }
      for (uint64_t i = next; i < next + kBatchLines; ++i) {
        std::memcpy(ring + i % kRingLines * kLineBytes, line, kLineBytes);
      }
      head.value.store(next + kBatchLines, std::memory_order_release);
    }
  });
  PinTo(cpu);
  uint64_t busy_cycles = 0;  // Excludes the time during which the consumer waits for the producer.
  for (uint64_t next = 0; next < kLines;) {
    const uint64_t begin = sluice::cpu::Cycles();
    const uint64_t end =
        std::min(head.value.load(std::memory_order_acquire), next + kRingLines / 32);
    if (end == next) continue;
    for (uint64_t i = next; i < end; ++i) {
      volatile uint8_t* const byte = ring + i % kRingLines * kLineBytes + kByteInLine;
      *byte = static_cast<uint8_t>(*byte + 1);
    }
    next = end;
    tail.value.store(next, std::memory_order_release);
    busy_cycles += sluice::cpu::Cycles() - begin;
  }
  producer.join();
  munmap(memory, 2 * kRingBytes);
  return static_cast<double>(busy_cycles) / static_cast<double>(kLines);
}

}  // namespace

int main(int argc, char** argv) {
  sluice::base::OpenStandardStreams();
  cpu_set_t allowed;
  if (argc != 1 && argc != 3) {
    std::fprintf(stderr, "usage: sluice-control [cpu cpu]\n");
    return 2;
  }
  int cpus[2] = {0, 1};
  for (int i = 1; i < argc; ++i) cpus[i - 1] = std::atoi(argv[i]);
  if (argc == 1 && sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    int found = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; ++cpu) {
      if (CPU_ISSET(cpu, &allowed)) cpus[found++] = cpu;
    }
    if (found < 2) {
      std::fprintf(stderr, "sluice-control: requires two CPUs\n");
      return 1;
    }
  }
  const nlohmann::json report = {{"ping_pong_cycles", PingPongCycles(cpus[0], cpus[1])},
                                 {"ping_pong_us", PingPongTimes(cpus[0], cpus[1])},
                                 {"stream_cycles", StreamCycles(cpus[0], cpus[1])}};
  std::puts(report.dump().c_str());
  return 0;
}
