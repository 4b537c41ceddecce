// SPDX-License-Identifier: BSD-3-Clause
//
// Common parts of the tests for complete servers: handoffs between workers in one thread, a
// client's frames, and a host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/kv/mica_format.h"
#include "engine/kv/server.h"
#include "packet/burst.h"
#include "packet/checksum.h"
#include "packet/own_addresses.h"

namespace sluice::engine::kv {

using Frame = std::vector<uint8_t>;

inline constexpr uint32_t kWorkers = 2;
inline constexpr uint16_t kMicaPort = 1024;
inline constexpr uint16_t kMemcachedPort = 11211;

/// Handoffs between two workers in one thread.
struct Handoffs {
  std::vector<std::unique_ptr<Handoff>> handoffs;
  std::vector<Handoff*> empty;
  std::deque<Handoff*> inbox[kWorkers];
};

class TestHandoffQueue {
 public:
  TestHandoffQueue(Handoffs& handoffs, uint32_t worker) : handoffs_(&handoffs), worker_(worker) {}
  Handoff* Allocate() {
    if (handoffs_->empty.empty()) return nullptr;
    Handoff* const handoff = handoffs_->empty.back();
    handoffs_->empty.pop_back();
    return handoff;
  }
  void Send(uint32_t worker, Handoff* handoff) { handoffs_->inbox[worker].push_back(handoff); }
  Handoff* Receive() {
    auto& inbox = handoffs_->inbox[worker_];
    if (inbox.empty()) return nullptr;
    Handoff* const handoff = inbox.front();
    inbox.pop_front();
    return handoff;
  }
  void Free(Handoff* handoff) { handoffs_->empty.push_back(handoff); }

 private:
  Handoffs* handoffs_;
  uint32_t worker_;
};

/// Records the frames that a worker sends through its outbox.
struct Sent {
  std::vector<Frame> frames;
  bool Send(const uint8_t* frame, uint32_t length) {
    frames.emplace_back(frame, frame + length);
    return true;
  }
};

inline constexpr packet::MacAddress kClientMac{2, 0, 0, 0, 0, 1}, kServerMac{2, 0, 0, 0, 0, 2};

/// Options of a server that answers frames for kServerMac with any IP destination.
inline ServiceOptions LabOptions() {
  ServiceOptions options;
  options.mica_port = kMicaPort;
  options.memcached_port = kMemcachedPort;
  options.facts.version = "1";
  options.gate.own = packet::OwnAddresses(kServerMac);
  return options;
}

/// Returns the payload of a datagram with MICA requests.
inline Frame MicaPayload(const std::vector<MicaMessage>& messages) {
  Frame payload(kMicaHeaderBytes);
  WriteMicaHeader(payload.data(), kMicaRequests, static_cast<uint32_t>(messages.size()));
  for (const MicaMessage& message : messages) {
    const size_t at = payload.size();
    payload.resize(at + MicaMessageSize(message.key.size(), message.value.size()));
    WriteMica(message, &payload[at]);
  }
  return payload;
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

/// Returns a UDP frame from 10.0.0.1:40000 to 10.0.0.2:`port`, or the same from 2001:db8::1 to
/// 2001:db8::2.
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
    frame.insert(frame.end(), {0x08,
                               0x00,
                               0x45,
                               0,
                               static_cast<uint8_t>(total >> 8),
                               static_cast<uint8_t>(total),
                               0,
                               0,
                               0,
                               0,
                               64,
                               17,
                               0,
                               0,
                               10,
                               0,
                               0,
                               1,
                               10,
                               0,
                               0,
                               2});
    packet::Store(&frame[ip + 10], packet::FinishChecksum(packet::SumBytes(&frame[ip], 20)));
  }
  const size_t udp = frame.size();
  frame.insert(frame.end(), {40000 >> 8, 40000 & 0xff, static_cast<uint8_t>(port >> 8),
                             static_cast<uint8_t>(port), 0, 0, 0, 0});
  frame.insert(frame.end(), payload.begin(), payload.end());
  FinishUdp(&frame, ip, udp, ipv6, summed);
  return frame;
}

