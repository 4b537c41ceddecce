// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/client/script.h"

#include "engine/kv/client/items.h"
#include "engine/kv/client/memcached_messages.h"
#include "engine/kv/client/mica_answer.h"
#include "engine/kv/mica_format.h"
#include "engine/kv/partition.h"

namespace sluice::engine::kv::client {

Script::Script(const ClientOptions& options, uint64_t requests)
    : options_(options),
      end_(options.items + requests),
      batch_(options.LargestBatch()),
      random_(options.seed),
      popularity_(options.items, options.zipf_exponent),
      versions_(options.items),
      batches_(options.workers),
      key_(options.sizes.key_bytes),
      value_(options.sizes.value_bytes) {
  entries_.reserve(end_);
}

Script::Entry Script::Draw() {
  if (entries_.size() < options_.items) return {static_cast<uint32_t>(entries_.size()), true};
  const bool set = random_.Unit() >= options_.get_share;
  return {static_cast<uint32_t>(popularity_.Draw(random_)), set};
}

Script::Datagram Script::Next(std::span<uint8_t> room) {
  while (entries_.size() < end_) {
    if (entries_.size() == options_.items) {
      while (flushed_ < batches_.size()) {
        const uint32_t endpoint = flushed_++;
        if (!batches_[endpoint].empty()) return Write(endpoint, room);
      }
    }
    const Entry entry = Draw();
    MakeKey(options_.first_item + entry.item, options_.sizes, key_.data());
    const uint32_t endpoint = options_.EndpointOf(0, RouteHash(key_));
    batches_[endpoint].push_back(static_cast<uint32_t>(entries_.size()));
    entries_.push_back(entry);
    if (batches_[endpoint].size() == batch_) return Write(endpoint, room);
  }
  return {};
}

Script::Datagram Script::Write(uint32_t endpoint, std::span<uint8_t> room) {
  std::vector<uint32_t>& ids = batches_[endpoint];
  Datagram datagram{.endpoint = endpoint,
                    .requests = static_cast<uint32_t>(ids.size()),
                    .preload = ids.front() < options_.items};
  MicaBatch messages(room.first(options_.max_datagram_bytes));
  for (const uint32_t id : ids) {
    const Entry& entry = entries_[id];
    const uint64_t item = options_.first_item + entry.item;
    MakeKey(item, options_.sizes, key_.data());
    if (entry.set) MakeValue(item, ++versions_[entry.item], value_);
    const Bytes value = entry.set ? Bytes(value_) : Bytes();
    if (options_.protocol == Protocol::kMica) {
      messages.Add({.operation = entry.set ? MicaOperation::kSet : MicaOperation::kGet,
                    .opaque = id,
                    .hash = RouteHash(key_),
                    .key = key_,
                    .value = value});
      datagram.bytes = messages.bytes().size();
    } else {
      datagram.bytes = WriteMemcached(
          options_.protocol, {.set = entry.set, .id = id, .key = key_, .value = value}, room);
    }
  }
  ids.clear();
  return datagram;
}

void Script::Check(Bytes datagram) {
  if (options_.protocol == Protocol::kMica) {
    MicaAnswers answers(datagram);
    if (!answers.whole()) ++results_.malformed;
    while (const auto message = answers.Next()) Check(AnswerOf(*message));
  } else if (const auto answer = ReadMemcached(options_.protocol, datagram)) {
    Check(*answer);
  } else {
    ++results_.malformed;
  }
}

void Script::Check(const Answer& answer) {
  const Entry* const entry = answer.id < entries_.size() ? &entries_[answer.id] : nullptr;
  const bool is_set = answer.outcome == Outcome::kStored;
  if (entry == nullptr || (answer.outcome != Outcome::kError && is_set != entry->set)) {
    ++results_.wrong;
    return;
  }
  switch (answer.outcome) {
    case Outcome::kError:
      ++results_.refused;
      return;
    case Outcome::kStored:
      ++results_.stored;
      return;
    case Outcome::kMiss:
      ++results_.misses;
      return;
    case Outcome::kHit:
      const auto version =
          VersionOf(options_.first_item + entry->item, options_.sizes.value_bytes, answer.value);
      const bool right = version && *version >= 1 && *version <= versions_[entry->item];
      ++(right ? results_.hits : results_.wrong);
  }
}

}  // namespace sluice::engine::kv::client
