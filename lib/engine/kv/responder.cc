// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/responder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/kv/memcached/ascii.h"
#include "engine/kv/memcached/binary.h"
#include "engine/kv/memcached/glance.h"
#include "engine/kv/memcached/udp_frame.h"
#include "engine/kv/word.h"

namespace sluice::engine::kv {

using packet::Datagram;

namespace {

/// A full bucket pays for at least this many answers of maximum length. One is not enough, because
/// the headers of each datagram of an answer are also charged.
constexpr uint32_t kAnswersOfABurst = 2;

uint64_t WorkersShare(uint64_t rate, uint32_t workers) { return (rate + workers - 1) / workers; }

}  // namespace

Responder::Responder(Store& store, uint32_t worker, const ServiceOptions& options,
                     uint64_t cycles_per_second)
    : access_(store, worker),
      options_(options),
      partitions_(static_cast<uint32_t>(store.partitions.size())),
      cycles_per_second_(cycles_per_second),
      gate_(options.gate, [this](uint16_t port) { return ProtocolOf(port) != Protocol::kNone; }),
      excess_(WorkersShare(options.excess_bytes_per_s, store.workers),
              std::max<uint64_t>(WorkersShare(options.excess_bytes_per_s, store.workers),
                                 kAnswersOfABurst * options.max_reply_bytes),
              cycles_per_second),
      buffer_(new uint8_t[kFrontBytes + std::max(options.max_reply_bytes, options.mtu) +
                          kMinFrameBytes]),
      counters_(std::make_shared<ResponderCounters>()),
      chain_request_(std::make_shared<ChainRequest>()) {
  options_.facts.udp_port = options_.memcached_port;
  store.AddWorker(worker, counters_, chain_request_);
}

Responder::Protocol Responder::ProtocolOf(uint16_t port) const {
  if (options_.memcached_port != 0 && port == options_.memcached_port) {
    return Protocol::kMemcached;
  }
  if (options_.mica_port != 0 && port - options_.mica_port < static_cast<int>(partitions_) &&
      port >= options_.mica_port) {
    return Protocol::kMica;
  }
  return Protocol::kNone;
}

void Responder::Plan(const uint8_t* frame, uint32_t length) {
  if (planned_count_ == served_count_) ForgetSteps();
  Planned& planned = planned_[planned_count_++ % kPlanned];
  planned.datagram = Datagram::In(frame, length);
  planned.first = steps_count_;
  planned.steps = 0;
  const Datagram& datagram = planned.datagram;
  if (datagram.kind != Datagram::Kind::kUdp) [[unlikely]] {
    planned.outcome = datagram.kind == Datagram::Kind::kOther ? Outcome::kOther : Outcome::kUnfit;
    return;
  }
  planned.outcome = Outcome::kOther;
  planned.protocol = ProtocolOf(datagram.port);
  if (planned.protocol == Protocol::kNone) [[unlikely]]
    return;
  planned.outcome = Outcome::kTurnedAway;
  planned.refusal = gate_.Check(frame, datagram);
  if (planned.refusal != Refusal::kNone) [[unlikely]]
    return;
  planned.outcome = Outcome::kServed;
  PlanSteps({frame + datagram.payload, datagram.payload_bytes}, planned.protocol);
  planned.steps = steps_count_ - planned.first;
}

void Responder::PlanSteps(Bytes payload, Protocol protocol) {
  MicaStep& step = steps_[steps_count_];
  steps_count_ += protocol == Protocol::kMica ? PlanMica(payload, 0, access_, &step)
                                              : PlanMemcached(payload, step);
  ahead_.set_end(steps_.data() + steps_count_);
}

uint32_t Responder::PlanMemcached(Bytes payload, MicaStep& step) const {
  if (payload.size() <= memcached::kUdpFrameBytes) return 0;
  const Bytes key = memcached::FirstKey(payload.subspan(memcached::kUdpFrameBytes));
  if (key.empty() || key.size() > kMaxKeyBytes) return 0;
  step.home = access_.homes().Of(key);
  step.FetchBucket();
  return 1;
}

Service Responder::Serve(uint8_t* frame, uint32_t length, uint32_t tailroom) {
  const Planned& planned = planned_[served_count_++ % kPlanned];
  datagram_ = planned.datagram;
  if (planned.outcome != Outcome::kServed) [[unlikely]] {
    const bool unfit = planned.outcome == Outcome::kUnfit;
    const bool turned_away = planned.outcome == Outcome::kTurnedAway;
    return {.outcome = planned.outcome,
            .kind = unfit ? datagram_.kind : Datagram::Kind::kUdp,
            .refusal = turned_away ? planned.refusal : Refusal::kNone};
  }
  exchange_ = {};
  return Continue(frame, 0, {frame, length + tailroom}, planned.protocol,
                  std::span(steps_).subspan(planned.first, planned.steps));
}

bool Responder::Pack(const uint8_t* frame, uint32_t length, Handoff& handoff) {
  if (length > Handoff::kMaxFrameBytes || replied_ > Handoff::kMaxReplyBytes) return false;
  std::memcpy(handoff.frame.data(), frame, length);
  handoff.datagram = datagram_;
  PackProgress(handoff);
  return true;
}

void Responder::PackProgress(Handoff& handoff) {
  std::memcpy(handoff.reply.data(), front(), replied_);
  handoff.reply_bytes = replied_;
  handoff.exchange = exchange_;
  Increase(counters_->handed_over, uint64_t{1});
}

Service Responder::ServeHandoff(Handoff& handoff) {
  Increase(counters_->taken_over, uint64_t{1});
  datagram_ = handoff.datagram;
  exchange_ = handoff.exchange;
  std::memcpy(front(), handoff.reply.data(), handoff.reply_bytes);
  const uint8_t* const frame = handoff.frame.data();
  const Bytes payload(frame + datagram_.payload, datagram_.payload_bytes);
  const Protocol protocol = ProtocolOf(datagram_.port);
  ForgetSteps();  // No frame is planned while handoffs are served.
  if (protocol == Protocol::kMica) {
    steps_count_ = PlanMica(payload, exchange_.position, access_, steps_.data());
    ahead_.set_end(steps_.data() + steps_count_);
  }
  const Service service =
      Continue(frame, handoff.reply_bytes, {}, protocol, std::span(steps_).first(steps_count_));
  if (service.outcome == Outcome::kForeign) {
    if (replied_ <= Handoff::kMaxReplyBytes) {
      PackProgress(handoff);
      return service;
    }
    Increase(counters_->lost_on_the_way, uint64_t{1});
    return {.outcome = Outcome::kServed};
  }
  if (service.outcome == Outcome::kAnswered) Send(service.data, service.length);
  return {.outcome = Outcome::kServed};
}

Service Responder::Continue(const uint8_t* frame, uint32_t replied, std::span<uint8_t> in_place,
                            Protocol protocol, std::span<const MicaStep> steps) {
  const Bytes payload(frame + datagram_.payload, datagram_.payload_bytes);
  exchange_.now_s = now_s_ + 1;  // 0 means "never".
  exchange_.unix_s = options_.unix_epoch_s + now_s_;
  ahead_.Fetch(steps.data());
  const Progress progress = protocol == Protocol::kMica
                                ? ContinueMica(payload, replied, in_place, steps)
                                : ContinueMemcached(payload, replied);
  if (progress == Progress::kRefused) return {.outcome = Outcome::kUnfit};
  if (progress == Progress::kForeign) {
    return {.outcome = Outcome::kForeign, .owner = exchange_.owner};
  }
  if (replied_ == 0) return {.outcome = Outcome::kServed};
  // An answer that is not longer than its request needs no check.
  if (replied_ > datagram_.payload_bytes && !MayAnswer(frame, protocol)) {
    Increase(counters_->withheld, uint64_t{1});
    return {.outcome = Outcome::kWithheld};
  }
  if (protocol == Protocol::kMica) return Build(frame, reply_, replied_, in_place, true);
  return BuildMemcached(frame, in_place);
}

// Compares sizes without the padding of short frames, which would only reduce the ratio of the
// answer to the request.
bool Responder::MayAnswer(const uint8_t* frame, Protocol protocol) {
  const uint32_t in = datagram_.payload + datagram_.payload_bytes;
  const uint32_t out = protocol == Protocol::kMica
                           ? datagram_.payload + replied_
                           : static_cast<uint32_t>(memcached::DatagramsOf(replied_)) *
                                     (datagram_.payload + memcached::kUdpFrameBytes) +
                                 replied_;
  return excess_.Allow(in, out, [&] { return SourceOf(frame); });
}

// Uses the IPv4 address, or the upper half of the IPv6 address, because one host can use any lower
// half.
uint64_t Responder::SourceOf(const uint8_t* frame) const {
  const uint8_t* const ip = frame + datagram_.l3;
  const uint64_t source =
      datagram_.ipv6 ? packet::Load<uint64_t>(ip + 8) : packet::Load<uint32_t>(ip + 12);
  return Xxh3(access_.store().secret).OfWord(source);
}

Progress Responder::ContinueMica(Bytes payload, uint32_t replied, std::span<uint8_t> in_place,
                                 std::span<const MicaStep> steps) {
  const uint32_t one_datagram =
      options_.mtu - (datagram_.ipv6 ? Datagram::kIpv6Headers : Datagram::kIpv4Headers);
  exchange_.datagram = payload;
  exchange_.max_reply_bytes = one_datagram;
  const std::span<uint8_t> room(front(), one_datagram);
  Reply reply = payload.size() <= one_datagram && !in_place.empty()
                    ? Reply::Movable(in_place.subspan(datagram_.payload, payload.size()), room)
                    : Reply(room, replied);
  const Progress progress = ServeMica(exchange_, access_, reply, counters_->mica, steps, ahead_);
  reply_ = reply.begin();
  replied_ = static_cast<uint32_t>(reply.size());
  return progress;
}

Progress Responder::ContinueMemcached(Bytes payload, uint32_t replied) {
  if (!memcached::ReadUdpFrame(payload)) return Progress::kRefused;
  exchange_.datagram = payload.subspan(memcached::kUdpFrameBytes);
  if (memcached::BeginsLikeAnAnswer(exchange_.datagram)) return Progress::kRefused;
  exchange_.max_reply_bytes = options_.max_reply_bytes;
  exchange_.server = &options_.facts;
  Reply reply({front(), options_.max_reply_bytes}, replied);
  const bool binary =
      !exchange_.datagram.empty() && exchange_.datagram[0] == memcached::kRequestMagic;
  const Progress progress =
      binary ? memcached::ServeBinary(exchange_, access_, reply, counters_->memcached)
             : memcached::ServeAscii(exchange_, access_, reply, counters_->memcached);
  replied_ = static_cast<uint32_t>(reply.size());
  return progress;
}

// Sends an answer of several datagrams entirely through the outbox, so that they stay in order: a
// datagram that replaces the frame could be sent before or after those in the outbox. The header of
// each datagram overwrites the end of the previous one, which was already sent.
Service Responder::BuildMemcached(const uint8_t* frame, std::span<uint8_t> in_place) {
  const auto request =
      *memcached::ReadUdpFrame({frame + datagram_.payload, datagram_.payload_bytes});
  const uint32_t data = memcached::kMaxDatagramData;
  const uint32_t datagrams = static_cast<uint32_t>(memcached::DatagramsOf(replied_));
  for (uint32_t i = 0; i < datagrams; ++i) {
    uint8_t* const payload = front() + i * data - memcached::kUdpFrameBytes;
    const uint32_t bytes = std::min(data, replied_ - i * data) + memcached::kUdpFrameBytes;
    memcached::WriteUdpFrame(payload, {.request_id = request.request_id,
                                       .sequence = static_cast<uint16_t>(i),
                                       .total = static_cast<uint16_t>(datagrams)});
    if (datagrams == 1) return Build(frame, payload, bytes, in_place, true);
    const Service answer = Build(frame, payload, bytes, {}, false);
    Send(answer.data, answer.length);
  }
  return {.outcome = Outcome::kServed};
}

Service Responder::Build(const uint8_t* frame, uint8_t* payload, uint32_t bytes,
                         std::span<uint8_t> in_place, bool only) {
  Increase(counters_->datagrams_sent, uint64_t{1});
  const uint32_t used = datagram_.payload + bytes;
  const uint32_t length = std::max(used, kMinFrameBytes);
  uint8_t* start = payload - datagram_.payload;
  if (length <= in_place.size()) {
    start = in_place.data();
    // A reply that overwrites its requests is already in place and fits.
    if (start + datagram_.payload != payload) {
      std::memcpy(start + datagram_.payload, payload, bytes);
    }
  } else {
    std::memcpy(start, frame, datagram_.payload);
  }
  if (length != used) std::memset(start + used, 0, length - used);
  datagram_.Answer(start, bytes, only);
  return {.outcome = Outcome::kAnswered, .length = length, .data = start};
}

void Responder::Send(const uint8_t* frame, uint32_t length) { outbox_.Send(frame, length); }

}  // namespace sluice::engine::kv
