// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/responder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/kv/memcached/ascii.h"
#include "engine/kv/memcached/binary.h"
#include "engine/kv/memcached/glance.h"
#include "engine/kv/memcached/udp_frame.h"
#include "engine/kv/mica_format.h"
#include "engine/kv/mica_protocol.h"
#include "engine/kv/word.h"

namespace sluice::engine::kv {

using packet::Datagram;

namespace {

constexpr uint32_t kLineBytes = 64;
/// Longest answers that a full bucket pays for, at least: of a long one each datagram has headers.
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
      counters_(std::make_shared<ResponderCounters>()) {
  options_.facts.udp_port = options_.memcached_port;
  store.traffic.push_back(counters_);
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

const KnownHome* Responder::KnownOf(const uint8_t* frame) {
  // In the order of their preparation, unless some are left out.
  for (uint32_t i = 0; i < kPrepared; ++i) {
    Prepared& next = prepared_[(served_count_ + i) & (kPrepared - 1)];
    if (next.frame != frame) continue;
    served_count_ += i + 1;
    next.frame = nullptr;
    return &next.known;
  }
  return nullptr;
}

Service Responder::Serve(uint8_t* frame, uint32_t length, uint32_t tailroom) {
  datagram_ = Datagram::In(frame, length);
  if (datagram_.kind == Datagram::Kind::kOther) return {.outcome = Outcome::kOther};
  if (datagram_.kind != Datagram::Kind::kUdp) {
    return {.outcome = Outcome::kUnfit, .kind = datagram_.kind};
  }
  const Protocol protocol = ProtocolOf(datagram_.port);
  if (protocol == Protocol::kNone) return {.outcome = Outcome::kOther};
  if (const Refusal refusal = gate_.Check(frame, datagram_); refusal != Refusal::kNone) {
    return {.outcome = Outcome::kTurnedAway, .refusal = refusal};
  }
  exchange_ = {};
  return Continue(frame, 0, {frame, length + tailroom}, protocol, KnownOf(frame));
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
  const Service service = Continue(handoff.frame.data(), handoff.reply_bytes, {},
                                   ProtocolOf(datagram_.port), nullptr);
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

Service Responder::Continue(const uint8_t* frame, uint32_t replied,
                            std::span<uint8_t> in_place, Protocol protocol,
                            const KnownHome* known) {
  const Bytes payload(frame + datagram_.payload, datagram_.payload_bytes);
  exchange_.now_s = now_s_ + 1;  // 0 stands for never.
  exchange_.unix_s = options_.unix_epoch_s + now_s_;
  const Progress progress = protocol == Protocol::kMica ? ContinueMica(payload, replied, known)
                                                        : ContinueMemcached(payload, replied);
  if (progress == Progress::kRefused) return {.outcome = Outcome::kUnfit};
  if (progress == Progress::kForeign) {
    return {.outcome = Outcome::kForeign, .owner = exchange_.owner};
  }
  if (replied_ == 0) return {.outcome = Outcome::kServed};
  // Nobody needs leave for what is no longer than the request.
  if (replied_ > datagram_.payload_bytes && !MayAnswer(frame, protocol)) {
    Increase(counters_->withheld, uint64_t{1});
    return {.outcome = Outcome::kWithheld};
  }
  if (protocol == Protocol::kMica) return Build(frame, front(), replied_, in_place, true);
  return BuildMemcached(frame, in_place);
}

// Without the padding of short frames, which only makes the ratio smaller.
bool Responder::MayAnswer(const uint8_t* frame, Protocol protocol) {
  const uint32_t in = datagram_.payload + datagram_.payload_bytes;
  const uint32_t out =
      protocol == Protocol::kMica
          ? datagram_.payload + replied_
          : static_cast<uint32_t>(memcached::DatagramsOf(replied_)) *
                    (datagram_.payload + memcached::kUdpFrameBytes) +
                replied_;
  return excess_.Allow(in, out, [&] { return SourceOf(frame); });
}

// An IPv4 address, or the upper half of an IPv6 address: all of the lower is one host's.
uint64_t Responder::SourceOf(const uint8_t* frame) const {
  const uint8_t* const ip = frame + datagram_.l3;
  const uint64_t source =
      datagram_.ipv6 ? packet::Load<uint64_t>(ip + 8) : packet::Load<uint32_t>(ip + 12);
  return Xxh3OfWord(reinterpret_cast<const uint8_t*>(&source), access_.store().secret);
}

Progress Responder::ContinueMica(Bytes payload, uint32_t replied, const KnownHome* known) {
  const uint32_t one_datagram =
      options_.mtu - (datagram_.ipv6 ? Datagram::kIpv6Headers : Datagram::kIpv4Headers);
  exchange_.datagram = payload;
  exchange_.max_reply_bytes = one_datagram;
  Reply reply({front(), one_datagram}, replied);
  const Progress progress = ServeMica(exchange_, access_, reply, counters_->mica, known);
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

// Several datagrams are all sent, so that they leave in their order: the frame's own answer may
// leave before or after them. Each has its header where the bytes of the one before were, which
// have left.
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
    std::memcpy(start + datagram_.payload, payload, bytes);
  } else {
    std::memcpy(start, frame, datagram_.payload);
  }
  if (length != used) std::memset(start + used, 0, length - used);
  datagram_.Answer(start, bytes, only);
  return {.outcome = Outcome::kAnswered, .length = length, .data = start};
}

void Responder::Send(const uint8_t* frame, uint32_t length) { outbox_.Send(frame, length); }

void Responder::Prepare(const uint8_t* frame, uint32_t length) {
  // Stage two of the frame that was prepared kStage frames ago.
  const uint32_t count = prepared_count_++;
  const Prepared& earlier = prepared_[(count - kStage) & (kPrepared - 1)];
  if (earlier.frame != nullptr) {
    earlier.known.home.partition->PrefetchItem(earlier.known.home.index);
  }
  Prepared& place = prepared_[count & (kPrepared - 1)];
  place.frame = nullptr;
  if (length < Datagram::kPlainPayload || !packet::LeadingWord::Of(frame).IsPlainIpv4()) return;
  const Bytes payload(frame + Datagram::kPlainPayload, length - Datagram::kPlainPayload);
  const Protocol protocol = ProtocolOf(packet::LoadBe16(frame + Datagram::kPlainPayload - 6));
  Bytes key;
  KeyHash hash;
  if (protocol == Protocol::kMica) {
    // The walk through requests goes from length to length, and would wait for each line in turn.
    // Answers are written over them.
    for (uint32_t line = kLineBytes; line < length; line += kLineBytes) {
      __builtin_prefetch(frame + line, 1);
    }
    MicaMessage message;
    if (ReadMica(payload, kMicaHeaderBytes, &message) == 0) return;
    key = message.key;
    hash = access_.store().trust_hashes ? Trusted(message.hash) : access_.Hash(key);
  } else if (protocol == Protocol::kMemcached && payload.size() > memcached::kUdpFrameBytes) {
    key = memcached::FirstKey(payload.subspan(memcached::kUdpFrameBytes));
    if (key.empty() || key.size() > kMaxKeyBytes) return;
    hash = access_.Hash(key);
  } else {
    return;
  }
  const Home home = access_.HomeOf(hash);
  home.partition->PrefetchBucket(home.index);
  place.frame = frame;
  place.known.Remember(key, home);
}

}  // namespace sluice::engine::kv
