// SPDX-License-Identifier: BSD-3-Clause
//
// From a frame to its answer: which protocol, what it says, where the answer lies. One worker's.
//
// Frames are planned some requests before they are served, so that what those want of memory is
// fetched for many of them at once (MICA, NSDI'14, section 4.4), whatever frames they are in:
//
//   Plan    finds the requests of a frame, and fetches the buckets of their keys
//   Serve   answers a frame, and fetches the items of requests that are planned behind it
//
//                               time ->
//   requests of a frame   ... plan: buckets .. items .. answer ...
//   of the next                   plan: buckets .. items .. answer ...
//
// Nothing is done to the store before Serve, which takes frame after frame in their order.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/kv/access.h"
#include "engine/kv/excess.h"
#include "engine/kv/exchange.h"
#include "engine/kv/gate.h"
#include "engine/kv/handoff.h"
#include "engine/kv/mica_format.h"
#include "engine/kv/mica_protocol.h"
#include "packet/datagram.h"
#include "packet/outbox.h"

namespace sluice::engine::kv {

/// What is served where.
struct ServiceOptions {
  uint16_t memcached_port = 11211;  ///< 0: not served.
  /// MICA's protocol: partition p at this port plus p, so that ports can be steered. 0: not.
  uint16_t mica_port = 1024;
  uint32_t mtu = 1500;
  /// Longest answer to one datagram of memcached's, in bytes of its protocol. Of this length, it
  /// is never too short for a value that was set by one datagram.
  uint32_t max_reply_bytes = 2048;
  GateOptions gate;
  /// What answers to one source may have beyond three times its requests (excess.h), frames with
  /// their headers, of all workers together; 0: not bounded. Saved up for a second at most.
  uint64_t excess_bytes_per_s = 64'000'000;
  uint32_t unix_epoch_s = 0;  ///< Seconds since 1970 when the workers' clock was 0.
  ServerFacts facts;          ///< What memcached's clients are told; the port is the one above.
};

enum class Outcome : uint8_t {
  kAnswered,    ///< By one frame: Service::data, length.
  kServed,      ///< Nothing to send, or it is sent.
  kForeign,     ///< Service::owner must go on.
  kOther,       ///< Not for us.
  kUnfit,       ///< Not to be answered: Service::kind says why, kUdp being the protocol's refusal.
  kTurnedAway,  ///< Not to be answered, whatever it says: Service::refusal.
  kWithheld,    ///< Served, but its answer is more than its source may be sent.
};

struct Service {
  Outcome outcome = Outcome::kOther;
  packet::Datagram::Kind kind = packet::Datagram::Kind::kUdp;
  Refusal refusal = Refusal::kNone;
  uint32_t owner = 0;
  uint32_t length = 0;
  uint8_t* data = nullptr;
};

class Responder {
 public:
  /// `cycles_per_second` of the workers' clock. Main thread, before workers work.
  Responder(Store& store, uint32_t worker, const ServiceOptions& options,
            uint64_t cycles_per_second);

  void set_outbox(packet::Outbox outbox) { outbox_ = outbox; }
  /// Of the workers' clock, in cycles. Before the first Serve.
  void SetTime(uint64_t now) {
    excess_.SetTime(now);
    now_s_ = static_cast<uint32_t>(now / cycles_per_second_);
  }

  /// Whether another frame, if there is one, should be planned before the next is served. Always,
  /// if none is planned.
  bool WantsMore() const {
    const uint32_t frames = planned_count_ - served_count_;
    if (frames == 0) return true;
    if (frames == kPlanned || steps_count_ >= kSteps) return false;
    const Planned& next = planned_[served_count_ % kPlanned];
    return steps_count_ - (next.first + next.steps) < kRequestsAhead;
  }
  /// Looks at a frame that will be served. If WantsMore.
  void Plan(const uint8_t* frame, uint32_t length);
  /// Serves the datagram in the next of the frames that were planned, which has `tailroom` bytes
  /// behind it. An answer lies in the frame or in this object, until the next call. An answer of
  /// several datagrams goes to the outbox.
  Service Serve(uint8_t* frame, uint32_t length, uint32_t tailroom);
  /// After kForeign: writes down where the exchange stands. False: too long for a handoff.
  bool Pack(const uint8_t* frame, uint32_t length, Handoff& handoff);
  /// Goes on with what another worker began: kServed, or kForeign, written down again.
  Service ServeHandoff(Handoff& handoff);

