// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/mica_protocol.h"

#include <algorithm>
#include <array>
#include <optional>

#include "engine/kv/mica_format.h"
#include "engine/kv/word.h"

namespace sluice::engine::kv {

namespace {

// Requests between the fetch of items and their execution (MICA, NSDI'14, section 4.4): as many
// lines as a core fetches at a time.
constexpr uint32_t kItemsAhead = 12;

void Count(uint64_t& counter, uint64_t more = 1) { Increase(counter, more); }

bool IsRead(MicaOperation operation) {
  return operation == MicaOperation::kGet || operation == MicaOperation::kTest;
}

bool NeedsKey(MicaOperation operation) {
  return operation >= MicaOperation::kAdd && operation <= MicaOperation::kIncrement;
}

// A request that was found in a datagram, and its key's hash. Lengths are read once: memory that
// a NIC shares may change.
struct Step {
  Home home;
  uint32_t position;
  MicaLengths lengths;
};

// Finds the requests from `position` on, and fetches their buckets: all of them, as the datagram
// must be whole before any is served. 0: it is not.
uint32_t Plan(Bytes datagram, size_t position, const Access& access, const KnownHome* known,
              Step* steps) {
  const bool begun = position != 0;
  if (!begun) {
    if (datagram.size() < kMicaHeaderBytes || datagram[0] != kMicaRequests) return 0;
    position = kMicaHeaderBytes;
  }
  const bool trust = access.store().trust_hashes;
  uint32_t count = 0;
  for (; position != datagram.size(); ++count) {
    MicaLengths lengths;
    const size_t end = MicaEnd(datagram, position, &lengths);
    if (end == 0 || count == kMicaMaxMessages) return 0;
    const uint8_t* const message = datagram.data() + position;
    const Bytes key(message + kMicaMessageBytes, lengths.key_bytes());
    Step& step = steps[count];
    step.position = static_cast<uint32_t>(position);
    step.lengths = lengths;
    if (count == 0 && known != nullptr && known->Is(key) && !trust) {
      step.home = known->home;
    } else {
      step.home = access.HomeOf(trust ? Trusted(packet::Load<uint64_t>(message + 8))
                                      : access.Hash(key));
      step.home.partition->PrefetchBucket(step.home.index);
    }
    position = end;
  }
  return begun || count == datagram[1] ? count : 0;
}

// Serves the requests of one datagram, and writes answers to `to`, where they have room but for
// their values, which have `value_room` bytes among them.
class Server {
 public:
  Server(const Exchange& exchange, Access& access, ProtocolCounters& counters, uint8_t* to,
         size_t value_room)
      : access_(access), counters_(counters), now_s_(exchange.now_s), to_(to),
        value_room_(value_room) {}

  // False, and nothing done: another worker must.
  bool Serve(const uint8_t* message, const Step& step) {
    const MicaMessage request = MicaAt(message, step.lengths);
    if (!NeedsKey(request.operation)) [[unlikely]] {
      ServeKeyless(message, request);
      return true;
    }
    if (!(IsRead(request.operation) ? access_.MayRead(step.home) : access_.MayWrite(step.home)))
        [[unlikely]] {
      return false;
    }
    if (request.key.size() - 1 >= kMaxKeyBytes) [[unlikely]] {
      Refuse(message, MicaResult::kError);
    } else if (request.operation == MicaOperation::kGet) [[likely]] {
      Get(message, request, step.home);
    } else if (request.operation == MicaOperation::kSet) {
      Put(message, request, step.home, Condition::kAlways);
    } else {
      ServeRare(message, request, step.home);
    }
    return true;
  }

  uint8_t* end() const { return to_; }

 private:
  [[gnu::noinline]] void ServeKeyless(const uint8_t* message, const MicaMessage& request) {
    if (request.operation == MicaOperation::kNoopRead ||
        request.operation == MicaOperation::kNoopWrite) {
      return Answer(message, MicaResult::kSuccess);
    }
    if (request.operation == MicaOperation::kReset) Count(counters_.refused_admin);
    Refuse(message, MicaResult::kNotSupported);
  }

  [[gnu::noinline]] void ServeRare(const uint8_t* message, const MicaMessage& request,
                                   const Home& home) {
    switch (request.operation) {
      case MicaOperation::kAdd: return Put(message, request, home, Condition::kIfAbsent);
      case MicaOperation::kTest: return Test(message, request, home);
      case MicaOperation::kDelete: return Delete(message, request, home);
      default: return Increment(message, request, home);
    }
  }

