// SPDX-License-Identifier: BSD-3-Clause
//
// A layer that reassembles fragmented datagrams for an engine that owns addresses. The engine sees
// a whole datagram as one frame, on every interface. This frame is in the layer's memory and
// replaces the fragment that arrived last; its answer is treated as if the engine had built it in a
// separate buffer. Session adds this layer to each engine that owns addresses.
//
// A waiting fragment counts as consumed. If it is dropped later, it is subtracted from the consumed
// counter and added to the drop counter, so that the conservation law of QueueCounters holds
// whenever no Poll is running.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "base/counter_rows.h"
#include "nic/queue_counters.h"
#include "packet/burst.h"
#include "packet/bytes.h"
#include "packet/defragmenter.h"
#include "packet/engine.h"
#include "packet/ethernet.h"
#include "packet/frame_length.h"
#include "packet/parse.h"
#include "packet/rewrite.h"

namespace sluice::nic {

template <packet::HostEngine Engine>
class Reassembling final : public packet::EngineLayer<Engine> {
  using Base = packet::EngineLayer<Engine>;

 public:
  /// The engine's reasons, followed by Defragmenter's.
  static constexpr auto kDropReasons =
      base::JoinNames(Engine::kDropReasons, packet::Defragmenter::kDropReasons);
  static_assert(kDropReasons.size() <= QueueCounters::kMaxReasons);

  /// `make()` constructs the engine in place.
  template <typename Make>
  Reassembling(packet::Defragmenter fragments, Make make)
      : Base(make), fragments_(std::move(fragments)) {}

  packet::Verdict Process(packet::Frame& frame, uint64_t now) {
    if (frame.length >= kLeastBytes && MayBeFragment(frame.data)) [[unlikely]] {
      const Front front = Reassemble(frame.data, frame.length, now);
      if (front.ended) return front.verdict;
      if (front.whole != nullptr) frame = front.Whole();
    }
    return packet::ProcessFrame(this->engine_, frame, now);
  }
  /// A reassembled datagram is passed to the engine separately from the burst.
  template <packet::Burst Burst>
  void ProcessBurst(Burst& burst, uint64_t now) requires packet::BurstEngine<Engine> {
    if (!fragments_.on()) {
      // Uses PartOfBurst, like the calls below, so that the engine's code is instantiated only
      // once.
      packet::PartOfBurst<Burst> whole(burst, 0, burst.size());
      return this->engine_.ProcessBurst(whole, now);
    }
    Front front;
    packet::DivideBurst(
        burst,
        [&](const packet::Frame& frame) {
          if (frame.length < kLeastBytes || !MayBeFragment(frame.data)) [[likely]]
            return false;
          front = Reassemble(frame.data, frame.length, now);
          return front.ended || front.whole != nullptr;
        },
        [&](packet::Frame& frame) {
          if (front.ended) return front.verdict;
          frame = front.Whole();
          return packet::ProcessFrame(this->engine_, frame, now);
        },
        [&](auto& part) { this->engine_.ProcessBurst(part, now); });
  }

  /// Must be called before the first Process.
  void set_counters(QueueCounters& counters) override {
    counters_ = &counters;
    Base::set_counters(counters);
  }
  void AtRest(uint64_t now) override {
    if (fragments_.waiting() > 0) [[unlikely]] {
      fragments_.Expire(now);
      Recount();
    }
    Base::AtRest(now);
  }
  void Leave() override {
    Base::Leave();
    fragments_.Finish();
    Recount();
  }

 private:
  using Outcome = packet::Defragmenter::Outcome;
  static constexpr uint8_t kFirstReason = Engine::kDropReasons.size();
  static constexpr uint32_t kLeastBytes =
      packet::kEthernetHeaderBytes + packet::kIpv4MinHeaderBytes;

  /// Result for one frame. Returned by value, so that the caller's Frame stays in registers.
  struct Front {
    packet::Verdict verdict = packet::kConsume;
    bool ended = false;
    uint8_t* whole = nullptr;
    uint32_t length = 0;

    packet::Frame Whole() const {
      return {whole, length, packet::Defragmenter::kRoomBytes, packet::Defragmenter::kRoomBytes};
    }
  };

  /// Returns true for every fragment that Defragmenter supports. Also returns true for frames that
  /// have VLAN tags or IPv4 options, or are neither IPv4 nor IPv6. Tests for plain IPv4 first, as
  /// engines do, so that a plain IPv4 frame costs only one additional comparison.
  static bool MayBeFragment(const uint8_t* frame) {
    constexpr uint32_t kFlags = packet::kEthernetHeaderBytes + 6;
    constexpr uint16_t kMoreOrOffset = 0xff3f;  // 0x3fff in network order.
    const packet::LeadingWord word = packet::LeadingWord::Of(frame);
    if (word.IsPlainIpv4()) [[likely]] {
      return (packet::Load<uint16_t>(frame + kFlags) & kMoreOrOffset) != 0;
    }
    return word.bits >> 48 != packet::kEtherTypeIpv6 || frame[20] == packet::kProtocolFragment;
  }

  [[gnu::noinline]] Front Reassemble(const uint8_t* frame, uint32_t length, uint64_t now) {
    if (!fragments_.on()) return {};
    const packet::Headers headers = packet::Parse(frame, length);
    if (!packet::Defragmenter::Accepts(headers) || !IsOurs(frame, headers)) return {};
    const packet::Defragmenter::Result taken = fragments_.Accept(frame, headers, now);
    // The queue counts the drop of the current fragment itself.
    if (taken.outcome == Outcome::kDropped) ++counted_[taken.reason];
    Recount();
    switch (taken.outcome) {
      case Outcome::kWaits:
        return {.verdict = packet::kConsume, .ended = true};
      case Outcome::kDropped:
        return {.verdict = packet::Drop(kFirstReason + taken.reason), .ended = true};
      case Outcome::kWhole:
        break;
    }
    QueueCounters::Add(counters_->reassembled_pkts, 1);
    return {.whole = taken.frame, .length = taken.length};
  }

  bool IsOurs(const uint8_t* frame, const packet::Headers& headers) const {
    const auto& own = this->engine_.own();
    if (!own.IsOurMac(frame)) return false;
    const uint8_t* const ip = frame + headers.l3;
    return headers.IsIpv6() ? own.Owns(packet::Load<packet::Ipv6Address>(ip + 24))
                            : own.Owns(packet::Load<packet::Ipv4Address>(ip + 16));
  }

  /// Subtracts fragments that were dropped while they waited from the consumed counter and adds
  /// them to the drop counters.
  void Recount() {
    for (uint8_t reason = 0; reason < packet::Defragmenter::kReasons; ++reason) {
      const uint64_t all = fragments_.ended(static_cast<packet::Defragmenter::Reason>(reason));
      const uint64_t ended = all - std::exchange(counted_[reason], all);
      if (ended == 0) continue;
      QueueCounters::Add(counters_->consumed_pkts, -ended);
      QueueCounters::Add(counters_->engine_drops[kFirstReason + reason], ended);
    }
  }

  packet::Defragmenter fragments_;
  /// Fragments already counted as dropped, per reason.
  std::array<uint64_t, packet::Defragmenter::kReasons> counted_{};
  QueueCounters* counters_ = nullptr;
};

}  // namespace sluice::nic
