// SPDX-License-Identifier: BSD-3-Clause
//
// Compares each answer of a partition with the answer of an oracle, a std::unordered_map, over a
// chosen sequence of operations.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/kv/partition.h"
#include "kv/partition_lab.h"

namespace sluice::engine::kv {

struct SoakPlan {
  Mode mode = Mode::kCache;
  uint64_t seed = 1;  ///< Seed of the hashes.
  uint64_t memory_bytes = uint64_t{4} << 20;
  uint64_t expected_items = 20'000;
  uint32_t keys = 30'000;
  uint64_t hash_mask = ~uint64_t{0};  ///< A mask with fewer bits makes key hashes collide.
  uint32_t long_one_in = 50;          ///< One in this many values is long.
  /// Limit for the length of long values, in bytes; one in 20,000 values may exceed it.
  uint32_t long_value_bytes = 5000;
};

class Soak {
 public:
  /// `choose` returns random numbers, which determine all operations.
  Soak(const SoakPlan& plan, std::function<uint64_t()> choose)
      : plan_(plan),
        random_(std::move(choose)),
        partition_({plan.mode, plan.memory_bytes, plan.expected_items}) {}

  /// Runs the operations. Returns a description of the first error, if any.
  std::optional<std::string> Run(uint64_t operations) {
    for (uint64_t i = 0; i < operations; ++i) {
      if (random_() % 512 == 0) ++now_s_;
      Step();
      if (!wrong_.empty()) return "operation " + std::to_string(i) + ": " + wrong_;
    }
    CheckAll();
    if (!wrong_.empty()) return "at the end: " + wrong_;
    return std::nullopt;
  }

  const PartitionCounters& counters() const { return partition_.counters(); }
  uint64_t found() const { return found_; }
  uint64_t refused() const { return refused_; }

 private:
  struct Entry {
    std::string value;
    uint32_t flags = 0;
    uint32_t expires_s = 0;
    uint64_t unique = 0;
  };
  using Entries = std::unordered_map<uint32_t, Entry>;

  /// Returns a key of 1 to 250 bytes that is unique for each number. All lengths modulo 8 occur.
  static std::string KeyOf(uint32_t number) {
    std::string key;
    for (; number != 0; number /= 200) key += static_cast<char>(number % 200);
    key += '\xff';
    key.append((key.size() * 7 + static_cast<uint8_t>(key[0])) % 24, '\xfe');
    if (static_cast<uint8_t>(key[0]) == 3) key.resize(kMaxKeyBytes, '\xfd');
    return key;
  }
  uint64_t HashOfKey(const std::string& key) const {
    return HashOf(BytesOf(key), plan_.seed).index & plan_.hash_mask;
  }
  bool Chance(uint32_t one_in) { return random_() % one_in == 0; }

