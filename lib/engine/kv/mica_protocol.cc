// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/mica_protocol.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/kv/mica_format.h"
#include "engine/kv/word.h"

namespace sluice::engine::kv {

namespace {

void Count(uint64_t& counter, uint64_t more = 1) { Increase(counter, more); }

bool IsRead(MicaOperation operation) {
  return operation == MicaOperation::kGet || operation == MicaOperation::kTest;
}

bool NeedsKey(MicaOperation operation) {
  return operation >= MicaOperation::kAdd && operation <= MicaOperation::kIncrement;
}

bool IsKey(Bytes key) { return key.size() - 1 < kMaxKeyBytes; }

// Result of a request. `value` stays valid until the next request.
struct MicaOutcome {
  MicaResult result;
  Bytes value = {};
};

// Serves the requests that ServeGets does not serve.
class Server {
 public:
  Server(Access& access, ProtocolCounters& counters, uint32_t now_s)
      : access_(access), counters_(counters), now_s_(now_s) {}

  bool MayServe(MicaOperation operation, const Home& home) const {
    if (!NeedsKey(operation)) return true;
    return IsRead(operation) ? access_.MayRead(home) : access_.MayWrite(home);
  }

  // Serves a request for which MayServe returned true.
  [[gnu::noinline]] MicaOutcome Serve(const MicaMessage& request, const Home& home) {
    if (NeedsKey(request.operation) && !IsKey(request.key)) return Refuse(MicaResult::kError);
    switch (request.operation) {
      case MicaOperation::kSet:
        return Put(request, home, Condition::kAlways);
      case MicaOperation::kAdd:
        return Put(request, home, Condition::kIfAbsent);
      case MicaOperation::kGet:
        return Get(request, home);
      case MicaOperation::kTest:
        return {Get(request, home).result};
      case MicaOperation::kDelete:
        return Delete(request, home);
      case MicaOperation::kIncrement:
        return Increment(request, home);
      case MicaOperation::kNoopRead:
      case MicaOperation::kNoopWrite:
        return {MicaResult::kSuccess};
      case MicaOperation::kReset:
        Count(counters_.refused_admin);
        break;
    }
    return Refuse(MicaResult::kNotSupported);
  }

 private:
  MicaOutcome Put(const MicaMessage& request, const Home& home, Condition condition) {
    const Result result =
        home.partition->Set(request.key, home.index, request.value, {}, condition, now_s_);
    if (result == Result::kExists) return {MicaResult::kExists};
    if (result != Result::kOk) return {MicaResult::kInsufficientSpace};
    Count(counters_.sets);
    return {MicaResult::kSuccess};
  }

  MicaOutcome Get(const MicaMessage& request, const Home& home) {
    const auto item = access_.Get(request.key, home, now_s_);
    Count(item ? counters_.get_hits : counters_.get_misses);
    if (!item) return {MicaResult::kNotFound};
    return {MicaResult::kSuccess, item->value};
  }

  MicaOutcome Delete(const MicaMessage& request, const Home& home) {
    if (home.partition->Delete(request.key, home.index, 0, now_s_) != Result::kOk) {
      return {MicaResult::kNotFound};
    }
    Count(counters_.deletes);
    return {MicaResult::kSuccess};
  }

  MicaOutcome Increment(const MicaMessage& request, const Home& home) {
    if (request.value.size() != sum_.size()) return Refuse(MicaResult::kError);
    const auto item = home.partition->Get(request.key, home.index, now_s_);
    if (!item) return {MicaResult::kNotFound};
    if (item->value.size() != sum_.size()) return Refuse(MicaResult::kError);
    packet::Store(sum_.data(), packet::Load<uint64_t>(item->value.data()) +
                                   packet::Load<uint64_t>(request.value.data()));
    const Attributes attributes = item->attributes;
    if (home.partition->Set(request.key, home.index, sum_, attributes, Condition::kAlways,
                            now_s_) != Result::kOk) {
      return {MicaResult::kInsufficientSpace};
    }
    Count(counters_.sets);
    return {MicaResult::kSuccess, sum_};
  }

  MicaOutcome Refuse(MicaResult result) {
    Count(counters_.errors);
    return {result};
  }

