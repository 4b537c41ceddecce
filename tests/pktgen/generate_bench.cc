// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the cost per frame of a sluice-pktgen worker: planning the frame, writing it with its
// tag, and checking the returned frame. Frames are in memory, without a NIC. Under callgrind with
// --toggle-collect='Pktgen*', it counts instructions; alone it prints TSC cycles.
//
//   pktgen_bench [frame_size] [flows] [packets]
#include <rte_cycles.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/pktgen/trial.h"

using namespace sluice::engine::pktgen;  // NOLINT

namespace {

constexpr uint32_t kRoom = 2048;  // Bytes per frame slot.

}  // namespace

/// Plans and writes the frames that are due.
extern "C" __attribute__((noinline)) uint32_t PktgenSend(Sender* sender, uint8_t* to,
                                                         uint64_t now_ps) {
  const uint32_t planned = sender->Plan(now_ps);
  for (uint32_t i = 0; i < planned; ++i) sender->Write(i, to + i * kRoom);
  return planned;
}

/// Checks returned frames.
extern "C" __attribute__((noinline)) void PktgenCheck(Checker* checker, const uint8_t* frames,
                                                      const uint32_t* lengths, uint32_t count,
                                                      uint64_t now_ns) {
  for (uint32_t i = 0; i < count; ++i) checker->See(frames + i * kRoom, lengths[i], now_ns);
}

int main(int argc, char** argv) {
  StreamSpec spec;
  spec.sizes = Field(static_cast<Field::Value>(argc > 1 ? std::atoi(argv[1]) : 64));
  const auto flows = static_cast<Field::Value>(argc > 2 ? std::atoi(argv[2]) : 1000);
  const Field::Value first = 0x0a00'0001;
  spec.headers.source = Field::Range(first, first + flows - 1, 1);
  spec.phases = {{0, kNever, {Rate::Unit::kPackets, 1e7}}};
  const uint64_t packets = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 20'000'000;
  std::string error;
  const auto traffic = Traffic::Make({spec}, {}, &error);
  if (traffic == nullptr) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 2;
  }
  Trial trial(*traffic, {});
  std::vector<uint8_t> frames(size_t{Sender::kMostPlanned} * kRoom);
  std::vector<uint32_t> lengths(Sender::kMostPlanned);
  uint64_t sent = 0;
  uint64_t send_cycles = 0;
  uint64_t check_cycles = 0;
  // 32 frames are due at once.
  for (uint64_t now_ps = 0; sent < packets; now_ps += 32 * 100'000) {
    const uint64_t begin = rte_rdtsc();
    const uint32_t count = PktgenSend(&trial.sender(0), frames.data(), now_ps);
    for (uint32_t i = 0; i < count; ++i) lengths[i] = trial.sender(0).length(i);
    trial.sender(0).Sent(count, now_ps);
    const uint64_t middle = rte_rdtsc();
    PktgenCheck(&trial.checker(0), frames.data(), lengths.data(), count, now_ps / 1000 + 5000);
    check_cycles += rte_rdtsc() - middle;
    send_cycles += middle - begin;
    sent += count;
  }
  const StreamResult result = trial.Result(true).streams[0];
  std::printf("%lu frames: %.2f cycles to send one, %.2f to check one; %lu lost\n", sent,
              static_cast<double>(send_cycles) / static_cast<double>(sent),
              static_cast<double>(check_cycles) / static_cast<double>(sent), result.lost);
  return result.lost == 0 ? 0 : 1;
}
