// SPDX-License-Identifier: BSD-3-Clause
//
// A balancer with the environment that tests require.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/maglev/balancer.h"
#include "engine/maglev/setup.h"
#include "engine/maglev/tables.h"
#include "maglev_frames.h"
#include "packet/burst.h"
#include "packet/frame.h"
#include "packet/parse.h"

namespace sluice::engine::maglev::test {

using Bytes = std::vector<uint8_t>;

inline constexpr uint64_t kHz = 1000;  ///< `now` is in milliseconds.

/// A balancer, its tables, and a clock.
class Lab {
 public:
  explicit Lab(const Setup& setup, uint64_t seed = 7) { Apply(setup, seed); }

  void Apply(const Setup& setup, uint64_t seed = 7) {
    EXPECT_EQ(Check(setup), std::vector<std::string>{});
    auto next = Tables::Build(setup, tables_.get());
    published_.store(next.get());
    if (balancer_ == nullptr) balancer_ = std::make_unique<Balancer>(&published_, seed, kHz);
    balancer_->AtRest(now_);
    tables_ = std::move(next);
  }
  void Wait(uint32_t seconds) { WaitMs(uint64_t{seconds} * kHz); }
  /// Advances the clock. If at least 10 ms have passed, the next packet of a flow establishes the
  /// flow.
  void WaitMs(uint64_t milliseconds) {
    now_ += milliseconds;
    balancer_->AtRest(now_);
  }

  /// Sends a frame that has `headroom` bytes of headroom and no tailroom. Sets `out` to the
  /// resulting frame.
  packet::Verdict Send(const Bytes& frame, Bytes* out = nullptr, uint32_t headroom = 64) {
    Bytes room(headroom + frame.size(), 0xee);
    std::copy(frame.begin(), frame.end(), room.begin() + headroom);
    packet::Frame view{room.data() + headroom, static_cast<uint32_t>(frame.size()), headroom, 0};
    const packet::Verdict verdict = packet::ProcessFrame(*balancer_, view, now_);
    if (out != nullptr) out->assign(view.data, view.data + view.length);
    return verdict;
  }
  /// Sends a frame. Returns the outer destination, which is the backend's name, or "" if the frame
  /// was not forwarded.
  std::string BackendOf(const Bytes& frame, uint32_t headroom = 64) {
    Bytes out;
    if (Send(frame, &out, headroom) != packet::kForward) return "";
    const packet::Headers headers = packet::Parse(out.data(), static_cast<uint32_t>(out.size()));
    EXPECT_EQ(headers.error, packet::ParseError::kNone);
    EXPECT_EQ(headers.protocol, 4) << "IPv4 in IPv4";
    return IpAddress::Of(packet::Load<packet::Ipv4Address>(out.data() + 30)).ToString();
  }
  uint64_t Count(BalancerCounters::Event event) const {
    return balancer_->counters().events[event];
  }
  /// Returns the number of live connections.
  uint64_t Live() const {
    return balancer_->connections().CountByBackend({}, balancer_->seconds());
  }
  const BalancerCounters& counters() const { return balancer_->counters(); }
  Balancer& balancer() { return *balancer_; }
  const Tables& tables() const { return *tables_; }

 private:
  std::unique_ptr<const Tables> tables_;
  std::atomic<const Tables*> published_;
  std::unique_ptr<Balancer> balancer_;
  uint64_t now_ = 0;
};

/// Returns SetupOf(backends), but with TCP instead of UDP.
inline Setup TcpSetup(uint32_t backends) {
  Setup setup = SetupOf(backends);
  setup.vips[0].protocol = 6;
  return setup;
}

inline constexpr uint8_t kFin = 1, kSyn = 2, kRst = 4, kAck = 16;

/// Returns a TCP variant of UdpFrame: 60 bytes with 6 bytes of payload.
inline Bytes TcpFrame(uint32_t flow, uint8_t flags) {
  Bytes frame = UdpFrame(flow);
  frame[23] = 6;
  std::fill(frame.begin() + 38, frame.end(), uint8_t{0});
  frame[46] = 5 << 4;
  frame[47] = flags;
  SetFlow(frame.data(), flow);
  return frame;
}

}  // namespace sluice::engine::maglev::test
