// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the bilateral interface with both ends of a link stepped alternately in one thread,
// which excludes cross-core traffic. Under callgrind with --toggle-collect='Worker*', it counts the
// worker's instructions; alone it prints TSC cycles.
//
//   nic_bilateral_bench [frame_size|imix|random] [burst] [packets] [layers]
//
// With `layers`, the engine is that of sluice-echo with --ip: the echo of --mode=reflect behind the
// layers that answer requests for its addresses and reassemble datagrams.
#include <rte_cycles.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../frame_sizes.h"
#include "engine/echo/echo.h"
#include "engine/neighbor/neighbor.h"
#include "frames.h"
#include "link_pair.h"
#include "nic/bilateral.h"
#include "nic/reassembling.h"
#include "packet/own_addresses.h"

using namespace sluice;  // NOLINT

namespace {

using EchoQueue = nic::BilateralQueue<nic_test::LinkPair>;
using Layers = nic::Reassembling<engine::WithNeighbor<engine::ReflectEcho>>;

}  // namespace

/// Processes one region.
extern "C" __attribute__((noinline)) uint32_t WorkerPoll(EchoQueue* queue) {
  engine::IncrementEcho echo;
  return queue->Poll(echo, 0);
}
/// Processes one region with layers.
extern "C" __attribute__((noinline)) uint32_t WorkerPollLayers(EchoQueue* queue, Layers* layers) {
  return queue->Poll(*layers, 0);
}

int main(int argc, char** argv) {
  const char* const sizes = argc > 1 ? argv[1] : "60";
  const uint32_t burst = argc > 2 ? std::atoi(argv[2]) : 64;
  const uint64_t packets = argc > 3 ? std::atoll(argv[3]) : 20'000'000;
  const bool layered = argc > 4;
  packet::OwnAddresses own;
  std::string fix;
  if (burst < 1 || !own.Add("10.0.0.2", &fix)) return 2;
  std::vector<nic_test::Bytes> frames;
  for (const uint32_t size : FrameSizes(sizes, burst)) {
    if (size < 42 || size > 1514) return 2;
    frames.push_back(nic_test::Ipv4Frame(size));
    frames.back()[20] = frames.back()[21] = 0;  // No fragment.
  }
  nic_test::LinkPair link;
  EchoQueue queue(link);
  Layers layers({}, [&] { return engine::WithNeighbor(own, engine::ReflectEcho()); });
  layers.set_counters(queue.counters());
  link.answers = false;
  uint64_t echoed = 0;
  uint64_t sent = 0;
  uint64_t worker_cycles = 0;
  const uint64_t begin = rte_rdtsc();
  while (echoed < packets) {
    for (const nic_test::Bytes& frame : frames) {
      if (!link.Receive(frame)) return 1;
    }
    link.nic().Serve();
    sent += link.SkipToSend();
    const uint64_t start = rte_rdtsc();
    echoed += layered ? WorkerPollLayers(&queue, &layers) : WorkerPoll(&queue);
    worker_cycles += rte_rdtsc() - start;
    link.given_regions.clear();
  }
  link.nic().Serve();
  sent += link.SkipToSend();
  const uint64_t all = rte_rdtsc() - begin;
  std::printf("frame %s burst %u: %lu packets, worker %.2f cycles, NIC %.2f cycles a packet\n",
              sizes, burst, echoed, static_cast<double>(worker_cycles) / echoed,
              static_cast<double>(all - worker_cycles) / echoed);
  return sent == echoed ? 0 : 1;
}
