// SPDX-License-Identifier: BSD-3-Clause
//
// Measures sluice-maglev's engine with each kind of queue (nic/queue_bench.h). Further arguments:
//
//   [encapsulation] [flows] [frames|own]
//
// `frames` passes one frame at a time to the engine. `own` adds the address filter, as in the
// application.
#include "../nic/queue_bench.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "engine/maglev/balancer.h"
#include "maglev_frames.h"
#include "nic/own_frames.h"
#include "packet/burst.h"

using namespace sluice;                  // NOLINT
using namespace sluice::engine::maglev;  // NOLINT

namespace {

struct FrameByFrame final : packet::Engine {
  explicit FrameByFrame(Balancer& balancer) : balancer(balancer) {}
  packet::Verdict Process(packet::Frame& frame, uint64_t now) {
    return packet::ProcessFrame(balancer, frame, now);
  }
  Balancer& balancer;
};

/// Passes bursts to a balancer that the caller owns, because OwnFrames owns its engine.
struct ByReference final : packet::EngineLayer<Balancer&> {
  explicit ByReference(Balancer& balancer) : EngineLayer([&]() -> Balancer& { return balancer; }) {}
};

}  // namespace

int main(int argc, char** argv) {
  const auto options = nic_test::QueueBenchOptions::Parse(argc, argv);
  if (!options) return 2;
  const std::string_view name = argc > 6 ? argv[6] : "ip";
  const uint32_t flows = argc > 7 ? std::atoi(argv[7]) : 16;
  const std::string_view how = argc > 8 ? argv[8] : "";
  if (flows == 0) return 2;

  Setup setup = test::SetupOf(1000);
  setup.connections = 1 << 21;
  for (const EncapsulationRow& row : kEncapsulations) {
    if (row.name == name) setup.vips[0].encapsulation = row.id;
  }
  for (BackendSetup& backend : setup.vips[0].backends) backend.mac = test::kRouter;
  const auto tables = Tables::Build(setup, nullptr);
  const std::atomic<const Tables*> published = tables.get();
  Balancer balancer(&published, 1, 1'000'000'000);
  test::Settle(balancer, flows);

  std::vector<uint8_t> frame = test::UdpFrame(0);
  frame.resize(options->size);
  packet::StoreBe16(&frame[16], static_cast<uint16_t>(options->size - 14));
  packet::StoreBe16(&frame[38], static_cast<uint16_t>(options->size - 34));
  uint32_t flow = 0;
  const auto next = [&]() -> std::span<const uint8_t> {
    test::SetFlow(frame.data(), (flow++ * 0x9e3779b1u) % flows);
    return frame;
  };
  if (how == "frames") {
    FrameByFrame frames(balancer);
    return nic_test::QueueBench(*options, frames, next).Run();
  }
  if (how == "own") {
    const auto mac = packet::Load<packet::MacAddress>(frame.data());
    nic::OwnFrames<ByReference> own(mac, false, [&] { return ByReference(balancer); });
    return nic_test::QueueBench(*options, own, next).Run();
  }
  return nic_test::QueueBench(*options, balancer, next).Run();
}