  std::string NewValue() {
    size_t bytes = random_() % 100;
    if (Chance(plan_.long_one_in)) bytes = random_() % plan_.long_value_bytes;
    if (Chance(20'000)) bytes = random_() % (partition_.max_value_bytes() + 1);
    return Pattern().substr(random_() % 65536, bytes);
  }
  static const std::string& Pattern() {
    static const std::string pattern = [] {
      std::mt19937_64 random(1);
      std::string bytes(kMaxStoreValueBytes + 65536, 0);
      for (char& byte : bytes) byte = static_cast<char>(random());
      return bytes;
    }();
    return pattern;
  }
  Attributes NewAttributes() {
    Attributes attributes{static_cast<uint32_t>(random_()), 0};
    if (Chance(3)) attributes.expires_s = now_s_ + static_cast<uint32_t>(random_() % 40);
    return attributes;
  }

  template <typename Value>
  void Fail(const char* what, const Value& value) {
    std::ostringstream text;
    text << what << ", not " << value << " (key " << number_ << ", second " << now_s_ << ')';
    if (wrong_.empty()) wrong_ = text.str();
  }
  bool Expect(Result result, Result expected) {
    if (result != expected) Fail("unexpected result", static_cast<int>(expected));
    return result == expected && result == Result::kOk;
  }

  /// Returns the oracle's entry. Returns null if there is no entry, if it has expired, or, in cache
  /// mode, if the partition has evicted it. Compares the entry with the item that the partition
  /// returns.
  Entry* Live() {
    const auto at = entries_.find(number_);
    if (at != entries_.end() && at->second.expires_s != 0 && at->second.expires_s <= now_s_) {
      entries_.erase(at);
    }
    Entry* entry = entries_.count(number_) != 0 ? &entries_[number_] : nullptr;
    ItemCopy copy;
    Result result = partition_.Read(BytesOf(key_), hash_, now_s_, room_, &copy);
    if (result == Result::kTooLarge) {
      room_.resize(copy.value_bytes);
      result = partition_.Read(BytesOf(key_), hash_, now_s_, room_, &copy);
    }
    if (entry == nullptr) {
      Expect(result, Result::kNotFound);
      return nullptr;
    }
    if (result == Result::kNotFound && plan_.mode == Mode::kCache) {
      entries_.erase(number_);
      if (++lost_ > counters().evicted) Fail("lost more than evicted", counters().evicted);
      return nullptr;
    }
    Expect(result, Result::kOk);
    ++found_;
    Compare(*entry, Bytes(room_).first(copy.value_bytes), copy.attributes, copy.unique);
    return entry;
  }
  void Compare(const Entry& entry, Bytes value, Attributes attributes, uint64_t unique) {
    if (TextOf(value) != entry.value) Fail("wrong value of bytes", entry.value.size());
    if (attributes.flags != entry.flags) Fail("wrong flags", entry.flags);
    if (attributes.expires_s != entry.expires_s) Fail("wrong expiry", entry.expires_s);
    if (unique != entry.unique) Fail("wrong unique", entry.unique);
  }

  /// Checks a refusal. Store mode may refuse a value only if the stored items and three times the
  /// value together need at least half of the memory, because free space may be fragmented. Cache
  /// mode must not refuse a value.
  bool Refused(Result result, size_t value_bytes) {
    if (result != Result::kNoMemory) return false;
    ++refused_;
    if (plan_.mode == Mode::kCache) Fail("refused by a cache", 0);
    if (counters().item_bytes + 3 * value_bytes < plan_.memory_bytes / 2) {
      Fail("refused early", 0);
    }
    return true;
  }

  void Step() {
    number_ = static_cast<uint32_t>(std::min(random_() % plan_.keys, random_() % plan_.keys));
    key_ = KeyOf(number_);
    hash_ = HashOfKey(key_);
    partition_.PrefetchBucket(hash_);
    partition_.PrefetchItem(hash_);
    Entry* const entry = Live();
    switch (random_() % 16) {
      case 0:
      case 1:
      case 2:
      case 3:
        return Get(entry);
      case 4:
      case 5:
      case 6:
        return Set(entry, Condition::kAlways);
      case 7:
        return Set(entry, Condition::kIfAbsent);
      case 8:
        return Set(entry, Condition::kIfPresent);
      case 9:
      case 10:
        return Set(entry, Condition::kIfUnchanged);
      case 11:
        return Extend(entry, true);
      case 12:
        return Extend(entry, false);
      case 13:
        return Delete(entry);
      case 14:
        return Touch(entry);
      default:
        if (Chance(100'000)) {
          partition_.Clear();
          entries_.clear();
        }
    }
  }

  void Get(const Entry* entry) {
    const auto view = partition_.Get(BytesOf(key_), hash_, now_s_);
    if (view.has_value() != (entry != nullptr)) return Fail("Get found it", entry != nullptr);
    if (view) Compare(*entry, view->value, view->attributes, view->unique);
  }
  void Set(const Entry* entry, Condition condition) {
    const std::string value = NewValue();
    const Attributes attributes = NewAttributes();
    uint64_t unique = 0;
    if (condition == Condition::kIfUnchanged && entry != nullptr) {
      unique = entry->unique + (Chance(4) ? 1 : 0);
    }
    Result expected = Result::kOk;
    if (condition == Condition::kIfAbsent && entry != nullptr) expected = Result::kExists;
    if (condition == Condition::kIfPresent && entry == nullptr) expected = Result::kNotStored;
    if (condition == Condition::kIfUnchanged) {
      if (entry == nullptr) expected = Result::kNotFound;
      if (entry != nullptr && unique != entry->unique) expected = Result::kExists;
    }
    const Result result = partition_.Set(BytesOf(key_), hash_, BytesOf(value), attributes,
                                         condition, now_s_, &unique);
    if (expected == Result::kOk && Refused(result, value.size())) return;
    if (!Expect(result, expected)) return;
    Changed(unique);
    entries_[number_] = {value, attributes.flags, attributes.expires_s, unique};
  }
  void Extend(Entry* entry, bool behind) {
    const std::string more = NewValue();
    uint64_t unique = 0;
    const Result result =
        behind ? partition_.Append(BytesOf(key_), hash_, BytesOf(more), now_s_, &unique)
               : partition_.Prepend(BytesOf(key_), hash_, BytesOf(more), now_s_, &unique);
    if (entry == nullptr) {
      Expect(result, Result::kNotStored);
    } else if (entry->value.size() + more.size() > partition_.max_value_bytes()) {
      Expect(result, Result::kTooLarge);
    } else if (!Refused(result, entry->value.size() + more.size()) && Expect(result, Result::kOk)) {
      Changed(unique);
      entry->value = behind ? entry->value + more : more + entry->value;
      entry->unique = unique;
    }
  }
  void Delete(const Entry* entry) {
    const uint64_t unique = entry != nullptr && Chance(2) ? entry->unique + random_() % 2 : 0;
    Result expected = entry == nullptr ? Result::kNotFound : Result::kOk;
    if (entry != nullptr && unique == entry->unique + 1) expected = Result::kExists;
    if (Expect(partition_.Delete(BytesOf(key_), hash_, unique, now_s_), expected)) {
      entries_.erase(number_);
    }
  }
  void Touch(Entry* entry) {
    const uint32_t expires_s = NewAttributes().expires_s;
    const Result result = partition_.Touch(BytesOf(key_), hash_, expires_s, now_s_);
    if (Expect(result, entry == nullptr ? Result::kNotFound : Result::kOk)) {
      entry->expires_s = expires_s;
    }
  }
  void Changed(uint64_t unique) {
    if (unique <= last_unique_) Fail("unique was given before", unique);
    last_unique_ = unique;
  }

  void CheckAll() {
    // Get detects expired items.
    uint64_t items = 0;
    uint64_t bytes = 0;
    for (number_ = 0; number_ < plan_.keys; ++number_) {
      key_ = KeyOf(number_);
      hash_ = HashOfKey(key_);
      partition_.Get(BytesOf(key_), hash_, now_s_);
    }
    for (number_ = 0; number_ < plan_.keys; ++number_) {
      key_ = KeyOf(number_);
      hash_ = HashOfKey(key_);
      const Entry* const entry = Live();
      if (entry == nullptr) continue;
      ++items;
      bytes += 24 + (key_.size() + 7) / 8 * 8 + (entry->value.size() + 7) / 8 * 8;
    }
    if (counters().items != items) Fail("wrong count of items", items);
    if (counters().item_bytes != bytes) Fail("wrong count of bytes", bytes);
    uint64_t seen = 0;
    partition_.ForEach(now_s_, [&](Bytes, const ItemView&) { ++seen; });
    if (seen != items) Fail("ForEach saw another number", items);
  }

  SoakPlan plan_;
  std::function<uint64_t()> random_;
  Partition partition_;
  std::vector<uint8_t> room_;
  Entries entries_;
  uint32_t number_ = 0;
  std::string key_;
  uint64_t hash_ = 0;
  uint32_t now_s_ = 1000;
  uint64_t last_unique_ = 0;
  uint64_t lost_ = 0;
  uint64_t found_ = 0;
  uint64_t refused_ = 0;
  std::string wrong_;
};

}  // namespace sluice::engine::kv
