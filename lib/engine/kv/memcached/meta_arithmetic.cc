// SPDX-License-Identifier: BSD-3-Clause
//
// Implements the meta command ma.
#include "engine/kv/memcached/meta_request.h"
#include "engine/kv/memcached/numbers.h"

namespace sluice::engine::kv::memcached {
namespace {

// The answer of ma and the expiry of the number. As in memcached, flags are applied from left to
// right: t returns the expiry that earlier T and N flags set, and later ones override it.
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
