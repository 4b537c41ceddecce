// SPDX-License-Identifier: BSD-3-Clause
//
// Tests chains of accelerators in virtual time: the order and time of every operation of Tables 2
// and 3 of the Nagare proposal (Sadok, 2024), the formulas derived from them for one to eight
// accelerators with either interface, and the effect of a slow accelerator on other streams.
#include "simulation/chain/chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bar/tlp.h"
#include "device/switch/pipeline.h"
#include "device/switch/switch.h"
#include "fabric/event_queue.h"
#include "fabric/link.h"
#include "simulation/chain/stages.h"
#include "simulation/chain/switch_node.h"

namespace sluice::simulation {
namespace {

using namespace fabric::literals;  // NOLINT
using device::pcie_switch::FlowControl;

constexpr Picoseconds kHalf = 379_ns;  // Half of the PCIe round trip.
constexpr Picoseconds kFull = 2 * kHalf;

ChainParameters Example(ChainVia via) {
  ChainParameters parameters;
  parameters.via = via;
  parameters.devices = {"NIC", "QAT", "ML Accel."};
  parameters.data = {"Encrypted Image", "Decrypted Image", "Inference Result"};
  return parameters;
}

std::string Text(const std::vector<Operation>& operations) {
  std::string text;
  for (const Operation& one : operations) {
    text += one.from + " -> " + one.to + " | " + one.what + " (" + one.how + ") | " +
            (one.took == kHalf   ? "1/2"
             : one.took == kFull ? "1"
                                 : std::to_string(one.took)) +
            "\n";
  }
  return text;
}

TEST(Chain, ThroughTheCpuItsOperationsAreThoseOfTable2) {
  const ChainResults results = PlayChain(Example(ChainVia::kCpu));
  EXPECT_EQ(Text(results.operations),
            "NIC -> CPU | Encrypted Image (DMA WR) | 1/2\n"
            "CPU -> QAT | Command Notification (MMIO WR) | 1/2\n"
            "CPU -> QAT | Command (DMA RD) | 1\n"
            "CPU -> QAT | Encrypted Image (DMA RD) | 1\n"
            "QAT -> CPU | Decrypted Image (DMA WR) | 1/2\n"
            "CPU -> ML Accel. | Command Notification (MMIO WR) | 1/2\n"
            "CPU -> ML Accel. | Command (DMA RD) | 1\n"
            "CPU -> ML Accel. | Decrypted Image (DMA RD) | 1\n"
            "ML Accel. -> CPU | Inference Result (DMA WR) | 1/2\n"
            "CPU -> NIC | Descriptor Notification (MMIO WR) | 1/2\n"
            "CPU -> NIC | Descriptor (DMA RD) | 1\n"
            "CPU -> NIC | Inference Result (DMA RD) | 1\n");
  EXPECT_EQ(results.latencies, (std::vector<Picoseconds>{9 * kFull}));
}

TEST(Chain, PushedItsOperationsAreThoseOfTable3) {
  const ChainResults results = PlayChain(Example(ChainVia::kPush));
  EXPECT_EQ(Text(results.operations),
            "NIC -> QAT | Encrypted Image (DMA WR) | 1/2\n"
            "QAT -> ML Accel. | Decrypted Image (DMA WR) | 1/2\n"
            "ML Accel. -> NIC | Inference Result (DMA WR) | 1/2\n");
  EXPECT_EQ(results.latencies, (std::vector<Picoseconds>{3 * kHalf}));
  EXPECT_EQ(results.root_port_bytes, 0u);
}

TEST(Chain, ItsLatencyIsTheFormulaForEveryNumberAndMixOfAccelerators) {
  for (uint32_t n = 1; n <= 8; ++n) {
    ChainParameters cpu;
    cpu.via = ChainVia::kCpu;
    cpu.accelerators.assign(n, Face::kLegacy);
    const ChainResults through_cpu = PlayChain(cpu);
    EXPECT_EQ(through_cpu.latencies[0], 3 * (n + 1) * kFull) << n;
    EXPECT_EQ(through_cpu.operations.size(), 4 * (n + 1)) << n;
    for (uint32_t mix = 0; mix < 1u << n; ++mix) {
      ChainParameters push;
      push.accelerators.assign(n, Face::kStreaming);
      uint32_t legacy = 0;
      for (uint32_t i = 0; i < n; ++i) {
        if ((mix >> i & 1) == 0) continue;
        push.accelerators[i] = Face::kLegacy;
        ++legacy;
      }
      // For N accelerators, k of which are legacy, the latency is (N + 1 - k) / 2 + 3 a k round
      // trips. Here a = 1/2, because the switch is in the middle of the path.
      EXPECT_EQ(PlayChain(push).latencies[0], (n + 1 + 2 * legacy) * kHalf) << n << " " << mix;
    }
  }
}

TEST(Chain, ThePipelineDelaysEachHopAndEachFetchByItsCycles) {
  for (const uint32_t stages : {6, 10, 20}) {
    const device::pcie_switch::PipelineShape shape{.stages = stages};
    const Picoseconds delay = shape.latency_ps();
    EXPECT_EQ(delay, (stages * 10'000 + 1) / 3);
    for (uint32_t n = 1; n <= 8; ++n) {
      ChainParameters push;
      push.accelerators.assign(n, Face::kStreaming);
      push.pipeline = delay;
      EXPECT_EQ(PlayChain(push).latencies[0], (n + 1) * (kHalf + delay));
      // Each legacy device also makes two requests, which pass the switch and are answered by it.
      push.accelerators.assign(n, Face::kLegacy);
      EXPECT_EQ(PlayChain(push).latencies[0], (n + 1) * (kHalf + delay) + n * (kFull + 2 * delay));
    }
  }
}

TEST(Chain, LengthComputingAndTheCpuAddWhatTheyTake) {
  constexpr uint32_t kBytes = 16'384;
  for (const uint32_t n : {1, 2, 8}) {
    ChainParameters parameters;
    parameters.accelerators.assign(n, Face::kStreaming);
    parameters.message_bytes = kBytes;
    parameters.compute = 3_us;
    parameters.cpu_reaction = 90_ns;
    parameters.messages = 3;
    const double rate = static_cast<double>(bar::TlpRate(4, 16, 256));
    const double length = static_cast<double>(bar::TlpWriteBytes(kBytes, 256)) * 8e12 / rate;
    const auto near = [&](Picoseconds latency, double expected) {
      EXPECT_NEAR(static_cast<double>(latency), expected, 0.03 * expected) << n;
    };
    // Pushed messages take (N + 1) (r / 2 + L / B), and messages through the CPU take (N + 1) (3 r
    // + 2 L / B + t). The computing time is added to both. r is the round trip, L / B the duration
    // of a message on the link, and t the CPU's reaction time.
    for (const Picoseconds latency : PlayChain(parameters).latencies)
      near(latency, (n + 1) * (kHalf + length) + n * 3e6);
    parameters.via = ChainVia::kCpu;
    for (const Picoseconds latency : PlayChain(parameters).latencies)
      near(latency, (n + 1) * (3 * kFull + 2 * length + 90e3) + n * 3e6);
  }
}

TEST(Chain, ThroughTheCpuEveryHopPassesTheRootPortTwice) {
  ChainParameters parameters;
  parameters.via = ChainVia::kCpu;
  parameters.accelerators.assign(3, Face::kLegacy);
  parameters.message_bytes = 240;
  // Upstream bytes: a TLP with record and data, which has 16 + 240 + 24 bytes, and two requests of
  // 24 bytes. Downstream bytes: a doorbell of 4 + 24, and completions of 64 + 20 and 240 + 20.
  EXPECT_EQ(PlayChain(parameters).root_port_bytes, 4u * (280 + 48 + 28 + 84 + 260));
}

/// Records when the last TLP of a message arrives.
class Sink final : public Endpoint {
 public:
  explicit Sink(fabric::EventQueue& queue) : queue_(&queue) {}
  void Receive(const device::pcie_switch::Tlp& tlp) override {
    bytes += tlp.length;
    at = queue_->now();
  }
  uint32_t bytes = 0;
  Picoseconds at = 0;

 private:
  fabric::EventQueue* queue_;
};

TEST(Chain, TheCpuPushesThroughTheRootPortInHalfARoundTrip) {
  using namespace device::pcie_switch;  // NOLINT
  fabric::EventQueue queue;
  Switch programmable({.ports = 2});
  const fabric::LinkParameters link;
  SwitchNode node(queue, programmable, link, kHalf, /*pipeline=*/0);
  NodeSpec cpu, device;
  cpu.out.edges = {{.value = 0, .mask = 0, .targets = 0b10}};
  device.port = 1;
  device.buffer = BarOf(1);
  device.buffer_bytes = 256;
  device.control = BarOf(1) + kControl;
  const Opened opened = programmable.Open({.nodes = {cpu, device}, .max_message = 128});
  ASSERT_EQ(opened.error, "");
  Sink host(queue), sink(queue);
  node.Attach(0, host);
  node.Attach(1, sink);
  // Writes the header and 64 bytes as write-combined lines. A doorbell and two reads would need two
  // and a half round trips.
  for (uint32_t line = 0; line < 2; ++line) {
    Tlp tlp;
    tlp.address = opened.windows[0] + line * 64;
    tlp.length = 64;
    if (line == 0) StoreTo(tlp.payload.data(), MessageHeader{.length = 64});
    node.Send(0, tlp);
  }
  queue.Run();
  EXPECT_EQ(sink.bytes, 128u);
  // The second line waits while the 64 + 24 bytes of the first line are on the link.
  EXPECT_EQ(sink.at, kHalf + fabric::LinkDirection(link, kHalf).ServiceTime(88));
}

TEST(Blocking, ASlowAcceleratorHoldsUpNoOtherIfStreamsHaveCredits) {
  BlockingParameters parameters;
  parameters.duration = 300_us;
  parameters.slow_stream = false;
  const uint64_t alone = PlayBlocking(parameters);
  EXPECT_NEAR(static_cast<double>(alone), 1500, 10);  // One message every 200 ns.
  parameters.slow_stream = true;
  EXPECT_EQ(PlayBlocking(parameters), alone);
  parameters.flow_control = FlowControl::kPort;
  // The slow accelerator receives 30 messages. The other accelerator receives about as many, plus
  // the messages that fit in buffers.
  const uint64_t blocked = PlayBlocking(parameters);
  EXPECT_GT(blocked, 25u);
  EXPECT_LT(blocked, 60u);
  parameters.slow_stream = false;
  EXPECT_EQ(PlayBlocking(parameters), alone);
}

}  // namespace
}  // namespace sluice::simulation