  Access& access_;
  ProtocolCounters& counters_;
  const uint32_t now_s_;
  std::array<uint8_t, 8> sum_;
};

// Plans up to `most` tiny gets from `begin` on and returns their number. `kAllOwn` means that the
// worker owns the only partition. `homes` is a copy, so that it stays in registers.
template <bool kAllOwn>
size_t PlanTinyGets(const uint8_t* const begin, size_t most, const Homes homes, uint32_t worker,
                    MicaStep* step) {
  const uint8_t* message = begin;
  for (const MicaStep* const end = step + most;
       step != end && packet::Load<uint64_t>(message) == kMicaTinyGet; ++step) {
    const auto key = packet::Load<uint64_t>(message + kMicaMessageBytes);
    step->home = homes.OfWord(key, kAllOwn || homes.one_partition());
    step->FetchBucket();
    step->message = message;
    step->lengths = kMicaTinyGetLengths;
    step->tiny_get = kAllOwn || step->home.owner == worker;
    message += kMicaTinyGetBytes;
  }
  return static_cast<size_t>(message - begin) / kMicaTinyGetBytes;
}

// Plans all requests, because the datagram must be valid as a whole before the first is served.
uint32_t Plan(Bytes requests, const Access& access, MicaStep* steps) {
  const Homes& homes = access.homes();
  const uint32_t worker = access.worker();
  const bool trust_hashes = access.store().trust_hashes;
  const bool all_own = homes.one_partition() && worker == 0;
  size_t planned = 0;
  for (;;) {
    if (!trust_hashes) {
      const size_t most = std::min(kMicaMaxMessages - planned, requests.size() / kMicaTinyGetBytes);
      const size_t gets =
          all_own ? PlanTinyGets<true>(requests.data(), most, homes, worker, steps + planned)
                  : PlanTinyGets<false>(requests.data(), most, homes, worker, steps + planned);
      requests = requests.subspan(gets * kMicaTinyGetBytes);
      planned += gets;
    }
    if (requests.empty()) return static_cast<uint32_t>(planned);
    if (requests.size() < kMicaMessageBytes || planned == kMicaMaxMessages) return 0;
    const uint8_t* const message = requests.data();
    const auto head = packet::Load<uint64_t>(message);
    const MicaLengths lengths{static_cast<uint32_t>(head >> 32)};
    if (lengths.size() > requests.size()) return 0;
    MicaStep& step = steps[planned++];
    step.home = trust_hashes ? homes.Of(Trusted(packet::Load<uint64_t>(message + 8)))
                             : homes.Of(Bytes(message + kMicaMessageBytes, lengths.key_bytes()));
    step.FetchBucket();
    step.message = message;
    step.lengths = lengths;
    step.tiny_get = head == kMicaTinyGet && step.home.owner == worker;
    requests = requests.subspan(lengths.size());
  }
}

}  // namespace

uint32_t PlanMica(Bytes datagram, size_t position, const Access& access, MicaStep* steps) {
  const bool begun = position != 0;
  if (!begun) {
    if (datagram.size() < kMicaHeaderBytes || datagram[0] != kMicaRequests) return 0;
    position = kMicaHeaderBytes;
  }
  const uint32_t count = Plan(datagram.subspan(position), access, steps);
  return begun || count == datagram[1] ? count : 0;
}

void ItemsAhead::FetchUpTo(const MicaStep* upto) {
  MicaStep* next = next_;
  for (; next < upto; ++next) next->FetchItem();
  next_ = next;
}

namespace {

// Number of gets between two fetches of items. Two short loops, to fetch and to serve, are faster
// than one loop that does both.
constexpr std::ptrdiff_t kAtOnce = 16;

// Progress of ServeGets in a datagram.
struct Served {
  const MicaStep* step;
  uint8_t* to;
  uint32_t misses;
};

// The end of an answer in memory, or null if ServeGets may not answer.
struct Answered {
  uint8_t* end;
  uint32_t misses = 0;
};

// Answers a get for ServeGets, for any lengths of key and value.
[[gnu::noinline]] Answered ServeGet(const MicaStep& step, uint8_t* to, uint32_t now_s) {
  const uint8_t* const message = step.message;
  const Home& home = step.home;
  const Bytes key(message + kMicaMessageBytes, step.lengths.key_bytes());
  const Item* const item = home.partition->GetLikely(step.likely, key, home.index, now_s);
  if (item == nullptr) {
    if (!IsKey(key)) return {nullptr};
    WriteMicaAnswer(message, MicaOperation::kGet, MicaResult::kNotFound, 0, to);
    return {to + kMicaMessageBytes, 1};
  }
  const uint32_t value_bytes = Item::ValueBytes(item->lengths);
  const size_t padded_key = MicaPadded(key.size());
  if (value_bytes > padded_key) return {nullptr};
  WriteMicaAnswer(message, MicaOperation::kGet, MicaResult::kSuccess, value_bytes, to);
  to += kMicaMessageBytes;
  // Items are padded with zeros like messages, so whole words are copied.
  const uint64_t* const value = item->words() + padded_key / 8;
  const size_t padded = MicaPadded(value_bytes);
  if (padded == 8) {  // The most common length; avoids a string instruction.
    packet::Store(to, *value);
  } else {
    std::memcpy(to, value, padded);
  }
  return {to + padded};
}

// The fast path for gets of keys that the worker owns, kept small so that all of its state stays in
// registers. It serves misses, and hits whose value is not longer than the padded key, so that no
// answer is longer than its request. Stops before any other request.
[[gnu::noinline]] Served ServeGets(const MicaStep* step, const MicaStep* end, uint8_t* to,
                                   uint32_t worker, uint32_t now_s) {
  uint32_t misses = 0;
  for (; step != end; ++step) {
    const uint8_t* const message = step->message;
    if (step->tiny_get != 0) [[likely]] {
      const uint64_t key = packet::Load<uint64_t>(message + kMicaMessageBytes);
      const Item* const item = step->home.partition->GetLikelyTiny(step->likely, key);
      if (item != nullptr) [[likely]] {
        WriteMicaAnswer(message, MicaOperation::kGet, MicaResult::kSuccess, 8, to);
        packet::Store(to + kMicaMessageBytes, item->words()[1]);
        to += MicaMessageSize(0, 8);
        continue;
      }
    } else if (message[0] != static_cast<uint8_t>(MicaOperation::kGet) ||
               step->home.owner != worker) {
      break;
    }
    const Answered answered = ServeGet(*step, to, now_s);
    if (answered.end == nullptr) break;
    to = answered.end;
    misses += answered.misses;
  }
  return {step, to, misses};
}

}  // namespace

Progress ServeMica(Exchange& exchange, Access& access, Reply& reply, ProtocolCounters& counters,
                   std::span<const MicaStep> steps, ItemsAhead& ahead) {
  if (steps.empty()) return Progress::kRefused;
  const size_t bound = std::min<size_t>(exchange.max_reply_bytes, reply.capacity());
  if (exchange.position == 0) {
    if (bound < kMicaHeaderBytes + steps.size() * kMicaMessageBytes) return Progress::kRefused;
    WriteMicaHeader(reply.Extend(kMicaHeaderBytes), kMicaAnswers,
                    static_cast<uint32_t>(steps.size()));
  }
  Server server(access, counters, exchange.now_s);
  uint8_t* to = reply.begin() + reply.size();
  const auto trim_reply = [&] { reply.Cut(static_cast<size_t>(to - reply.begin())); };
  const MicaStep* step = steps.data();
  const MicaStep* const end = step + steps.size();
  while (step != end) {
    ahead.Fetch(step);
    if (reply.movable()) {
      const Served served = ServeGets(step, end - step > kAtOnce ? step + kAtOnce : end, to,
                                      access.worker(), exchange.now_s);
      Count(counters.get_hits, static_cast<uint64_t>(served.step - step) - served.misses);
      Count(counters.get_misses, served.misses);
      to = served.to;
      const bool all = served.step - step == kAtOnce;
      step = served.step;
      if (all || step == end) continue;
    }
    const uint8_t* const message = step->message;
    const MicaMessage request = MicaAt(message, step->lengths);
    if (!server.MayServe(request.operation, step->home)) [[unlikely]]
      break;
    MicaOutcome outcome = server.Serve(request, step->home);
    const size_t bytes = kMicaMessageBytes + MicaPadded(outcome.value.size());
    if (reply.movable() && to + bytes > message + step->lengths.size()) {
      trim_reply();
      reply.MoveToRoom();
      to = reply.begin() + reply.size();
    }
    // Reserves room for at least the headers of the remaining answers.
    const size_t later = static_cast<size_t>(end - step - 1) * kMicaMessageBytes;
    if (!reply.movable() && to + bytes + later > reply.begin() + bound) [[unlikely]] {
      Count(counters.cut_replies);
      outcome = {MicaResult::kPartialValue};
    }
    to = AnswerMica(message, outcome.result, outcome.value, to);
    ++step;
  }
  Count(counters.requests, static_cast<uint64_t>(step - steps.data()));
  trim_reply();
  if (step == end) return Progress::kDone;
  if (reply.movable()) reply.MoveToRoom();
  exchange.position = static_cast<size_t>(step->message - exchange.datagram.data());
  exchange.owner = step->home.owner;
  return Progress::kForeign;
}

Progress ServeMica(Exchange& exchange, Access& access, Reply& reply, ProtocolCounters& counters) {
  std::array<MicaStep, kMicaMaxMessages> room;
  const uint32_t count = PlanMica(exchange.datagram, exchange.position, access, room.data());
  ItemsAhead ahead;
  ahead.Begin(room.data());
  ahead.set_end(room.data() + count);
  return ServeMica(exchange, access, reply, counters, {room.data(), count}, ahead);
}

}  // namespace sluice::engine::kv
