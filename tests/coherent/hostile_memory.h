// SPDX-License-Identifier: BSD-3-Clause
//
// A peer that stores arbitrary words anywhere in an endpoint's memory, driven by a string of bytes.
// The property test and the fuzzer use it. After any store, an end must access only that memory,
// return only spans within it, and report each lent request once, with its tag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "../fuzz/choices.h"
#include "coherent/frames.h"
#include "coherent/host_end.h"
#include "coherent/nic_end.h"

namespace sluice::coherent::test {

/// An endpoint between guard areas that must stay unmodified.
class GuardedEndpoint {
 public:
  static constexpr Geometry kGeometry = {.overflow_lines = 1, .buffer_bytes = 4096};

  GuardedEndpoint() : bytes_(kGeometry.Bytes() + 3 * kGuard, 0xa5) {
    const auto at = reinterpret_cast<uintptr_t>(bytes_.data()) + kGuard;
    base_ = reinterpret_cast<uint8_t*>((at + kGuard - 1) / kGuard * kGuard);
    std::memset(base_, 0, kGeometry.Bytes());
    memory = EndpointMemory::Format({base_, kGeometry.Bytes()}, kGeometry);
  }
  bool Intact() const {
    for (const uint8_t* at = bytes_.data(); at < base_; ++at) {
      if (*at != 0xa5) return false;
    }
    for (const uint8_t* at = base_ + kGeometry.Bytes(); at < bytes_.data() + bytes_.size(); ++at) {
      if (*at != 0xa5) return false;
    }
    return true;
  }
  bool Holds(std::span<const uint8_t> span) const {
    return span.empty() ||
           (span.data() >= base_ && span.data() + span.size() <= base_ + kGeometry.Bytes());
  }
  /// Stores an arbitrary word at an arbitrary offset.
  void StoreAnywhere(fuzz::Choices& bytes) {
    const size_t at = bytes.Word16() % (kGeometry.Bytes() / 8) * 8;
    const uint64_t word = bytes.Word64();
    std::memcpy(base_ + at, &word, sizeof(word));
  }
  /// Stores the control word of a line. The word is usually valid and of a `likely` kind.
  void StoreHead(fuzz::Choices& bytes, Pair pair, uint64_t number, std::span<const Kind> likely) {
    const uint8_t how = bytes.Byte(), kind = bytes.Byte();
    const Control control = {
        static_cast<uint32_t>(number + (how % 16 == 0)),
        bytes.Word16() % (how % 8 == 1 ? 6000 : 300), static_cast<uint8_t>(bytes.Byte() % 4),
        how % 8 == 2,
        how % 8 == 3 ? static_cast<Kind>(kind % (kKinds + 1)) : likely[kind % likely.size()]};
    memory.line(pair, number).control = control.Word();
  }

  EndpointMemory memory;

 private:
  static constexpr size_t kGuard = 4096;

