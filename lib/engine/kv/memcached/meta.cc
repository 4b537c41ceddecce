// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/memcached/meta_request.h"
#include "engine/kv/memcached/numbers.h"

namespace sluice::engine::kv::memcached {
namespace {

// Unsupported flags: the store does not keep the state that they need.
constexpr std::string_view kRefusedGet = "NRhl";
constexpr std::string_view kRefusedSet = "I";
constexpr std::string_view kRefusedDelete = "I";

}  // namespace

// Implements the meta commands mg, ms and md.

Step WriteTooLittleRoom(AsciiRequest& request) {
  request.WriteTooLong();
  return Step::kEnd;
}

bool OpaqueFits(const MetaFlags& flags) {
  for (size_t i = 0; i < flags.words.count; ++i) {
    const std::string_view flag = flags.words.at[i];
    if (flag[0] == 'O' && flag.size() > kMaxOpaqueBytes) return false;
  }
  return true;
}

Step WriteCode(AsciiRequest& request, std::string_view code, const MetaFlags& flags,
               const uint64_t* unique) {
  MetaLine line(code);
  for (size_t i = 0; i < flags.words.count; ++i) {
    const std::string_view flag = flags.words.at[i];
    if (flag[0] == 'c' && unique != nullptr) line.AddNumber('c', *unique);
    line.AddCommon(flag, flags);
  }
  return request.WriteLine(line.text());
}

Step ServeMetaGet(AsciiRequest& request, Words words) {
  const std::string_view key = words.Next();
  if (key.empty()) return request.WriteError(kError);
  if (!IsKey(key)) return request.WriteError(kBadLine);
  MetaFlags flags(words);
  if (flags.words.more) return request.WriteError("CLIENT_ERROR options flags are too long");
  const std::string_view error = flags.Read(key, kRefusedGet);
  if (!error.empty()) return request.WriteError(error);
  if (!OpaqueFits(flags)) return request.WriteError(kLongOpaque);
  if (!HasRoom(request)) return WriteTooLittleRoom(request);
  Exchange& exchange = request.exchange;
  const KeyHash hash = request.access.Hash(flags.key());
  if (!(flags.has_ttl ? request.access.MayWrite(hash) : request.access.MayRead(hash))) {
    return request.Foreign(hash);
  }

  const auto item = request.access.Get(flags.key(), hash, exchange.now_s);
  if (!item) {
    ++request.counters.get_misses;
    return flags.quiet ? Step::kNext : WriteCode(request, "EN", flags);
  }
  ++(flags.has_ttl ? request.counters.touches : request.counters.get_hits);
  uint32_t expires_s = item->attributes.expires_s;
  MetaLine line(flags.value ? "VA " : "HD");
  if (flags.value) line.Add(Digits(item->value.size()).text());
  for (size_t i = 0; i < flags.words.count; ++i) {
    const std::string_view flag = flags.words.at[i];
    switch (flag[0]) {
      case 'T':
        expires_s = ExpiryOf(flags.ttl, exchange);
        break;
      case 's':
        line.AddNumber('s', uint64_t{item->value.size()});
        break;
      case 't':
        line.AddNumber('t', SecondsLeft(expires_s, exchange));
        break;
      case 'c':
        line.AddNumber('c', item->unique);
        break;
      case 'f':
        line.AddNumber('f', uint64_t{item->attributes.flags});
        break;
      default:
        line.AddCommon(flag, flags);
    }
  }
  if (flags.value && !request.Fits(line.text().size() + item->value.size() + 4 + kAnswerBytes)) {
    return request.WriteTooLong();
  }
  request.WriteLine(line.text());
  if (flags.value) request.WriteLine(AsText(item->value));
  if (flags.has_ttl) {
    request.access.Own(hash).Touch(flags.key(), hash.index, expires_s, exchange.now_s);
  }
  return Step::kNext;
}

namespace {

// Returns false for an unknown mode.
bool StoreModeOf(char letter, StoreMode* mode) {
  switch (letter) {
    case 0:
    case 'S':
      *mode = StoreMode::kSet;
      return true;
    case 'E':
      *mode = StoreMode::kAdd;
      return true;
    case 'A':
      *mode = StoreMode::kAppend;
      return true;
    case 'P':
      *mode = StoreMode::kPrepend;
      return true;
    case 'R':
      *mode = StoreMode::kReplace;
      return true;
    default:
      return false;
  }
}

Step WriteMetaStored(AsciiRequest& request, Result result, const MetaFlags& flags,
                     uint64_t unique) {
  const uint64_t none = 0;
  switch (result) {
    case Result::kOk:
      return flags.quiet ? Step::kNext : WriteCode(request, "HD", flags, &unique);
    case Result::kNotStored:
      return WriteCode(request, "NS", flags, &none);
    case Result::kExists:
      return WriteCode(request, "EX", flags, &none);
    case Result::kNotFound:
      return WriteCode(request, "NF", flags, &none);
    case Result::kTooLarge:
      return request.WriteError(kTooLarge);
    case Result::kNoMemory:
      break;
  }
  return request.WriteLine(kNoMemory);
}

}  // namespace

Step ServeMetaSet(AsciiRequest& request, Words words) {
  const std::string_view key = words.Next();
  if (key.empty()) return request.WriteError(kError);
  const std::string_view size = words.Next();
  if (!IsKey(key) || size.empty()) return request.WriteError(kBadLine);
  MetaFlags flags(words);
  if (flags.words.count >= MetaFlags::kMaxWords) return request.WriteError(kTooManyFlags);
  const auto bytes = ParseSigned(size);
  if (!bytes || *bytes < 0 || *bytes > 0x7fffffff - 2) return request.WriteError(kBadLine);

  // The data length is known from here on, so the data can be skipped after an error.
  std::string_view error = flags.Read(key, kRefusedSet);
  StoreRequest store{.key = flags.key()};
  if (error.empty() && !StoreModeOf(flags.mode, &store.mode)) {
    error = "CLIENT_ERROR invalid mode for ms M token";
  }
  if (error.empty() && !OpaqueFits(flags)) error = kLongOpaque;
  if (!error.empty()) {
    request.WriteError(error);
    return request.SkipData(*bytes);
  }
  const KeyHash hash = request.access.Hash(store.key);
  if (!request.access.MayWrite(hash)) return request.Foreign(hash);
  Partition& partition = request.access.Own(hash);
  store.hash = hash.index;
  Step step = Step::kNext;
  const auto data = request.ReadData(*bytes, &step);
  if (!data) {
    if (step != Step::kSkipped) return step;
    store.mode = StoreMode::kSet;  // memcached deletes the old item in every mode.
    return WriteMetaStored(
        request, RejectTooLarge(partition, store, request.exchange.now_s, request.counters), flags,
        0);
  }
  if (!HasRoom(request)) return WriteTooLittleRoom(request);
  if (flags.compares && (store.mode == StoreMode::kSet || store.mode == StoreMode::kReplace)) {
    store.mode = StoreMode::kCas;
  }
  store.value = *data;
  store.attributes = {flags.client_flags, ExpiryOf(flags.ttl, request.exchange)};
  store.compare = flags.compare;
  uint64_t unique = 0;
  const Result result =
      StoreItem(partition, store, request.exchange.now_s, &unique, request.counters);
  return WriteMetaStored(request, result, flags, unique);
}

Step ServeMetaDelete(AsciiRequest& request, Words words) {
  const std::string_view key = words.Next();
  if (key.empty()) return request.WriteError(kError);
  if (!IsKey(key)) return request.WriteError(kBadLine);
  MetaFlags flags(words);
  if (flags.words.more) return request.WriteError(kTooManyFlags);
  if (!flags.Read(key, kRefusedDelete).empty()) return request.WriteError(kInvalidOrDuplicate);
  if (!OpaqueFits(flags)) return request.WriteError(kLongOpaque);
  if (!HasRoom(request)) return WriteTooLittleRoom(request);
  const KeyHash hash = request.access.Hash(flags.key());
  if (!request.access.MayWrite(hash)) return request.Foreign(hash);
  Partition& partition = request.access.Own(hash);
  const uint32_t now_s = request.exchange.now_s;
  const auto item = partition.Get(flags.key(), hash.index, now_s);
  const bool matches = item && (!flags.compares || flags.compare == item->unique);
  if (!matches) {
    ++request.counters.delete_misses;
    return WriteCode(request, item ? "EX" : "NF", flags);
  }
  partition.Delete(flags.key(), hash.index, 0, now_s);
  ++request.counters.deletes;
  return flags.quiet ? Step::kNext : WriteCode(request, "HD", flags);
}

// Implements the meta command ma.

namespace {

// The answer to ma and the expiry of the number. As in memcached, flags are applied from left to
// right: t returns the expiry set by the T and N flags before it, and T and N flags after it can
// still change the expiry.
class NumberAnswer {
 public:
  NumberAnswer(const MetaFlags& flags, const DeltaAnswer& answer, bool created)
      : flags_(flags), answer_(answer), created_(created), expires_s_(answer.expires_s) {}

