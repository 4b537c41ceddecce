// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/mica_protocol.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "engine/kv/mica_format.h"

namespace sluice::engine::kv {

namespace {

// Requests between the fetch of a bucket, that of its items, and the execution (MICA, NSDI'14,
// section 4.4).
constexpr uint32_t kStageGap = 4;

void Count(uint64_t& counter) {
  std::atomic_ref(counter).store(counter + 1, std::memory_order_relaxed);
}

bool IsRead(MicaOperation operation) {
  return operation == MicaOperation::kGet || operation == MicaOperation::kTest;
}

bool NeedsKey(MicaOperation operation) {
  return operation >= MicaOperation::kAdd && operation <= MicaOperation::kIncrement;
}

// Serves the requests of one datagram. `value_room`: how many bytes the values of all answers
// may still take.
class Server {
 public:
  Server(const Exchange& exchange, Access& access, Reply& reply, ProtocolCounters& counters,
         size_t value_room)
      : access_(access), reply_(reply), counters_(counters), now_s_(exchange.now_s),
        value_room_(value_room) {}

  void Serve(const MicaMessage& request, const KeyHash& hash) {
    Count(counters_.requests);
    if (NeedsKey(request.operation) && (request.key.empty() || request.key.size() > kMaxKeyBytes)) {
      return Refuse(request, MicaResult::kError);
    }
    switch (request.operation) {
      case MicaOperation::kNoopRead:
      case MicaOperation::kNoopWrite: return Answer(request, MicaResult::kSuccess);
      case MicaOperation::kSet: return Put(request, hash, Condition::kAlways);
      case MicaOperation::kAdd: return Put(request, hash, Condition::kIfAbsent);
      case MicaOperation::kGet:
      case MicaOperation::kTest: return Get(request, hash);
      case MicaOperation::kDelete: return Delete(request, hash);
      case MicaOperation::kIncrement: return Increment(request, hash);
      case MicaOperation::kReset: Count(counters_.refused_admin); break;
    }
    Refuse(request, MicaResult::kNotSupported);
  }

 private:
  void Put(const MicaMessage& request, const KeyHash& hash, Condition condition) {
    const Result result = access_.Own(hash).Set(request.key, hash.index, request.value, {},
                                                condition, now_s_);
    if (result == Result::kOk) Count(counters_.sets);
    Answer(request, result == Result::kOk       ? MicaResult::kSuccess
                    : result == Result::kExists ? MicaResult::kExists
                                                : MicaResult::kInsufficientSpace);
  }

  void Get(const MicaMessage& request, const KeyHash& hash) {
    const auto item = access_.Get(request.key, hash, now_s_);
    Count(item ? counters_.get_hits : counters_.get_misses);
    if (!item) return Answer(request, MicaResult::kNotFound);
    Answer(request, MicaResult::kSuccess,
           request.operation == MicaOperation::kGet ? item->value : Bytes());
  }

  void Delete(const MicaMessage& request, const KeyHash& hash) {
    const bool deleted =
        access_.Own(hash).Delete(request.key, hash.index, 0, now_s_) == Result::kOk;
    if (deleted) Count(counters_.deletes);
    Answer(request, deleted ? MicaResult::kSuccess : MicaResult::kNotFound);
  }

  void Increment(const MicaMessage& request, const KeyHash& hash) {
    std::array<uint8_t, 8> sum;
    if (request.value.size() != sum.size()) return Refuse(request, MicaResult::kError);
    Partition& partition = access_.Own(hash);
    const auto item = partition.Get(request.key, hash.index, now_s_);
    if (!item) return Answer(request, MicaResult::kNotFound);
    if (item->value.size() != sum.size()) return Refuse(request, MicaResult::kError);
    packet::Store(sum.data(), packet::Load<uint64_t>(item->value.data()) +
                                  packet::Load<uint64_t>(request.value.data()));
    const Attributes attributes = item->attributes;
    if (partition.Set(request.key, hash.index, sum, attributes, Condition::kAlways, now_s_) !=
        Result::kOk) {
      return Answer(request, MicaResult::kInsufficientSpace);
    }
    Count(counters_.sets);
    Answer(request, MicaResult::kSuccess, sum);
  }

  void Refuse(const MicaMessage& request, MicaResult result) {
    Count(counters_.errors);
    Answer(request, result);
  }

  void Answer(const MicaMessage& request, MicaResult result, Bytes value = {}) {
    if (MicaPadded(value.size()) > value_room_) {
      Count(counters_.cut_replies);
      result = MicaResult::kPartialValue;
      value = {};
    }
    value_room_ -= MicaPadded(value.size());
    WriteMica({request.operation, result, request.opaque, request.hash, {}, value},
              reply_.Extend(MicaMessageSize(0, value.size())));
  }

  Access& access_;
  Reply& reply_;
  ProtocolCounters& counters_;
  const uint32_t now_s_;
  size_t value_room_;
};

// Between reading and execution.
struct Stage {
  MicaMessage request;
  KeyHash hash;
  size_t position;
};

bool MayServe(const Access& access, const Stage& stage) {
  if (!NeedsKey(stage.request.operation)) return true;
  return IsRead(stage.request.operation) ? access.MayRead(stage.hash) : access.MayWrite(stage.hash);
}

}  // namespace

Progress ServeMica(Exchange& exchange, Access& access, Reply& reply, ProtocolCounters& counters) {
  const Bytes datagram = exchange.datagram;
  const uint32_t messages = CountMica(datagram, kMicaRequests);
  if (messages == 0) return Progress::kRefused;
  const size_t bound = std::min<size_t>(exchange.max_reply_bytes, reply.size() + reply.room());
  if (exchange.position == 0) {
    if (bound < kMicaHeaderBytes + messages * kMicaMessageBytes) return Progress::kRefused;
    WriteMicaHeader(reply.Extend(kMicaHeaderBytes), kMicaAnswers, messages);
    exchange.position = kMicaHeaderBytes;
  }
  uint32_t left = 0;
  MicaMessage message;
  for (size_t at = exchange.position; at != datagram.size(); ++left) {
    at = ReadMica(datagram, at, &message);
  }

  Server server(exchange, access, reply, counters,
                bound - reply.size() - left * kMicaMessageBytes);
  Store& store = access.store();
  std::array<Stage, 16> stages;
  static_assert(2 * kStageGap < stages.size());
  size_t next = exchange.position;
  for (uint32_t i = 0; i < left + 2 * kStageGap; ++i) {
    if (i < left) {
      Stage& stage = stages[i % stages.size()];
      stage.position = next;
      next = ReadMica(datagram, next, &stage.request);
      stage.hash = store.trust_hashes ? Trusted(stage.request.hash)
                                      : access.Hash(stage.request.key);
      store.PartitionFor(stage.hash.route).PrefetchBucket(stage.hash.index);
    }
    if (i >= kStageGap && i - kStageGap < left) {
      const KeyHash& hash = stages[(i - kStageGap) % stages.size()].hash;
      store.PartitionFor(hash.route).PrefetchItem(hash.index);
    }
    if (i >= 2 * kStageGap) {
      const Stage& stage = stages[(i - 2 * kStageGap) % stages.size()];
      exchange.position = stage.position;
      if (!MayServe(access, stage)) {
        exchange.owner = store.OwnerOf(stage.hash.route);
        return Progress::kForeign;
      }
      server.Serve(stage.request, stage.hash);
    }
  }
  return Progress::kDone;
}

}  // namespace sluice::engine::kv
