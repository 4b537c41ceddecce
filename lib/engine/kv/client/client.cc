// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/client/client.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/kv/client/memcached_messages.h"
#include "engine/kv/client/mica_answer.h"
#include "engine/kv/mica_format.h"

namespace sluice::engine::kv::client {

namespace {

constexpr uint32_t kMaxSlots = 1 << 16;

size_t MicaLongest(const ItemSizes& sizes) {
  return MicaMessageSize(sizes.key_bytes, sizes.value_bytes);
}

// Returns the number of slots. An open loop uses kMaxSlots, the most that ids can distinguish. A
// protocol with 16-bit ids also uses kMaxSlots, so that ids are rarely reused.
uint32_t SlotsOf(const ClientOptions& options) {
  if (options.rate > 0 || options.protocol == Protocol::kMemcachedAscii) return kMaxSlots;
  return std::min(kMaxSlots, std::bit_ceil(2 * options.outstanding));
}

}  // namespace

size_t ClientOptions::LongestMessage() const {
  return protocol == Protocol::kMica
             ? kMicaHeaderBytes + MicaLongest(sizes)
             : MemcachedLongest(protocol, sizes.key_bytes, sizes.value_bytes);
}

uint32_t ClientOptions::LargestBatch() const {
  if (protocol != Protocol::kMica) return 1;
  const size_t fit = (max_datagram_bytes - kMicaHeaderBytes) / MicaLongest(sizes);
  return static_cast<uint32_t>(std::min({fit, size_t{batch}, size_t{kMicaMaxMessages}}));
}

uint32_t ClientOptions::EndpointOf(uint32_t server, uint64_t route) const {
  return workers == 1 ? server : server * workers + PartitionOf(route, partitions) % workers;
}

size_t ClientOptions::MaxDatagram() const {
  return protocol == Protocol::kMica ? 65507 : kMemcachedMaxAnswerBytes;
}

Client::Client(const ClientOptions& options, bool preload)
    : options_(options),
      batch_(options.LargestBatch()),
      phase_(preload ? Phase::kPreload : Phase::kReady),
      random_(options.seed),
      popularity_(options.items, options.zipf_exponent),
      outstanding_(SlotsOf(options), options.protocol != Protocol::kMemcachedAscii),
      versions_(options.verify ? options.items : 0),
      batches_(size_t{options.servers} * options.workers),
      key_(options.sizes.key_bytes),
      value_(options.sizes.value_bytes) {}

void Client::Start(uint64_t now_ns) {
  phase_ = Phase::kRun;
  if (options_.rate > 0) {
    schedule_.emplace(options_.rate, options_.arrivals, now_ns, options_.seed + 1);
  }
}

void Client::Stop(uint64_t now_ns) {
  phase_ = Phase::kStopped;
  if (!schedule_) return;
  for (; schedule_->due_ns() <= now_ns; schedule_->Advance()) ++counters_.unsent;
}

uint64_t Client::Place(std::vector<uint16_t> server_of_item, uint32_t servers) {
  uint64_t moved = 0;
  for (uint64_t item = 0; item < server_of_item_.size(); ++item) {
    if (server_of_item_[item] == server_of_item[item]) continue;
    ++moved;
    if (options_.verify) versions_.Forget(item);
  }
  server_of_item_ = std::move(server_of_item);
  batches_.resize(size_t{servers} * options_.workers);
  return moved;
}

uint32_t Client::EndpointOf(uint64_t item, uint64_t route) const {
  const uint32_t server = server_of_item_.empty() ? 0 : server_of_item_[item];
  return options_.EndpointOf(server, route);
}

// Returns the next request if it is due and there is a free slot.
std::optional<Pending> Client::Generate(uint64_t now_ns) {
  if (outstanding_.full()) return std::nullopt;
  if (phase_ == Phase::kPreload) {
    if (outstanding_.count() >= options_.outstanding) return std::nullopt;
    Pending pending{.due_ns = now_ns, .set = true, .preload = true};
    if (!preload_again_.empty()) {
      pending.item = preload_again_.back();
      preload_again_.pop_back();
      // A repeated set keeps the version of the first attempt, because either attempt may arrive.
      pending.version = options_.verify ? versions_.Newest(pending.item) : 0;
    } else if (next_preload_ < options_.items) {
      pending.item = next_preload_++;
    } else {
      return std::nullopt;
    }
    return pending;
  }
  if (phase_ != Phase::kRun) return std::nullopt;
  Pending pending{.due_ns = now_ns};
  if (schedule_) {
    if (schedule_->due_ns() > now_ns) return std::nullopt;
    pending.due_ns = schedule_->due_ns();
    schedule_->Advance();
  } else if (outstanding_.count() >= options_.outstanding) {
    return std::nullopt;
  }
  pending.set = random_.Unit() >= options_.get_share;
  pending.item = popularity_.Draw(random_);
  if (options_.verify) versions_.Prefetch(pending.item);
  return pending;
}

Outgoing Client::Next(uint64_t now_ns, std::span<uint8_t> room) {
  Expire(now_ns);
  while (auto pending = Generate(now_ns)) {
    MakeKey(options_.first_item + pending->item, options_.sizes, key_.data());
    pending->route = RouteHash(key_);
    const uint32_t endpoint = EndpointOf(pending->item, pending->route);
    Batch& batch = batches_[endpoint];
    if (batch.slots.empty()) batch.since_ns = now_ns;
    batch.slots.push_back(outstanding_.Allocate(*pending));
    if (batch.slots.size() >= batch_) return Send(endpoint, now_ns, room);
  }
  if (batch_ == 1) return {};
  for (uint32_t endpoint = 0; endpoint < batches_.size(); ++endpoint) {
    const Batch& batch = batches_[endpoint];
    if (!batch.slots.empty() && now_ns - batch.since_ns >= options_.batch_wait_ns) {
      return Send(endpoint, now_ns, room);
    }
  }
  return {};
}

Outgoing Client::Send(uint32_t endpoint, uint64_t now_ns, std::span<uint8_t> room) {
  const bool mica = options_.protocol == Protocol::kMica;
  room = room.first(options_.max_datagram_bytes);
  MicaBatch datagram(room);
  size_t bytes = 0;
  for (const uint32_t slot : batches_[endpoint].slots) {
    Pending& pending = outstanding_[slot];
    const uint64_t item = options_.first_item + pending.item;
    if (options_.verify && pending.version == 0) {
      pending.version =
          pending.set ? versions_.Issue(pending.item) : versions_.Oldest(pending.item);
    }
    if (!pending.preload) ++counters_.requests;
    MakeKey(item, options_.sizes, key_.data());
    if (pending.set) MakeValue(item, pending.version, value_);
    const Bytes value = pending.set ? Bytes(value_) : Bytes();
    const uint32_t id = outstanding_.IdOf(slot);
    if (mica) {
      datagram.Add({.operation = pending.set ? MicaOperation::kSet : MicaOperation::kGet,
                    .opaque = id,
                    .hash = pending.route,
                    .key = key_,
                    .value = value});
      bytes = datagram.bytes().size();
    } else {
      bytes = WriteMemcached(options_.protocol,
                             {.set = pending.set, .id = id, .key = key_, .value = value}, room);
    }
    outstanding_.Sent(slot, now_ns);
  }
  batches_[endpoint].slots.clear();
  return {bytes, endpoint};
}

void Client::OnDatagram(uint64_t now_ns, Bytes datagram) {
  if (options_.protocol == Protocol::kMica) {
    MicaAnswers answers(datagram);
    if (!answers.whole()) ++counters_.malformed;
    while (const auto message = answers.Next()) OnAnswer(now_ns, AnswerOf(*message));
  } else if (const auto answer = ReadMemcached(options_.protocol, datagram)) {
    OnAnswer(now_ns, *answer);
  } else {
    ++counters_.malformed;
  }
}

void Client::OnAnswer(uint64_t now_ns, const Answer& answer) {
  const uint32_t slot = outstanding_.Find(answer.id);
  // Reject an answer of the wrong type: one that answers a get if the request is a set, or the
  // reverse.
  const bool to_get = answer.outcome == Outcome::kHit || answer.outcome == Outcome::kMiss;
  if (slot == Outstanding::kNone ||
      (answer.outcome != Outcome::kError && to_get == outstanding_[slot].set)) {
    ++counters_.late;
    return;
  }
  const Pending pending = outstanding_[slot];
  outstanding_.Release(slot);
  if (pending.preload) return OnPreloaded(pending, answer);
  latency_[pending.set].Record(now_ns > pending.due_ns ? now_ns - pending.due_ns : 0);
  if (pending.set) {
    OnSet(pending, answer);
  } else {
    OnGet(pending, answer);
  }
}

void Client::OnPreloaded(const Pending& pending, const Answer& answer) {
  const bool stored = answer.outcome == Outcome::kStored;
  ++(stored ? counters_.preloaded : counters_.preload_refused);
  if (options_.verify && stored) versions_.Acknowledge(pending.item);
  if (options_.verify && !stored) versions_.Lose(pending.item);
  const bool all = counters_.preloaded + counters_.preload_refused == options_.items;
  if (all && phase_ == Phase::kPreload) phase_ = Phase::kReady;
}

void Client::OnSet(const Pending& pending, const Answer& answer) {
  const bool stored = answer.outcome == Outcome::kStored;
  ++(stored ? counters_.stored : counters_.refused);
  if (!options_.verify) return;
  if (stored) {
    versions_.Acknowledge(pending.item);
  } else {
    versions_.Lose(pending.item);
  }
}

void Client::OnGet(const Pending& pending, const Answer& answer) {
  switch (answer.outcome) {
    case Outcome::kMiss:
      ++counters_.misses;
      break;
    case Outcome::kHit:
      ++(MayFind(pending, answer.value) ? counters_.hits : counters_.wrong);
      break;
    default:
      ++counters_.refused;
  }
}

bool Client::MayFind(const Pending& pending, Bytes value) const {
  if (!options_.verify) return true;
  const auto version =
      VersionOf(options_.first_item + pending.item, options_.sizes.value_bytes, value);
  return version && *version >= pending.version && *version <= versions_.Newest(pending.item);
}

void Client::Expire(uint64_t now_ns) {
  for (uint32_t slot; (slot = outstanding_.oldest()) != Outstanding::kNone;) {
    const Pending pending = outstanding_[slot];
    if (now_ns - pending.sent_ns < options_.timeout_ns) return;
    outstanding_.Release(slot);
    if (pending.preload) {
      ++counters_.preload_timeouts;
      preload_again_.push_back(pending.item);
      continue;
    }
    ++counters_.timeouts;
    if (pending.set && options_.verify) versions_.Lose(pending.item);
  }
}

uint64_t Client::NextWakeNs() const {
  uint64_t wake = UINT64_MAX;
  if (phase_ == Phase::kRun && schedule_) wake = schedule_->due_ns();
  if (batch_ > 1) {
    for (const Batch& batch : batches_) {
      if (!batch.slots.empty()) wake = std::min(wake, batch.since_ns + options_.batch_wait_ns);
    }
  }
  const uint32_t oldest = outstanding_.oldest();
  if (oldest == Outstanding::kNone) return wake;
  return std::min(wake, outstanding_[oldest].sent_ns + options_.timeout_ns);
}

}  // namespace sluice::engine::kv::client
