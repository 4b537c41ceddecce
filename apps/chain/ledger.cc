// SPDX-License-Identifier: BSD-3-Clause
#include "ledger.h"

#include <utility>

namespace sluice::chain_app {

Endings& Endings::operator+=(const Endings& other) {
  sent += other.sent;
  right += other.right;
  wrong += other.wrong;
  silent += other.silent;
  lost += other.lost;
  doubled += other.doubled;
  late += other.late;
  copies += other.copies;
  unknown += other.unknown;
  sent_bytes += other.sent_bytes;
  answer_bytes += other.answer_bytes;
  return *this;
}

Ledger::Ledger(std::unique_ptr<Traffic> traffic, uint32_t longest, uint32_t outstanding,
               uint64_t timeout_ns, uint64_t most)
    : traffic_(std::move(traffic)),
      longest_(longest),
      outstanding_(outstanding),
      timeout_ns_(timeout_ns),
      most_(most),
      entries_(kMemory) {}

uint32_t Ledger::Begin(std::span<uint8_t> room, uint64_t now_ns, uint32_t* number) {
  const uint32_t bytes = traffic_->Write(next_, room);
  const bool silent = !traffic_->Answered(next_);
  *number = static_cast<uint32_t>(next_) & kNumberMask;
  At(next_++) = {*number, silent ? State::kSilent : State::kWaiting, 0, now_ns};
  waiting_ += !silent;
  Add(kSent);
  Add(kSentBytes, bytes);
  if (silent) Add(kSilent);
  return bytes;
}

void Ledger::Answer(uint32_t number, uint32_t where, std::span<const uint8_t> data,
                    const std::array<uint32_t, 2>& key, uint64_t now_ns) {
  Entry& entry = At(number);
  Add(kAnswerBytes, data.size());
  if (entry.state == State::kNone || entry.number != number) return Add(kUnknown);
  // Recovers the full number: the largest number, at most next_, with these low bits.
  const uint64_t whole = next_ - ((next_ - number) & kNumberMask);
  const uint32_t bit = 1u << (where % 32);
  if ((entry.answered_by & bit) != 0) return Add(kDoubled);
  entry.answered_by |= bit;
  const bool right = traffic_->Right(whole, data, key);
  switch (entry.state) {
    case State::kWaiting:
      --waiting_;
      entry.state = right ? State::kRight : State::kWrong;
      Add(right ? kRight : kWrong);
      if (right) latency_.Record(now_ns - entry.begun_ns);
      break;
    case State::kSilent:
      EndWrong(entry, kSilent);
      break;
    case State::kLost:
      Add(kLate);
      break;
    default:
      if (right) return Add(kCopies);
      if (entry.state == State::kRight) EndWrong(entry, kRight);
  }
}

void Ledger::Expire(uint64_t now_ns) {
  for (; oldest_ != next_; ++oldest_) {
    Entry& entry = At(oldest_);
    if (entry.state != State::kWaiting) continue;
    if (now_ns < entry.begun_ns + timeout_ns_) return;
    entry.state = State::kLost;
    --waiting_;
    Add(kLost);
  }
}

Endings Ledger::Now() const {
  const auto count = [&](Count which) { return counts_[which].load(std::memory_order_relaxed); };
  return {.sent = count(kSent),
          .right = count(kRight),
          .wrong = count(kWrong),
          .silent = count(kSilent),
          .lost = count(kLost),
          .doubled = count(kDoubled),
          .late = count(kLate),
          .copies = count(kCopies),
          .unknown = count(kUnknown),
          .sent_bytes = count(kSentBytes),
          .answer_bytes = count(kAnswerBytes)};
}

}  // namespace sluice::chain_app