  Step Write(AsciiRequest& request) {
    const Digits digits(answer_.value);
    MetaLine line(flags_.value ? "VA " : "HD");
    if (flags_.value) line.Add(Digits(digits.text().size()).text());
    for (size_t i = 0; i < flags_.words.count; ++i) {
      Apply(flags_.words.at[i], request.exchange, line);
    }
    // A quiet request is also answered if it created the number.
    if (flags_.quiet && !created_) return Step::kNext;
    request.WriteLine(line.text());
    return flags_.value ? request.WriteLine(digits.text()) : Step::kNext;
  }
  uint32_t expires_s() const { return expires_s_; }

 private:
  void Apply(std::string_view flag, const Exchange& exchange, MetaLine& line) {
    switch (flag[0]) {
      case 'N':
        if (created_) expires_s_ = ExpiryOf(flags_.created_ttl, exchange);
        break;
      case 'T':
        expires_s_ = ExpiryOf(flags_.ttl, exchange);
        break;
      case 't':
        line.AddNumber('t', SecondsLeft(expires_s_, exchange));
        break;
      case 'c':
        line.AddNumber('c', answer_.unique);
        break;
      default:
        line.AddCommon(flag, flags_);
    }
  }

  const MetaFlags& flags_;
  const DeltaAnswer& answer_;
  const bool created_;
  uint32_t expires_s_;
};

// Creates the number after a miss. Returns false if memory is exhausted.
bool CreateNumber(Partition& partition, const DeltaRequest& delta, uint64_t initial, uint32_t now_s,
                  DeltaAnswer* answer, ProtocolCounters& counters) {
  answer->value = initial;
  const Digits digits(initial);
  if (partition.Set(delta.key, delta.hash, AsBytes(digits.text()), {}, Condition::kIfAbsent, now_s,
                    &answer->unique) != Result::kOk) {
    return false;
  }
  ++counters.sets;
  return true;
}

}  // namespace

Step ServeMetaArithmetic(AsciiRequest& request, Words words) {
  const std::string_view key = words.Next();
  if (key.empty()) return request.WriteError(kError);
  if (!IsKey(key)) return request.WriteError(kBadLine);
  MetaFlags flags(words);
  if (flags.words.more) return request.WriteError(kTooManyFlags);
  if (!flags.Read(key, "").empty()) return request.WriteError(kInvalidOrDuplicate);
  const bool decrement = flags.mode == 'D' || flags.mode == '-';
  if (flags.mode != 0 && !decrement && flags.mode != 'I' && flags.mode != '+') {
    return request.WriteError("CLIENT_ERROR invalid mode for ma M token");
  }
  if (!OpaqueFits(flags)) return request.WriteError(kLongOpaque);
  if (!HasRoom(request)) return WriteTooLittleRoom(request);
  const KeyHash hash = request.access.Hash(flags.key());
  if (!request.access.MayWrite(hash)) return request.Foreign(hash);
  Partition& partition = request.access.Own(hash);
  const uint32_t now_s = request.exchange.now_s;
  const DeltaRequest delta{flags.key(), hash.index, flags.delta, decrement, flags.compare};
  DeltaAnswer answer;
  bool created = false;
  switch (ChangeNumber(partition, delta, now_s, &answer, request.counters)) {
    case DeltaOutcome::kOk:
      break;
    case DeltaOutcome::kExists:
      return WriteCode(request, "EX", flags);
    case DeltaOutcome::kNonNumeric:
      return request.WriteError(kNonNumeric);
    case DeltaOutcome::kNoMemory:
      return request.WriteLine(kNoMemory);
    case DeltaOutcome::kNotFound:
      if (!flags.creates) {
        CountMissedNumber(decrement, request.counters);
        return WriteCode(request, "NF", flags);
      }
      created = CreateNumber(partition, delta, flags.initial, now_s, &answer, request.counters);
      if (!created) return request.WriteLine(kNoMemory);
  }
  NumberAnswer writer(flags, answer, created);
  writer.Write(request);
  if (writer.expires_s() != answer.expires_s) {
    partition.Touch(delta.key, delta.hash, writer.expires_s(), now_s);
  }
  return Step::kNext;
}

}  // namespace sluice::engine::kv::memcached
