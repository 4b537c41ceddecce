// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the construction of rings and the lookup of flows, and compares each with a plain
// implementation in the same run. The construction is compared with Katran's loop, which has one
// division per step; the lookup is compared with DPDK's jhash of the 5-tuple, modulo the number of
// entries of an array (65537). Lookups cycle through 16384 flows, so that no lookup repeats a
// recent flow.
#include <benchmark/benchmark.h>
#include <rte_jhash.h>

#include <random>
#include <string>
#include <vector>

#include "engine/maglev/profile.h"
#include "maglev/katran_endpoints.h"

namespace sluice::engine::maglev {
namespace {

std::vector<Member> Members(int64_t count) {
  std::vector<Member> members;
  for (int64_t i = 0; i < count; ++i) {
    const auto high = static_cast<uint8_t>(i >> 8);
    const auto low = static_cast<uint8_t>(i);
    members.push_back(
        {"backend-" + std::to_string(i), IpAddress::Of(packet::Ipv4Address{10, 0, high, low})});
  }
  return members;
}

void Build(benchmark::State& state, Profile profile, bool weighted) {
  const auto slots = static_cast<uint32_t>(state.range(0));
  std::vector<Member> members = Members(state.range(1));
  for (size_t i = 0; weighted && i < members.size(); ++i) members[i].weight = 1 + i % 7;
  for (auto _ : state) benchmark::DoNotOptimize(BuildRing(profile, members, slots));
}

/// Builds a ring with Katran's loop. 32-bit arithmetic suffices up to 65537 slots.
void BuildPlainly(benchmark::State& state) {
  std::vector<Permutation> permutations;
  for (int64_t i = 0; i < state.range(0); ++i) {
    permutations.push_back(test::KatranPermutation(static_cast<uint64_t>(10 * i), kSmallRing));
  }
  for (auto _ : state) {
    std::vector<int> ring(kSmallRing, -1);
    std::vector<uint32_t> next(permutations.size());
    uint32_t slots = kSmallRing;
    // Katran divides by a variable. Without this call, the compiler would divide by a constant.
    benchmark::DoNotOptimize(slots);
    for (uint32_t taken = 0; taken < slots;) {
      for (size_t i = 0; i < permutations.size() && taken < slots; ++i, ++taken) {
        uint32_t slot;
        do {
          slot = (permutations[i].offset + next[i]++ * permutations[i].skip) % slots;
        } while (ring[slot] >= 0);
        ring[slot] = static_cast<int>(i);
      }
    }
    benchmark::DoNotOptimize(ring.data());
  }
}

constexpr size_t kFlows = 1 << 14;

std::vector<packet::FlowKey> Flows(bool ipv6) {
  std::mt19937 random(1);
  std::vector<packet::FlowKey> flows(kFlows);
  for (packet::FlowKey& flow : flows) {
    for (size_t i = 0; i < (ipv6 ? 16 : 4); ++i) flow.source[i] = static_cast<uint8_t>(random());
    flow.destination = {192, 0, 2, 80};
    flow.source_port = static_cast<uint16_t>(random());
    flow.destination_port = 80;
    flow.protocol = 6;
    flow.ip_version = ipv6 ? 6 : 4;
  }
  return flows;
}

void Lookup(benchmark::State& state, Profile profile, bool ipv6) {
  const auto slots = static_cast<uint32_t>(state.range(0));
  const std::vector<uint16_t> ring = BuildRing(profile, Members(1000), slots);
  const std::vector<packet::FlowKey> flows = Flows(ipv6);
  const SlotRule rule{.profile = profile, .slots = slots};
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(ring[SlotOf(flows[i], rule)]);
    i = (i + 1) % kFlows;
  }
}

void LookUpPlainly(benchmark::State& state) {
  std::vector<uint32_t> table(kSmallRing);
  for (uint32_t slot = 0; slot < kSmallRing; ++slot) table[slot] = slot % 1000;
  const std::vector<packet::FlowKey> flows = Flows(false);
  size_t i = 0;
  for (auto _ : state) {
    const packet::FlowKey& flow = flows[i];
    const uint32_t hash = rte_jhash_3words(
        packet::Load<uint32_t>(flow.source.data()), packet::Load<uint32_t>(flow.destination.data()),
        flow.source_port | uint32_t{flow.destination_port} << 16, flow.protocol);
    benchmark::DoNotOptimize(table[hash % kSmallRing]);
    i = (i + 1) % kFlows;
  }
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgsProduct({{kSmallRing, kLargeRing}, {100, 1000}});
  benchmark->ArgNames({"slots", "backends"})->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(Build, sluice, Profile::kSluice, false)->Apply(Sizes);
BENCHMARK_CAPTURE(Build, sluice_weighted, Profile::kSluice, true)->Apply(Sizes);
BENCHMARK_CAPTURE(Build, paper, Profile::kPaper, false)->Apply(Sizes);
BENCHMARK_CAPTURE(Build, katran, Profile::kKatran, false)->Apply(Sizes);
BENCHMARK_CAPTURE(Build, cilium, Profile::kCilium, false)->Apply(Sizes);
BENCHMARK_CAPTURE(Build, cilium_weighted, Profile::kCilium, true)->Apply(Sizes);
BENCHMARK(BuildPlainly)->ArgName("backends")->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);

BENCHMARK_CAPTURE(Lookup, sluice_ipv4, Profile::kSluice, false)->Arg(kSmallRing)->Arg(kLargeRing);
BENCHMARK_CAPTURE(Lookup, sluice_ipv6, Profile::kSluice, true)->Arg(kSmallRing)->Arg(kLargeRing);
BENCHMARK_CAPTURE(Lookup, paper_ipv4, Profile::kPaper, false)->Arg(kSmallRing);
BENCHMARK_CAPTURE(Lookup, katran_ipv4, Profile::kKatran, false)->Arg(kSmallRing);
BENCHMARK_CAPTURE(Lookup, katran_ipv6, Profile::kKatran, true)->Arg(kSmallRing);
BENCHMARK(LookUpPlainly);

}  // namespace
}  // namespace sluice::engine::maglev

BENCHMARK_MAIN();
