// SPDX-License-Identifier: BSD-3-Clause
//
// A C++ program outside the tree: it passes three frames of a flow to a meter and to a balancer.
// library_test.py builds it with only `pkg-config sluice-engines-static`, and runs it.
#include <engine/maglev/balancer.h>
#include <engine/maglev/tables.h>
#include <engine/telemetry/analyst.h>
#include <engine/telemetry/meter.h>
#include <packet/burst.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

using namespace sluice;

constexpr uint64_t kHz = 1'000'000'000;

// UDP from 10.0.0.1:1000 to 10.0.0.2:2000, without a checksum.
const std::vector<uint8_t> kFrame = {
    2, 0, 0,  0,  0,    2,    2,  0, 0, 0, 0,  1,  8,  0,  0x45, 0,    0,  46,   0,  1,
    0, 0, 64, 17, 0x66, 0xbc, 10, 0, 0, 1, 10, 0,  0,  2,  3,    0xe8, 7,  0xd0, 0,  26,
    0, 0, 1,  2,  3,    4,    5,  6, 7, 8, 9,  10, 11, 12, 13,   14,   15, 16,   17, 18};

engine::maglev::Setup OneVip() {
  engine::maglev::Setup setup;
  setup.next_hop = packet::MacAddress{2, 0, 0, 0, 0, 9};
  auto& vip = setup.vips.emplace_back();
  vip.name = "udp";
  vip.address = *engine::maglev::IpAddress::Parse("10.0.0.2");
  vip.port = 2000;
  vip.protocol = 17;
  auto& backend = vip.backends.emplace_back();
  backend.name = "one";
  backend.address = *engine::maglev::IpAddress::Parse("192.0.2.1");
  return setup;
}

}  // namespace

int main() {
  engine::telemetry::Setup setup;
  setup.probability = 1;
  engine::telemetry::Meter meter(setup, 0, kHz, 0);
  const auto tables = engine::maglev::Tables::Build(OneVip(), nullptr);
  const std::atomic<const engine::maglev::Tables*> published(tables.get());
  engine::maglev::Balancer balancer(&published, 1, kHz);
  balancer.AtRest(0);

  std::vector<uint8_t> memory;
  packet::Frame frame{};
  for (int i = 0; i < 3; ++i) {
    memory.assign(engine::maglev::Balancer::kHeadroomBytes, 0);
    memory.insert(memory.end(), kFrame.begin(), kFrame.end());
    frame = {memory.data() + engine::maglev::Balancer::kHeadroomBytes,
             static_cast<uint32_t>(kFrame.size()), engine::maglev::Balancer::kHeadroomBytes, 0};
    packet::ProcessFrame(meter, frame, 0);
    if (packet::ProcessFrame(balancer, frame, 0) != packet::kForward) return 1;
  }
  meter.Finish(1);
  const engine::telemetry::Epoch* const epochs[] = {meter.Closed()};
  const auto report = engine::telemetry::Analyst(setup, kHz).Report(epochs);
  const uint8_t* const to = frame.data + 30;
  std::printf("%d frames, %zu flow, backend %d.%d.%d.%d\n", static_cast<int>(report->total.pkts),
              report->keys[0].heavy_hitters.size(), to[0], to[1], to[2], to[3]);
  return 0;
}
