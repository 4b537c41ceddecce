// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the coherent interface with both ends of an endpoint stepped alternately in one thread,
// which excludes cross-core traffic. Under callgrind with --toggle-collect='Worker*', it counts the
// worker's instructions; alone it prints TSC cycles. An application makes one more call per line,
// to the driver's plugin.
//
//   nic_coherent_bench [frame_size|imix|random] [burst] [packets]
#include <rte_cycles.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../frame_sizes.h"
#include "engine/echo/echo.h"
#include "frames.h"
#include "line_pair.h"
#include "nic/coherent.h"

using namespace sluice;  // NOLINT

namespace {

using EchoQueue = nic::CoherentQueue<nic_test::LinePair>;

}  // namespace

/// Processes one line.
extern "C" __attribute__((noinline)) uint32_t WorkerPoll(EchoQueue* queue) {
  engine::IncrementEcho echo;
  return queue->Poll(echo, 0);
}

int main(int argc, char** argv) {
  const char* const sizes = argc > 1 ? argv[1] : "60";
  const uint32_t burst = argc > 2 ? std::atoi(argv[2]) : 64;
  const uint64_t packets = argc > 3 ? std::atoll(argv[3]) : 20'000'000;
  if (burst < 1 || burst > nic_test::LinePair::kMaxFrames) return 2;
  std::vector<nic_test::Bytes> frames;
  for (const uint32_t size : FrameSizes(sizes, burst)) {
    if (size < 42 || size > 1514) return 2;
    frames.push_back(nic_test::Ipv4Frame(size));
  }
  nic_test::LinePair lines;
  EchoQueue queue(lines);
  lines.answers = false;
  WorkerPoll(&queue);  // Posts the first load.
  uint64_t echoed = 0;
  uint64_t sent = 0;
  uint64_t worker_cycles = 0;
  const uint64_t begin = rte_rdtsc();
  while (echoed < packets) {
    sent += lines.SkipSent();
    for (const nic_test::Bytes& frame : frames) lines.Write(frame);
    lines.Serve();
    const uint64_t start = rte_rdtsc();
    const uint32_t handled = WorkerPoll(&queue);
    worker_cycles += rte_rdtsc() - start;
    if (handled == 0) return 1;
    echoed += handled;
  }
  sent += lines.SkipSent();
  const uint64_t all = rte_rdtsc() - begin;
  std::printf("frame %s burst %u: %lu packets, worker %.2f cycles, NIC %.2f cycles a packet\n",
              sizes, burst, echoed, static_cast<double>(worker_cycles) / echoed,
              static_cast<double>(all - worker_cycles) / echoed);
  return sent == echoed ? 0 : 1;
}