  std::vector<uint8_t> bytes_;
  uint8_t* base_ = nullptr;
};

/// Result of a run.
struct Driven {
  const char* broken = nullptr;  ///< The violated invariant, or null.
  uint32_t contents =
      0;  ///< Number of payloads that the host received or that were returned to the NIC.
};

inline void Walk(std::span<uint8_t> payload, uint8_t count, const GuardedEndpoint& endpoint,
                 Driven& driven) {
  FrameWalker walker(payload, count);
  while (walker.Next()) {
    if (!endpoint.Holds(walker.frame())) driven.broken = "a frame is outside its memory";
    walker.Set(kRecordBytes, 0);
  }
}

inline constexpr Kind kReturns[] = {Kind::kReply, Kind::kFrames, Kind::kNoReply, Kind::kCall};
inline constexpr Kind kAnswers[] = {Kind::kRequest, Kind::kFrames, Kind::kGrant, Kind::kTryAgain,
                                    Kind::kYieldNow};

inline Driven DriveNic(const uint8_t* data, size_t size) {
  Driven driven;
  fuzz::Choices bytes(data, size);
  GuardedEndpoint endpoint;
  NicEnd nic(endpoint.memory, {.process = 7}, 0);
  uint64_t now = 0, tag = 0;
  uint64_t lent = 0;  ///< Tag of the lent request; 0 without one.
  while (!bytes.empty() && driven.broken == nullptr) {
    const uint8_t what = bytes.Byte();
    const Pair pair = what >> 7 != 0 ? Pair::kTransmit : Pair::kReceive;
    // A load that is out of sequence closes the endpoint and ends the useful part of the run.
    const bool follows = !nic.Waits(pair) || bytes.Byte() % 32 == 0;
    switch (what % 12) {
      case 0:
        endpoint.StoreAnywhere(bytes);
        break;
      case 1:
        if (follows) endpoint.memory.host(pair).load += what % 64 == 1 ? bytes.Byte() : 1;
        break;
      case 2:
        endpoint.memory.host(Pair::kReceive).busy = bytes.Byte() % 2;
        break;
      case 3:
      case 4:
        endpoint.StoreHead(bytes, pair, nic.number(pair), kReturns);
        if (follows) ++endpoint.memory.host(pair).load;
        break;
      case 5:
        if (nic.Deliver(pair, {.kind = Kind::kRequest, .length = 8}, 6, 0)) {
          driven.broken = "a request of another process was delivered";
        }
        break;
      case 6:
      case 7: {
        const Content content = {
            .kind = Kind::kRequest, .length = bytes.Word16() % 5000, .in_buffer = (what & 64) != 0};
        if (!nic.Deliver(pair, content, 7, ++tag)) break;
        if (pair == Pair::kTransmit) break;
        if (lent != 0) driven.broken = "two lines are lent";
        lent = tag;
        break;
      }
      case 8:
        nic.Preempt(now);
        break;
      case 9:
        if ((what & 64) != 0) nic.Resume();
        if ((what & 64) == 0) nic.YieldNow();
        break;
      case 10:
        if (what == 10) nic.Kill();
        break;
      default:
        now += uint64_t{1} << what / 8;
    }
    for (const Pair each : {Pair::kReceive, Pair::kTransmit}) {
      if (nic.Look(each, now) != Seen::kReturned) continue;
      const Returned& back = nic.returned(each);
      ++driven.contents;
      if (!endpoint.Holds(back.payload)) driven.broken = "a payload is outside its memory";
      if (each == Pair::kReceive && back.tag.value_or(0) != lent) driven.broken = "the wrong tag";
      if (each == Pair::kReceive) lent = 0;
      if (back.kind == Kind::kFrames) Walk(back.payload, back.count, endpoint, driven);
    }
    if (nic.closed()) {
      if (nic.ConsumeLost(Pair::kReceive).value_or(0) != lent) driven.broken = "lost, wrongly";
      lent = 0;
    }
    const NicCounters& counters = nic.counters(Pair::kReceive);
    if (counters.delivered !=
        counters.replied + counters.unreplied + counters.malformed + counters.lost + (lent != 0)) {
      driven.broken = "something has no ending";
    }
    if (nic.closed() && nic.Deliver(pair, {.kind = Kind::kRequest}, 7, 0)) {
      driven.broken = "a closed endpoint answers";
    }
  }
  if (!endpoint.Intact()) driven.broken = "it wrote outside its memory";
  return driven;
}

inline Driven DriveHost(const uint8_t* data, size_t size) {
  Driven driven;
  fuzz::Choices bytes(data, size);
  GuardedEndpoint endpoint;
  HostEnd host(endpoint.memory, WaitMethod::kPause);
  while (!bytes.empty() && driven.broken == nullptr) {
    const uint8_t what = bytes.Byte();
    const Pair pair = what >> 7 != 0 ? Pair::kTransmit : Pair::kReceive;
    switch (what % 6) {
      case 0:
        endpoint.StoreAnywhere(bytes);
        break;
      case 1:
        endpoint.memory.header().ready = what % 64 == 1 ? bytes.Byte() % 3 : kReady;
        break;
      case 2:
      case 3:
        endpoint.StoreHead(bytes, pair, host.number(pair), kAnswers);
        break;
      case 4:
        if (host.Return({.kind = Kind::kReply, .length = bytes.Word16() % 6000}) &&
            host.state(Pair::kReceive) != State::kWritten) {
          driven.broken = "returned, and not written";
        }
        break;
      default:
        host.Send({.kind = Kind::kFrames, .length = bytes.Word16() % 6000, .count = 1});
    }
    const State before = host.state(pair);
    const uint64_t number = host.number(pair);
    const Got got = pair == Pair::kReceive ? host.Wait(0) : host.Grant(0);
    if (host.number(pair) - number > 1) driven.broken = "two loads at once";
    if (host.state(pair) == State::kStopped && got != Got::kClosed) driven.broken = "not closed";
    if (before == State::kStopped && got != Got::kClosed) driven.broken = "open again";
    if (got != Got::kContent || pair == Pair::kTransmit) continue;
    ++driven.contents;
    if (!endpoint.Holds(host.payload())) driven.broken = "a payload is outside its memory";
    if (host.content().kind == Kind::kFrames) {
      Walk(host.payload(), host.content().count, endpoint, driven);
    }
  }
  if (!endpoint.Intact()) driven.broken = "it wrote outside its memory";
  return driven;
}

}  // namespace sluice::coherent::test
