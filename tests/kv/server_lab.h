// SPDX-License-Identifier: BSD-3-Clause
//
// What tests of whole servers share: parcels in one thread, and frames of a client.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/kv/server.h"
#include "packet/checksum.h"

namespace sluice::engine::kv {

using Frame = std::vector<uint8_t>;

inline constexpr uint32_t kWorkers = 2;
inline constexpr uint16_t kMicaPort = 1024;
inline constexpr uint16_t kMemcachedPort = 11211;

/// Parcels of two workers in one thread.
struct Office {
  std::vector<std::unique_ptr<Parcel>> parcels;
  std::vector<Parcel*> empty;
  std::deque<Parcel*> inbox[kWorkers];
};

class TestCourier {
 public:
  TestCourier(Office& office, uint32_t worker) : office_(&office), worker_(worker) {}
  Parcel* Empty() {
    if (office_->empty.empty()) return nullptr;
    Parcel* const parcel = office_->empty.back();
    office_->empty.pop_back();
    return parcel;
  }
  void Send(uint32_t worker, Parcel* parcel) { office_->inbox[worker].push_back(parcel); }
  Parcel* Receive() {
    auto& inbox = office_->inbox[worker_];
    if (inbox.empty()) return nullptr;
    Parcel* const parcel = inbox.front();
    inbox.pop_front();
    return parcel;
  }
  void Return(Parcel* parcel) { office_->empty.push_back(parcel); }

 private:
  Office* office_;
  uint32_t worker_;
};

/// The frames that a worker sends of its own accord.
struct Sent {
  std::vector<Frame> frames;
  bool Send(const uint8_t* frame, uint32_t length) {
    frames.emplace_back(frame, frame + length);
    return true;
  }
};

inline constexpr packet::MacAddress kClientMac{2, 0, 0, 0, 0, 1}, kServerMac{2, 0, 0, 0, 0, 2};

/// Answers what comes for kServerMac, wherever in IP.
inline ServiceOptions LabOptions() {
  ServiceOptions options;
  options.mica_port = kMicaPort;
  options.memcached_port = kMemcachedPort;
  options.version = "1";
  options.gate.own = OwnAddresses(kServerMac);
  return options;
}

inline void FinishUdp(Frame* frame, size_t ip, size_t udp, bool ipv6, bool summed) {
  const auto bytes = static_cast<uint16_t>(frame->size() - udp);
  packet::StoreBe16(&(*frame)[udp + 4], bytes);
  if (!summed) return;
  const uint64_t pseudo = ipv6 ? packet::PseudoHeaderSumIpv6(&(*frame)[ip], 17, bytes)
                               : packet::PseudoHeaderSumIpv4(&(*frame)[ip], 17, bytes);
  packet::Store(&(*frame)[udp + 6],
                packet::FinishChecksum(packet::SumBytes(&(*frame)[udp], bytes, pseudo)));
}

/// UDP from 10.0.0.1:40000 to 10.0.0.2:`port`, or from 2001:db8::1 to ::2.
inline Frame Udp(uint16_t port, const Frame& payload, bool ipv6 = false, bool summed = true,
                 bool vlan = false) {
  Frame frame(kServerMac.begin(), kServerMac.end());
  frame.insert(frame.end(), kClientMac.begin(), kClientMac.end());
  if (vlan) frame.insert(frame.end(), {0x81, 0x00, 0x00, 0x07});
  const size_t ip = frame.size() + 2;
  const auto udp_bytes = static_cast<uint16_t>(8 + payload.size());
  if (ipv6) {
    frame.insert(frame.end(), {0x86, 0xdd, 0x60, 0, 0, 0, static_cast<uint8_t>(udp_bytes >> 8),
                               static_cast<uint8_t>(udp_bytes), 17, 64});
    for (const uint8_t host : {1, 2}) {
      frame.insert(frame.end(), {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host});
    }
  } else {
    const auto total = static_cast<uint16_t>(20 + udp_bytes);
    frame.insert(frame.end(), {0x08, 0x00, 0x45, 0, static_cast<uint8_t>(total >> 8),
                               static_cast<uint8_t>(total), 0, 0, 0, 0, 64, 17, 0, 0,
                               10, 0, 0, 1, 10, 0, 0, 2});
    packet::Store(&frame[ip + 10], packet::FinishChecksum(packet::SumBytes(&frame[ip], 20)));
  }
  const size_t udp = frame.size();
  frame.insert(frame.end(), {40000 >> 8, 40000 & 0xff, static_cast<uint8_t>(port >> 8),
                             static_cast<uint8_t>(port), 0, 0, 0, 0});
  frame.insert(frame.end(), payload.begin(), payload.end());
  FinishUdp(&frame, ip, udp, ipv6, summed);
  return frame;
}

/// memcached's ASCII over UDP.
inline Frame Ascii(const std::string& text, uint16_t request_id = 0x1234) {
  Frame payload{static_cast<uint8_t>(request_id >> 8), static_cast<uint8_t>(request_id),
                0, 0, 0, 1, 0, 0};
  payload.insert(payload.end(), text.begin(), text.end());
  return payload;
}

}  // namespace sluice::engine::kv