/// Returns the payload of a datagram in memcached's ASCII protocol.
inline Frame Ascii(const std::string& text, uint16_t request_id = 0x1234) {
  Frame payload{
      static_cast<uint8_t>(request_id >> 8), static_cast<uint8_t>(request_id), 0, 0, 0, 1, 0, 0};
  payload.insert(payload.end(), text.begin(), text.end());
  return payload;
}

inline constexpr uint64_t kCyclesPerSecond = 1000;

/// Workers with a store, in one thread.
class Host {
 public:
  explicit Host(const ServiceOptions& options, uint32_t workers = 1, bool concurrent_read = true) {
    store_.workers = workers;
    store_.secret = 42;
    store_.concurrent_read = concurrent_read;
    for (uint32_t i = 0; i < workers; ++i) {
      store_.partitions.emplace_back(PartitionOptions{.memory_bytes = 4 << 20, .items = 1 << 10});
      entries_.push_back(std::make_unique<Handoff>());
      handoffs_.empty.push_back(entries_.back().get());
    }
    for (uint32_t i = 0; i < workers; ++i) {
      servers_.push_back(std::make_unique<Server<TestHandoffQueue>>(
          store_, i, options, TestHandoffQueue(handoffs_, i), kCyclesPerSecond));
      servers_[i]->set_outbox(packet::Outbox::To(sent_));
    }
    Rest(0);
  }

  void Rest(uint64_t now) {
    for (int i = 0; i < 2; ++i) {
      for (auto& server : servers_) server->AtRest(now);
    }
  }
  /// Processes a frame. If the verdict is kForward, `view` becomes the answer.
  packet::Verdict Process(packet::Frame& view, uint32_t worker = 0) {
    return packet::ProcessFrame(*servers_[worker], view, 0);
  }
  packet::Verdict Receive(Frame frame, uint32_t worker = 0) {
    packet::Frame view{frame.data(), static_cast<uint32_t>(frame.size()), 0, 0};
    const packet::Verdict verdict = Process(view, worker);
    if (verdict == packet::kForward) sent_.Send(view.data, view.length);
    return verdict;
  }
  /// Returns the frames sent since the last call.
  std::vector<Frame> Sent() { return std::exchange(sent_.frames, {}); }
  uint64_t SentBytes() {
    uint64_t bytes = 0;
    for (const Frame& frame : Sent()) bytes += frame.size();
    return bytes;
  }
  const ResponderCounters& counters(uint32_t worker = 0) const {
    return servers_[worker]->responder().counters();
  }
  std::string KeyOf(uint32_t worker) const {
    for (int i = 0;; ++i) {
      std::string key = "key" + std::to_string(i);
      if (store_.OwnerOf(RouteHash({reinterpret_cast<const uint8_t*>(key.data()), key.size()})) ==
          worker) {
        return key;
      }
    }
  }

 private:
  Store store_;
  Handoffs handoffs_;
  std::vector<std::unique_ptr<Handoff>> entries_;
  kv::Sent sent_;
  std::vector<std::unique_ptr<Server<TestHandoffQueue>>> servers_;
};

/// Overwrites bytes at offset `at`.
inline void Put(Frame* frame, size_t at, const Frame& bytes) {
  std::copy(bytes.begin(), bytes.end(), frame->begin() + static_cast<ptrdiff_t>(at));
}

/// Returns a get over IPv4 without a UDP checksum.
inline Frame Get(const std::string& key = "a") {
  return Udp(kMemcachedPort, Ascii("get " + key + "\r\n"), false, false);
}

/// Offsets in an untagged frame.
inline constexpr size_t kSourceMac = 6, kSource4 = 26, kTo4 = 30, kPort4 = 34;
constexpr size_t kSource6 = 22, kTo6 = 38, kPort6 = 54;

}  // namespace sluice::engine::kv