  /// Between bursts: what a live snapshot wants of this worker, at most one chain.
  void ServeSnapshot() { chain_request_->Serve(); }

  const ResponderCounters& counters() const { return *counters_; }

 private:
  /// Headers and memcached's own, in front of a reply.
  static constexpr uint32_t kFrontBytes = 128;
  static constexpr uint32_t kMinFrameBytes = 60;
  /// Requests that are planned behind the frame that is served next: until the first of them is
  /// served, its bucket comes, and then its item. Chosen by measurement, as is ItemsAhead::kSteps.
  static constexpr uint32_t kRequestsAhead = 48;
  static_assert(kRequestsAhead > ItemsAhead::kSteps);
  /// Frames that are planned at a time.
  static constexpr uint32_t kPlanned = 64;
  /// Of steps, behind which no frame begins: then all are served before others are planned. What is
  /// in use must stay in a first-level cache.
  static constexpr uint32_t kSteps = 256;

  enum class Protocol : uint8_t { kNone, kMica, kMemcached };

  /// What Plan found in a frame.
  struct Planned {
    packet::Datagram datagram;
    Outcome outcome = Outcome::kOther;  ///< If it is not kServed, there is nothing to serve.
    Refusal refusal = Refusal::kNone;
    Protocol protocol = Protocol::kNone;
    uint32_t first = 0;  ///< Of its steps.
    uint32_t steps = 0;
  };

  Protocol ProtocolOf(uint16_t port) const;
  /// Adds its steps. Of memcached's requests, there is one at most: of the first that has a key.
  void PlanSteps(Bytes payload, Protocol protocol);
  void ForgetSteps() {
    steps_count_ = 0;
    ahead_.Begin(steps_.data());
  }
  /// Serves what is left of `exchange_`, whose reply has `replied` bytes behind front(). `steps`:
  /// of MICA's requests.
  Service Continue(const uint8_t* frame, uint32_t replied, std::span<uint8_t> in_place,
                   Protocol protocol, std::span<const MicaStep> steps);
  /// Writes down where the exchange stands, for another worker.
  void PackProgress(Handoff& handoff);
  /// The same by the protocol: `payload` is UDP's. The reply has replied_ bytes then.
  Progress ContinueMica(Bytes payload, uint32_t replied, std::span<uint8_t> in_place,
                        std::span<const MicaStep> steps);
  [[gnu::noinline]] Progress ContinueMemcached(Bytes payload, uint32_t replied);
  /// Whether the sender of `datagram_` may be sent the reply; takes what it costs.
  [[gnu::noinline]] bool MayAnswer(const uint8_t* frame, Protocol protocol);
  uint64_t SourceOf(const uint8_t* frame) const;
  Service BuildMemcached(const uint8_t* frame, std::span<uint8_t> in_place);
  /// An answer to `datagram_`, which lies in `frame`: headers and `payload`. In `in_place` if it
  /// fits, else in this object, where `payload` lies, over what is in front of it. `only`: no
  /// other answers the same request.
  Service Build(const uint8_t* frame, uint8_t* payload, uint32_t bytes, std::span<uint8_t> in_place,
                bool only);
  void Send(const uint8_t* frame, uint32_t length);
  uint8_t* front() { return buffer_.get() + kFrontBytes; }

  Access access_;
  ServiceOptions options_;
  packet::Outbox outbox_;
  uint32_t partitions_;
  uint64_t cycles_per_second_;
  Gate gate_;
  Excess excess_;
  uint32_t now_s_ = 0;
  packet::Datagram datagram_;  ///< Being answered.
  Exchange exchange_;
  uint8_t* reply_ = nullptr;  ///< To it, behind front(), or where the request was.
  uint32_t replied_ = 0;      ///< Bytes of it.
  std::unique_ptr<uint8_t[]> buffer_;
  std::array<Planned, kPlanned> planned_;
  uint32_t planned_count_ = 0;
  uint32_t served_count_ = 0;
  /// Of all planned frames, behind one another. The last may have as many as a datagram can.
  std::array<MicaStep, kSteps + kMicaMaxMessages> steps_;
  uint32_t steps_count_ = 0;
  ItemsAhead ahead_;
  std::shared_ptr<ResponderCounters> counters_;  ///< Store::traffic has it, too.
  std::shared_ptr<ChainRequest> chain_request_;  ///< And Store::chain_requests this.
};

}  // namespace sluice::engine::kv
