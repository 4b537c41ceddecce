// SPDX-License-Identifier: BSD-3-Clause
//
// One worker's key-value server. As a packet::BurstEngine, it finds the requests in frames, serves
// those that its worker may serve, hands the others to their owners, and answers in place if the
// answer fits.
#pragma once

#include <cstdint>
#include <utility>

#include "base/counter_rows.h"
#include "engine/kv/handoff.h"
#include "engine/kv/responder.h"
#include "packet/burst.h"
#include "packet/engine.h"
#include "packet/frame.h"
#include "packet/outbox.h"

namespace sluice::engine::kv {

template <HandoffQueue Q>
class Server final : public packet::Engine {
 public:
  enum Reason : uint8_t {
    kMalformed,    ///< A header does not fit or contradicts another.
    kFragment,     ///< Fragments are not reassembled.
    kOptions,      ///< IPv4 options or IPv6 extension headers.
    kBadChecksum,  ///< Wrong UDP checksum; over IPv6 also a missing one.
    kRefused,      ///< Not a request of the port's protocol.
    kNoHandoff,    ///< For another worker, but no handoff is free or can contain it.
    kNotOurs,      ///< This value and the next two correspond to those of Refusal.
    kBadSource,
    kBadPort,
    kWithheld,  ///< Served, but the answer exceeds the limit for its source.
    kReasons
  };
  static constexpr auto kDropReasons =
      base::Names<Reason, kReasons>({{kMalformed, "malformed"},
                                     {kFragment, "fragment"},
                                     {kOptions, "ip_options"},
                                     {kBadChecksum, "bad_checksum"},
                                     {kRefused, "refused"},
                                     {kNoHandoff, "no_handoff"},
                                     {kNotOurs, "not_ours"},
                                     {kBadSource, "bad_source"},
                                     {kBadPort, "bad_source_port"},
                                     {kWithheld, "withheld"}});
  static constexpr bool kOwnFramesOnly = true;

  /// `store` and the objects that `queue` refers to must outlive the server. `cycles_per_second` is
  /// the frequency of the `now` arguments.
  Server(Store& store, uint32_t worker, const ServiceOptions& options, Q queue,
         uint64_t cycles_per_second)
      : responder_(store, worker, options, cycles_per_second), handoffs_(std::move(queue)) {}

  /// Must be called before the first ProcessBurst.
  void set_outbox(packet::Outbox outbox) override { responder_.set_outbox(outbox); }

  /// Updates the time, and serves one request of a live snapshot and up to kHandoffsAtRest handoffs
  /// from other workers. Must be called between bursts.
  void AtRest(uint64_t now) override {
    responder_.SetTime(now);
    responder_.ServeSnapshot();
    for (uint32_t i = 0; i < kHandoffsAtRest; ++i) {
      Handoff* const handoff = handoffs_.Receive();
      if (handoff == nullptr) break;
      const Service service = responder_.ServeHandoff(*handoff);
      if (service.outcome == Outcome::kForeign) {
        handoffs_.Send(service.owner, handoff);
      } else {
        handoffs_.Free(handoff);
      }
    }
  }

  /// Serves the frames in order while later ones are planned and prefetched.
  template <packet::Burst Burst>
  void ProcessBurst(Burst& burst, uint64_t /*now*/) {
    uint32_t fetched = 0, planned = 0;  // Frames fetched and planned so far.
    uint32_t lines = 0;                 // Cache lines that are prefetched but not planned.
    for (uint32_t number = 0; number < burst.size(); ++number) {
      while (planned < burst.size() && responder_.WantsMore()) {
        while (fetched < burst.size() && lines < kLinesAhead) lines += Fetch(burst.At(fetched++));
        const packet::Frame frame = burst.At(planned++);
        responder_.Plan(frame.data, frame.length);
        lines -= LinesOf(frame.length);
      }
      packet::Frame frame = burst.At(number);
      const packet::Verdict verdict = Serve(frame);
      burst.Answer(number, frame, verdict);
    }
  }

  const Responder& responder() const { return responder_; }

 private:
  /// Number of handoffs served per AtRest call: as many as a burst has frames, so that handoffs do
  /// not delay frames for long.
  static constexpr uint32_t kHandoffsAtRest = 64;
  static constexpr uint32_t kLineBytes = 64;
  /// Number of cache lines to prefetch before their frames are planned: about the number of loads
  /// that a core can have outstanding. Planning follows the requests by their lengths and would
  /// otherwise stall on each line.
  static constexpr uint32_t kLinesAhead = 32;

  static uint32_t LinesOf(uint32_t length) { return (length + kLineBytes - 1) / kLineBytes; }
  /// Prefetches a frame for writing, because answers overwrite their requests. Returns the number
  /// of cache lines.
  static uint32_t Fetch(const packet::Frame& frame) {
    const uint32_t lines = LinesOf(frame.length);
    for (uint32_t i = 0; i < lines; ++i) __builtin_prefetch(frame.data + i * kLineBytes, 1);
    return lines;
  }

  packet::Verdict Serve(packet::Frame& frame) {
    const Service service = responder_.Serve(frame.data, frame.length, frame.tailroom);
    switch (service.outcome) {
      case Outcome::kAnswered:
        frame.data = service.data;
        frame.length = service.length;
        return packet::kForward;
      case Outcome::kServed:
        return packet::kConsume;
      case Outcome::kOther:
        return packet::kPass;
      case Outcome::kForeign:
        return HandOver(frame.data, frame.length, service.owner);
      case Outcome::kUnfit:
        return packet::Drop(ReasonOf(service.kind));
      case Outcome::kTurnedAway:
        return packet::Drop(ReasonOf(service.refusal));
      case Outcome::kWithheld:
        break;
    }
    return packet::Drop(kWithheld);
  }

  [[gnu::noinline]] packet::Verdict HandOver(const uint8_t* frame, uint32_t length,
                                             uint32_t owner) {
    Handoff* const handoff = handoffs_.Allocate();
    if (handoff == nullptr) return packet::Drop(kNoHandoff);
    if (!responder_.Pack(frame, length, *handoff)) {
      handoffs_.Free(handoff);
      return packet::Drop(kNoHandoff);
    }
    handoffs_.Send(owner, handoff);
    return packet::kConsume;
  }

  static Reason ReasonOf(packet::Datagram::Kind kind) {
    switch (kind) {
      case packet::Datagram::Kind::kFragment:
        return kFragment;
      case packet::Datagram::Kind::kOptions:
        return kOptions;
      case packet::Datagram::Kind::kBadChecksum:
        return kBadChecksum;
      case packet::Datagram::Kind::kUdp:
        return kRefused;
      default:
        return kMalformed;
    }
  }

  static Reason ReasonOf(Refusal refusal) {
    if (refusal == Refusal::kNotOurs) return kNotOurs;
    return refusal == Refusal::kBadSource ? kBadSource : kBadPort;
  }

  Responder responder_;
  Q handoffs_;
};

}  // namespace sluice::engine::kv
