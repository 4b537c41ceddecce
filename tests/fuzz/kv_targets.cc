// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "check.h"
#include "engine/kv/mica_format.h"
#include "engine/kv/mica_protocol.h"
#include "packet/bytes.h"
#include "packet/fixtures.h"
#include "targets.h"

namespace sluice::fuzz {
namespace {

using engine::kv::Access;
using engine::kv::Exchange;
using engine::kv::MicaMessage;
using engine::kv::MicaOperation;
using engine::kv::MicaResult;
using engine::kv::Progress;
using engine::kv::ProtocolCounters;
using test::Bytes;
using test::ExactBuffer;

constexpr uint32_t kWorkers = 3;

/// Returns the store after clearing it.
engine::kv::Store& EmptyStore() {
  static engine::kv::Store store = [] {
    engine::kv::Store made;
    for (uint32_t i = 0; i < kWorkers; ++i) {
      made.partitions.emplace_back(engine::kv::PartitionOptions{
          .mode = engine::kv::Mode::kStore, .memory_bytes = 4 << 20, .items = 64});
    }
    made.workers = kWorkers;
    made.secret = 1;
    return made;
  }();
  for (auto& partition : store.partitions) partition.Clear();
  return store;
}

/// Passes the datagram between workers until the exchange ends. The reply is in `room`. If `over`
/// is not empty, it contains the datagram, and the first worker may write answers over requests.
Progress Serve(engine::kv::Store& store, engine::kv::Bytes datagram, std::span<uint8_t> over,
               std::span<uint8_t> room, uint32_t max_reply_bytes, size_t* used) {
  ProtocolCounters counters;
  Exchange exchange{.datagram = datagram, .max_reply_bytes = max_reply_bytes};
  *used = 0;
  for (uint32_t worker = 0, hops = 0;; ++hops) {
    FUZZ_CHECK(hops <= engine::kv::kMicaMaxMessages);
    Access access(store, worker);
    engine::kv::Reply reply = !over.empty() && hops == 0 ? engine::kv::Reply::Movable(over, room)
                                                         : engine::kv::Reply(room, *used);
    const Progress progress = engine::kv::ServeMica(exchange, access, reply, counters);
    FUZZ_CHECK(!reply.overflowed() && reply.size() <= max_reply_bytes);
    *used = reply.size();
    if (progress != Progress::kForeign) {
      if (reply.begin() != room.data()) std::copy_n(reply.begin(), *used, room.begin());
      return progress;
    }
    FUZZ_CHECK(exchange.owner != worker && exchange.owner < kWorkers);
    worker = exchange.owner;
  }
}

/// A reference implementation of MICA's answers, based on a std::map.
class Model {
 public:
  MicaResult Answer(const MicaMessage& request, std::string* value) {
    const std::string key(request.key.begin(), request.key.end());
    const std::string given(request.value.begin(), request.value.end());
    const auto item = items_.find(key);
    const bool found = item != items_.end();
    const bool good_key = !key.empty() && key.size() <= engine::kv::kMaxKeyBytes;
    switch (request.operation) {
      case MicaOperation::kNoopRead:
      case MicaOperation::kNoopWrite:
        return MicaResult::kSuccess;
      case MicaOperation::kAdd:
      case MicaOperation::kSet:
        if (!good_key) return MicaResult::kError;
        if (found && request.operation == MicaOperation::kAdd) return MicaResult::kExists;
        items_[key] = given;
        return MicaResult::kSuccess;
      case MicaOperation::kGet:
      case MicaOperation::kTest:
        if (!good_key) return MicaResult::kError;
        if (!found) return MicaResult::kNotFound;
        if (request.operation == MicaOperation::kGet) *value = item->second;
        return MicaResult::kSuccess;
      case MicaOperation::kDelete:
        if (!good_key) return MicaResult::kError;
        return items_.erase(key) != 0 ? MicaResult::kSuccess : MicaResult::kNotFound;
      case MicaOperation::kIncrement:
        if (!good_key || given.size() != 8) return MicaResult::kError;
        if (!found) return MicaResult::kNotFound;
        if (item->second.size() != 8) return MicaResult::kError;
        *value = Sum(item->second, given);
        item->second = *value;
        return MicaResult::kSuccess;
      case MicaOperation::kReset:
        break;
    }
    return MicaResult::kNotSupported;
  }

 private:
  static std::string Sum(const std::string& a, const std::string& b) {
    std::string sum(8, '\0');
    unsigned carry = 0;
    for (size_t i = 0; i < 8; ++i) {
      carry += static_cast<uint8_t>(a[i]) + unsigned{static_cast<uint8_t>(b[i])};
      sum[i] = static_cast<char>(carry);
      carry >>= 8;
    }
    return sum;
  }

  std::map<std::string, std::string> items_;
};

void CheckAnswers(engine::kv::Bytes datagram, engine::kv::Bytes answers) {
  engine::kv::MicaAnswers reader(answers);
  FUZZ_CHECK(reader.whole());
  Model model;
  size_t at = engine::kv::kMicaHeaderBytes;
  while (at != datagram.size()) {
    MicaMessage request;
    at = engine::kv::ReadMica(datagram, at, &request);
    FUZZ_CHECK(at != 0);
    const auto answer = reader.Next();
    FUZZ_CHECK(answer && answer->operation == request.operation && answer->key.empty());
    FUZZ_CHECK(answer->hash == request.hash && answer->opaque == request.opaque);
    std::string value;
    const MicaResult result = model.Answer(request, &value);
    if (answer->result == MicaResult::kPartialValue) {
      FUZZ_CHECK(result == MicaResult::kSuccess && !value.empty() && answer->value.empty());
      continue;
    }
    FUZZ_CHECK(answer->result == result);
    FUZZ_CHECK(std::equal(value.begin(), value.end(), answer->value.begin(), answer->value.end(),
                          [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; }));
  }
  FUZZ_CHECK(!reader.Next());
}

}  // namespace

void KvMica(const uint8_t* data, size_t size) {
  if (size == 0) return;
  const ExactBuffer payload({data + 1, size - 1});
  const engine::kv::Bytes datagram(payload.data(), payload.size());
  engine::kv::MicaAnswers answers(datagram);
  while (answers.Next()) continue;

  engine::kv::Store& store = EmptyStore();
  store.concurrent_read = (data[0] & 1) != 0;
  store.trust_hashes = (data[0] & 2) != 0;
  const uint32_t max_reply_bytes = (data[0] >> 2) * 24u;
  Bytes room(max_reply_bytes);
  size_t used = 0;
  const Progress progress = Serve(store, datagram, {}, room, max_reply_bytes, &used);
  if (progress == Progress::kRefused) {
    FUZZ_CHECK(used == 0);
    for (const auto& partition : store.partitions) FUZZ_CHECK(partition.counters().items == 0);
    return;
  }
  // If the server trusts hashes, one key may have two hashes, so the model does not apply.
  if (!store.trust_hashes) CheckAnswers(datagram, engine::kv::Bytes(room).first(used));
  if (datagram.size() > max_reply_bytes) return;
  // Answers that are written over requests must have the same bytes.
  EmptyStore();
  Bytes over(datagram.begin(), datagram.end()), again(max_reply_bytes);
  size_t used_again = 0;
  FUZZ_CHECK(Serve(store, over, over, again, max_reply_bytes, &used_again) == progress);
  FUZZ_CHECK(used_again == used && std::equal(again.begin(), again.begin() + used, room.begin()));
}

}  // namespace sluice::fuzz
