// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the time per operation of the connection table in one thread, in nanoseconds.
//
//   arguments: number of flows that are looked up in turn / prefetch distance in frames, 0 for no
//   prefetch
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "engine/maglev/connections.h"

namespace sluice::engine::maglev {
namespace {

constexpr uint32_t kCapacity = 1 << 20;
constexpr uint32_t kNow = 1000;

std::vector<uint64_t> RandomTags(size_t count) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> tags(count);
  for (uint64_t& tag : tags) tag = random();
  return tags;
}

Connection FlowOf(uint64_t tag) {
  return {tag, {static_cast<uint16_t>(tag % 1000), 1}, 0, 1, ConnectionState::kUdp};
}

/// Processes a packet of a known flow: finds and updates the flow.
void FindHit(benchmark::State& state) {
  const size_t flows = static_cast<size_t>(state.range(0));
  const size_t ahead = static_cast<size_t>(state.range(1));
  std::vector<uint64_t> tags = RandomTags(flows);
  ConnectionTable table(kCapacity, Timeouts());
  size_t recorded = 0;
  for (const uint64_t tag : tags) {
    if (table.Insert(FlowOf(tag), {kNow, 0})) tags[recorded++] = tag;
  }
  tags.resize(recorded);
  for (size_t i = 0; i < ahead; ++i) tags.push_back(tags[i]);

  size_t at = 0;
  uint64_t sum = 0;
  for (auto _ : state) {
    if (ahead != 0) table.Prefetch(tags[at + ahead]);
    if (auto hit = table.Find(tags[at], 1, kNow)) {
      ConnectionTable::Touch(hit->entry, false, false, {kNow, 2});
      table.Update(hit->place, hit->entry);
      sum += hit->entry.backend.index;
    }
    if (++at == recorded) at = 0;
  }
  benchmark::DoNotOptimize(sum);
  state.counters["recorded"] = static_cast<double>(recorded);
}
BENCHMARK(FindHit)
    ->ArgNames({"flows", "ahead"})
    ->Args({16, 0})
    ->Args({16, 8})
    ->Args({1 << 10, 8})
    ->Args({1 << 14, 8})
    ->Args({1 << 17, 8})
    ->Args({1 << 19, 0})
    ->Args({1 << 19, 8})
    ->Args({1 << 20, 0})
    ->Args({1 << 20, 8});

/// Inserts new flows, each after a failed Find. Time passes so that the table stays half full.
void FindMissAndInsert(benchmark::State& state) {
  const size_t ahead = static_cast<size_t>(state.range(0));
  const std::vector<uint64_t> tags = RandomTags((1 << 22) + ahead);
  ConnectionTable table(kCapacity, {.udp_s = 30});
  const size_t flows_per_second = table.capacity() / 2 / 31;
  size_t at = 0, now = 0, until_next = flows_per_second, refused = 0;
  for (auto _ : state) {
    if (ahead != 0) table.Prefetch(tags[at + ahead]);
    const uint32_t seconds = static_cast<uint32_t>(now);
    if (!table.Find(tags[at], 1, seconds) && !table.Insert(FlowOf(tags[at]), {seconds, 0}))
      ++refused;
    if (++at == tags.size() - ahead) at = 0;
    if (--until_next == 0) {
      until_next = flows_per_second;
      ++now;
    }
  }
  state.counters["refused"] = static_cast<double>(refused);
}
BENCHMARK(FindMissAndInsert)->ArgName("ahead")->Arg(0)->Arg(8);

/// Simulates a SYN flood on a table that is full of established flows.
void InsertWithoutRoom(benchmark::State& state) {
  const std::vector<uint64_t> tags = RandomTags(1 << 22);
  ConnectionTable table(kCapacity, Timeouts());
  for (const uint64_t tag : tags) table.Insert(FlowOf(tag), {kNow, 0});
  std::mt19937_64 random(2);
  uint64_t recorded = 0;
  for (auto _ : state) {
    Connection entry = FlowOf(random());
    entry.state = ConnectionState::kOpening;
    recorded += table.Insert(entry, {kNow, 0});
  }
  state.counters["recorded"] = static_cast<double>(recorded);
}
BENCHMARK(InsertWithoutRoom);

}  // namespace
}  // namespace sluice::engine::maglev

BENCHMARK_MAIN();