  void Put(const uint8_t* message, const MicaMessage& request, const Home& home,
           Condition condition) {
    const Result result = home.partition->Set(request.key, home.index, request.value, {},
                                              condition, now_s_);
    if (result == Result::kOk) Count(counters_.sets);
    Answer(message, result == Result::kOk       ? MicaResult::kSuccess
                    : result == Result::kExists ? MicaResult::kExists
                                                : MicaResult::kInsufficientSpace);
  }

  void Get(const uint8_t* message, const MicaMessage& request, const Home& home) {
    const auto item = access_.Get(request.key, home, now_s_);
    Count(item ? counters_.get_hits : counters_.get_misses);
    if (!item) return Answer(message, MicaResult::kNotFound);
    Answer(message, MicaResult::kSuccess, item->value);
  }

  void Test(const uint8_t* message, const MicaMessage& request, const Home& home) {
    const bool found = access_.Get(request.key, home, now_s_).has_value();
    Count(found ? counters_.get_hits : counters_.get_misses);
    Answer(message, found ? MicaResult::kSuccess : MicaResult::kNotFound);
  }

  void Delete(const uint8_t* message, const MicaMessage& request, const Home& home) {
    const bool deleted =
        home.partition->Delete(request.key, home.index, 0, now_s_) == Result::kOk;
    if (deleted) Count(counters_.deletes);
    Answer(message, deleted ? MicaResult::kSuccess : MicaResult::kNotFound);
  }

  void Increment(const uint8_t* message, const MicaMessage& request, const Home& home) {
    std::array<uint8_t, 8> sum;
    if (request.value.size() != sum.size()) return Refuse(message, MicaResult::kError);
    const auto item = home.partition->Get(request.key, home.index, now_s_);
    if (!item) return Answer(message, MicaResult::kNotFound);
    if (item->value.size() != sum.size()) return Refuse(message, MicaResult::kError);
    packet::Store(sum.data(), packet::Load<uint64_t>(item->value.data()) +
                                  packet::Load<uint64_t>(request.value.data()));
    const Attributes attributes = item->attributes;
    if (home.partition->Set(request.key, home.index, sum, attributes, Condition::kAlways,
                            now_s_) != Result::kOk) {
      return Answer(message, MicaResult::kInsufficientSpace);
    }
    Count(counters_.sets);
    Answer(message, MicaResult::kSuccess, sum);
  }

  void Refuse(const uint8_t* message, MicaResult result) {
    Count(counters_.errors);
    Answer(message, result);
  }

  void Answer(const uint8_t* message, MicaResult result, Bytes value = {}) {
    if (MicaPadded(value.size()) > value_room_) [[unlikely]] {
      Count(counters_.cut_replies);
      result = MicaResult::kPartialValue;
      value = {};
    }
    value_room_ -= MicaPadded(value.size());
    to_ = AnswerMica(message, result, value, to_);
  }

  Access& access_;
  ProtocolCounters& counters_;
  const uint32_t now_s_;
  uint8_t* to_;
  size_t value_room_;
};

}  // namespace

Progress ServeMica(Exchange& exchange, Access& access, Reply& reply, ProtocolCounters& counters,
                   const KnownHome* known) {
  const uint8_t* const datagram = exchange.datagram.data();
  std::array<Step, kMicaMaxMessages> steps;
  const uint32_t left = Plan(exchange.datagram, exchange.position, access, known, steps.data());
  if (left == 0) return Progress::kRefused;
  const size_t bound = std::min<size_t>(exchange.max_reply_bytes, reply.size() + reply.room());
  if (exchange.position == 0) {
    if (bound < kMicaHeaderBytes + left * kMicaMessageBytes) return Progress::kRefused;
    WriteMicaHeader(reply.Extend(kMicaHeaderBytes), kMicaAnswers, left);
  }

  uint8_t* const begin = reply.Extend(0);
  Server server(exchange, access, counters, begin,
                bound - reply.size() - left * kMicaMessageBytes);
  const auto fetch = [&](uint32_t i) {
    steps[i].home.partition->PrefetchItem(steps[i].home.index);
  };
  // The item of a known home is fetched already.
  for (uint32_t i = known == nullptr ? 0 : 1; i < std::min(left, kItemsAhead); ++i) fetch(i);
  uint32_t served = 0;
  for (; served < left; ++served) {
    if (served + kItemsAhead < left) fetch(served + kItemsAhead);
    if (!server.Serve(datagram + steps[served].position, steps[served])) [[unlikely]] break;
  }
  Count(counters.requests, served);
  reply.Extend(static_cast<size_t>(server.end() - begin));
  if (served == left) return Progress::kDone;
  exchange.position = steps[served].position;
  exchange.owner = steps[served].home.owner;
  return Progress::kForeign;
}

}  // namespace sluice::engine::kv
