// SPDX-License-Identifier: BSD-3-Clause
//
// Configurations and frames for tests of the balancer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "engine/maglev/setup.h"
#include "packet/burst.h"
#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/frame.h"

namespace sluice::engine::maglev::test {

inline constexpr packet::MacAddress kRouter{0x02, 0, 0, 0, 0, 0x01};

/// Returns VIP 198.51.100.1 (RFC 5737), UDP port 80, with `backends` backends. Their addresses
/// start at 10.0.0.1.
inline Setup SetupOf(uint32_t backends) {
  Setup setup;
  setup.next_hop = kRouter;
  setup.connections = 1 << 13;
  VipSetup vip;
  vip.name = "web";
  vip.address = *IpAddress::Parse("198.51.100.1");
  vip.port = 80;
  vip.protocol = 17;
  for (uint32_t i = 1; i <= backends; ++i) {
    BackendSetup backend;
    backend.address =
        *IpAddress::Parse("10.0." + std::to_string(i >> 8) + "." + std::to_string(i & 0xff));
    backend.name = backend.address.ToString();
    vip.backends.push_back(backend);
  }
  setup.vips.push_back(vip);
  return setup;
}

/// Sets the source address and port of flow number `flow` in a frame from UdpFrame.
inline void SetFlow(uint8_t* frame, uint32_t flow) {
  packet::StoreBe32(frame + 26, 0x0b000000 + (flow >> 4));
  packet::StoreBe16(frame + 34, static_cast<uint16_t>(1024 + (flow & 15)));
  packet::Store<uint16_t>(frame + 24, 0);
  packet::Store(frame + 24, packet::FinishChecksum(packet::SumBytes(frame + 14, 20)));
}

/// Returns a frame of 60 bytes with 18 bytes of payload. Its UDP checksum is not computed (0).
inline std::vector<uint8_t> UdpFrame(uint32_t flow) {
  constexpr uint8_t kHeaders[] = {
      0x02, 0, 0, 0,  0, 0x0a, 0x02, 0, 0,  0,  0, 0x0b, 0x08, 0x00,  // Ethernet
      0x45, 0, 0, 46, 0, 1,    0,    0, 64, 17, 0, 0,    0,    0,    0, 0, 198, 51, 100, 1,  // IPv4
      0,    0, 0, 80, 0, 26,   0,    0};                                                     // UDP
  std::vector<uint8_t> frame(60, 0xa5);
  std::copy(std::begin(kHeaders), std::end(kHeaders), frame.begin());
  SetFlow(frame.data(), flow);
  return frame;
}

/// Sends each of the first `flows` flows twice through a balancer with a clock in nanoseconds. The
/// packets are far enough apart to establish the flows.
template <typename Balancer>
void Settle(Balancer& balancer, uint32_t flows) {
  constexpr uint32_t kHeadroom = 64;
  std::vector<uint8_t> room(kHeadroom);
  const std::vector<uint8_t> frame = UdpFrame(0);
  room.insert(room.end(), frame.begin(), frame.end());
  for (const uint64_t now : {0, 10'000'000}) {
    balancer.AtRest(now);
    for (uint32_t flow = 0; flow < flows; ++flow) {
      std::copy(frame.begin(), frame.end(), room.begin() + kHeadroom);
      SetFlow(&room[kHeadroom], flow);
      packet::Frame view{&room[kHeadroom], static_cast<uint32_t>(frame.size()), kHeadroom, 0};
      packet::ProcessFrame(balancer, view, now);
    }
  }
}

}  // namespace sluice::engine::maglev::test
