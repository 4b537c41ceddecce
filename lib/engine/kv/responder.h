// SPDX-License-Identifier: BSD-3-Clause
//
// Turns a frame into its answer: finds the protocol, serves the requests and builds the answer
// frame. Used by one worker.
//
// Frames are planned a few requests before they are served, so that their memory is prefetched for
// many requests at once (MICA, NSDI'14, section 4.4), even across frames:
//
//   Plan    finds the requests of a frame and prefetches the buckets of their keys
//   Serve   answers a frame and prefetches the items of later planned requests
//
//                               time ->
//   requests of a frame   ... plan: buckets .. items .. answer ...
//   of the next                   plan: buckets .. items .. answer ...
//
// Only Serve changes the store; it serves the frames in order.
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

/// The protocols, their ports and limits.
struct ServiceOptions {
  uint16_t memcached_port = 11211;  ///< 0 disables the protocol.
  /// MICA's protocol: partition p uses this port plus p, so that the NIC can steer by port. 0
  /// disables the protocol.
  uint16_t mica_port = 1024;
  uint32_t mtu = 1500;
  /// Maximum length of the answer to one memcached datagram, without UDP headers. The default is
  /// long enough for any value that one datagram can set.
  uint32_t max_reply_bytes = 2048;
  GateOptions gate;
  /// Limit on the bytes sent to one source beyond three times those of its requests (excess.h).
  /// Counts frames with headers, for all workers together; 0: unlimited. The bucket holds the bytes
  /// of one second, but at least two answers of max_reply_bytes.
  uint64_t excess_bytes_per_s = 64'000'000;
  uint32_t unix_epoch_s = 0;  ///< Seconds since 1970 at time 0 of the workers' clock.
  ServerFacts facts;          ///< Reported to memcached's clients; udp_port is memcached_port.
};

enum class Outcome : uint8_t {
  kAnswered,    ///< The answer is one frame: Service::data, length.
  kServed,      ///< Nothing to send, or already sent.
  kForeign,     ///< Service::owner must continue.
  kOther,       ///< Not for this server.
  kUnfit,       ///< Drop: Service::kind is the reason; kUdp: rejected by the protocol.
  kTurnedAway,  ///< Drop before parsing the request: Service::refusal is the reason.
  kWithheld,    ///< Served, but the answer exceeds the limit for its source.
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
  /// `cycles_per_second` is the frequency of the workers' clock. Must be called in the main thread
  /// before workers run.
  Responder(Store& store, uint32_t worker, const ServiceOptions& options,
            uint64_t cycles_per_second);

  void set_outbox(packet::Outbox outbox) { outbox_ = outbox; }
  /// Sets the time of the workers' clock in cycles. Must be called before the first Serve.
  void SetTime(uint64_t now) {
    excess_.SetTime(now);
    now_s_ = static_cast<uint32_t>(now / cycles_per_second_);
  }

  /// Returns whether the next frame should be planned before the next planned frame is served.
  /// Returns true if no frame is planned.
  bool WantsMore() const {
    const uint32_t frames = planned_count_ - served_count_;
    if (frames == 0) return true;
    if (frames == kPlanned || steps_count_ >= kSteps) return false;
    const Planned& next = planned_[served_count_ % kPlanned];
    return steps_count_ - (next.first + next.steps) < kRequestsAhead;
  }
  /// Plans a frame, which must be served later. Must be called only if WantsMore() is true.
  void Plan(const uint8_t* frame, uint32_t length);
  /// Serves the datagram in the next planned frame, which has `tailroom` bytes after its end. The
  /// answer is in the frame or in this object, valid until the next call. An answer of several
  /// datagrams goes to the outbox.
  Service Serve(uint8_t* frame, uint32_t length, uint32_t tailroom);
  /// Stores the state of the exchange in `handoff` after kForeign. Returns false if it is too long.
  bool Pack(const uint8_t* frame, uint32_t length, Handoff& handoff);
  /// Continues an exchange that another worker handed over. Returns kServed, or kForeign after
  /// storing the new state in `handoff`.
  Service ServeHandoff(Handoff& handoff);

  /// Copies at most one chain that a live snapshot requested from this worker. Must be called
  /// between bursts.
  void ServeSnapshot() { chain_request_->Serve(); }

  const ResponderCounters& counters() const { return *counters_; }

 private:
  /// Room for network headers and memcached's header before a reply.
  static constexpr uint32_t kFrontBytes = 128;
  static constexpr uint32_t kMinFrameBytes = 60;
  /// Number of requests to plan beyond the frame that is served next, so that the buckets and items
  /// of these requests arrive in the cache in time. This value and ItemsAhead::kSteps were chosen
  /// from measurements.
  static constexpr uint32_t kRequestsAhead = 48;
  static_assert(kRequestsAhead > ItemsAhead::kSteps);
  /// Maximum number of planned frames.
  static constexpr uint32_t kPlanned = 64;
  /// No frame is planned if there are this many steps; all steps are then served first. The steps
  /// in use must fit into a first-level cache.
  static constexpr uint32_t kSteps = 256;

  enum class Protocol : uint8_t { kNone, kMica, kMemcached };

  /// Result of Plan for a frame.
  struct Planned {
    packet::Datagram datagram;
    Outcome outcome = Outcome::kOther;  ///< kServed if there are requests to serve.
    Refusal refusal = Refusal::kNone;
    Protocol protocol = Protocol::kNone;
    uint32_t first = 0;  ///< Index of the first step.
    uint32_t steps = 0;
  };

  Protocol ProtocolOf(uint16_t port) const;
  /// Adds the steps of a datagram.
  void PlanSteps(Bytes payload, Protocol protocol);
  /// Plans a memcached datagram: at most one step, for the first request with a key. Returns the
  /// number of steps.
  [[gnu::noinline]] uint32_t PlanMemcached(Bytes payload, MicaStep& step) const;
  void ForgetSteps() {
    steps_count_ = 0;
    ahead_.Begin(steps_.data());
  }
  /// Serves the remaining requests of `exchange_`, whose reply has `replied` bytes at front().
  /// `steps` are the planned steps of MICA requests.
  [[gnu::always_inline]] inline Service Continue(const uint8_t* frame, uint32_t replied,
                                                 std::span<uint8_t> in_place, Protocol protocol,
                                                 std::span<const MicaStep> steps);
  /// Stores the state of the exchange for another worker.
  void PackProgress(Handoff& handoff);
  /// Serve the remaining requests with one protocol. `payload` is the UDP payload. Afterwards the
  /// reply has replied_ bytes.
  Progress ContinueMica(Bytes payload, uint32_t replied, std::span<uint8_t> in_place,
                        std::span<const MicaStep> steps);
  [[gnu::noinline]] Progress ContinueMemcached(Bytes payload, uint32_t replied);
  /// Returns whether the reply may be sent to the sender of `datagram_` and, if so, charges its
  /// cost.
  [[gnu::noinline]] bool MayAnswer(const uint8_t* frame, Protocol protocol);
  uint64_t SourceOf(const uint8_t* frame) const;
  [[gnu::noinline]] Service BuildMemcached(const uint8_t* frame, std::span<uint8_t> in_place);
  /// Builds an answer to `datagram_`, which is in `frame`. The answer consists of headers and
  /// `payload`. Uses `in_place` if the answer fits there; otherwise, writes the headers before
  /// `payload` in this object. `only` means that the answer has no further datagrams.
  [[gnu::always_inline]] inline Service Build(const uint8_t* frame, uint8_t* payload,
                                              uint32_t bytes, std::span<uint8_t> in_place,
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
  packet::Datagram datagram_;  ///< The datagram that is being answered.
  Exchange exchange_;
  uint8_t* reply_ = nullptr;  ///< The reply: at front(), or in the memory of the request.
  uint32_t replied_ = 0;      ///< Bytes of the reply.
  std::unique_ptr<uint8_t[]> buffer_;
  std::array<Planned, kPlanned> planned_;
  uint32_t planned_count_ = 0;
  uint32_t served_count_ = 0;
  /// Steps of all planned frames in order. The last frame may have as many steps as a datagram can.
  std::array<MicaStep, kSteps + kMicaMaxMessages> steps_;
  uint32_t steps_count_ = 0;
  ItemsAhead ahead_;
  std::shared_ptr<ResponderCounters> counters_;  ///< Shared with Store::traffic.
  std::shared_ptr<ChainRequest> chain_request_;  ///< Shared with Store::chain_requests.
};

}  // namespace sluice::engine::kv
