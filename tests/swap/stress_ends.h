// SPDX-License-Identifier: BSD-3-Clause
//
// The two applications of a half-link under stress. Each application drives its port through a
// window that loses and delays lines, sometimes restarts the port, and records a log. Each belongs
// to one thread and knows its peer only from the peer's lines.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "bar/shm_window.h"
#include "stress_log.h"
#include "swap/port.h"

namespace sluice::swap::test {

/// Fault rates, in events per 65536 opportunities.
struct FaultRates {
  /// Number of losses per 65536 posts; a lost line is posted again later if it is still the last
  /// one.
  uint32_t lose = 1500;
  uint32_t stale = 3000;  ///< Per read, an old line is returned.
  uint32_t cancel = 200;  ///< Per poll for an outcome, the offer is cancelled.
  uint32_t expire = 200;
  uint32_t resume = 20;  ///< Per step, the end restarts with its state.
  uint32_t forget = 8;   ///< Per step, the end restarts without its state.
  uint32_t reset = 2;    ///< Per round, the link is reset.
};

class Chance {
 public:
  explicit Chance(uint32_t seed) : random_(seed) {}
  bool Of(uint32_t per_65536) { return (random_() & 0xffff) < per_65536; }

 private:
  std::minstd_rand random_;
};

/// A register through which a post may arrive late or never, and a read may return an old value.
class FaultyWindow {
 public:
  FaultyWindow(bar::ShmWindow& window, Chance& chance, const FaultRates& rates)
      : window_(&window), chance_(&chance), rates_(&rates) {}

  uint32_t lines() const { return window_->lines(); }
  uint32_t capabilities() const { return window_->capabilities(); }
  void Post(uint32_t index, const bar::Line& line) {
    late_ = chance_->Of(rates_->lose);
    if (late_) {
      late_line_ = line;
    } else {
      window_->Post(index, line);
    }
  }
  uint64_t Peek(uint32_t index) {
    if (late_ && chance_->Of(16000)) {
      window_->Post(index, late_line_);
      late_ = false;
    }
    if (!chance_->Of(rates_->stale)) seen_ = window_->Peek(index);
    return seen_;
  }
  bool Poll(uint32_t index, bar::Line& out) { return window_->Poll(index, out); }
  uint64_t ReadUncached(uint32_t index, uint32_t word) {
    return window_->ReadUncached(index, word);
  }
  void Flush() { window_->Flush(); }
  void Interrupt(uint32_t) {}

 private:
  bar::ShmWindow* window_;
  Chance* chance_;
  const FaultRates* rates_;
  bool late_ = false;
  bar::Line late_line_;
  uint64_t seen_ = 0;
};

struct StressCounters {
  uint64_t committed = 0, rejected = 0, orphaned = 0, too_late = 0;
  uint64_t cancelled = 0, suspected = 0, resumed = 0, forgot = 0, resets = 0;
};

class OfferingEnd {
 public:
  OfferingEnd(bar::ShmWindow window, uint32_t index, const Machine& machine, uint16_t epoch,
              uint32_t seed, uint64_t swaps)
      : chance_(seed),
        shm_(window),
        window_(shm_, chance_, rates_),
        index_(index),
        machine_(&machine),
        swaps_(swaps) {
    log_.reserve(2 * swaps + swaps / 8);
    port_.emplace(window_, index_, Initiator(machine, epoch, incarnation_));
  }

  bool done() const { return serial_ == swaps_ && resolved_; }
  bool faulted() const { return port_->end().faulted(); }
  const Log& log() const { return log_; }
  const StressCounters& counters() const { return counters_; }
  /// Returns the number of payloads that failed the soundness check.
  uint64_t torn() const { return torn_; }

  void Step(uint16_t epoch) {
    if (port_->end().identity().epoch != epoch) port_->Reset(epoch);
    Restart(epoch);
    if (const auto result = port_->Poll()) Accept(*result);
    const State state = port_->end().state();
    if (state == State::kValidate) {
      if (!Sound(port_->end().answer().payload, serial_)) ++torn_;
      if (chance_.Of(50000)) {
        Accept(*port_->Commit());
      } else {
        port_->Abort();
      }
    } else if (port_->end().CanOffer() && resolved_ && serial_ < swaps_) {
      OfferNext();
    } else if (chance_.Of(rates_.cancel) || waits_ > 2000) {
      counters_.cancelled += port_->Cancel();
    } else if (port_->end().Unresolved() && chance_.Of(rates_.expire)) {
      port_->Expire();
      ++counters_.suspected;
    }
    ++waits_;
  }

 private:
  void OfferNext() {
    waits_ = 0;
    resolved_ = false;
    Offer offer;
    offer.key = chance_.Of(32768) ? 0 : 1;
    offer.standing = chance_.Of(16384);
    offer.payload = MakePayload(++serial_, token_);
    log_.push_back({serial_, EventKind::kOffered, token_});
    port_->MakeOffer(offer);
  }

  void Accept(const Result& result) {
    const bool orphaned = result.outcome == Outcome::kOrphaned;
    if (!orphaned && !Sound(result.payload, serial_)) ++torn_;
    // Ignores a repeated result, which follows a restart with state or concerns an unconfirmed
    // transaction. Only the first record counts.
    if (resolved_) return;
    resolved_ = true;
    counters_.too_late += result.too_late;
    if (orphaned) {
      ++counters_.orphaned;
      log_.push_back({serial_, EventKind::kOrphaned, token_ = NewToken()});
    } else if (result.outcome == Outcome::kCommitted) {
      ++counters_.committed;
      log_.push_back({serial_, EventKind::kCommitted, token_ = result.payload[1]});
    } else {
      ++counters_.rejected;
      log_.push_back({serial_, EventKind::kRejected, token_});
    }
  }

  void Restart(uint16_t epoch) {
    if (chance_.Of(rates_.resume)) {
      ++counters_.resumed;
      port_.emplace(window_, index_, Initiator::Resume(*machine_, epoch, port_->end().line()));
    } else if (chance_.Of(rates_.forget)) {
      ++counters_.forgot;
      resolved_ = true;
      log_.push_back({serial_, EventKind::kForgot, token_ = NewToken()});
      port_.emplace(window_, index_, Initiator(*machine_, epoch, ++incarnation_));
    }
  }
  uint64_t NewToken() { return ++tokens_ << 1; }

  FaultRates rates_;
  Chance chance_;
  bar::ShmWindow shm_;
  FaultyWindow window_;
  uint32_t index_;
  const Machine* machine_;
  std::optional<InitiatorPort<FaultyWindow>> port_;
  uint32_t incarnation_ = 1;
  uint64_t swaps_;
  uint64_t serial_ = 0;
  uint64_t tokens_ = 1;
  uint64_t token_ = 2;  ///< Even if created by this end, odd if created by the responder.
  bool resolved_ = true;
  uint32_t waits_ = 0;
  uint64_t torn_ = 0;
  Log log_;
  StressCounters counters_;
};

class AnsweringEnd {
 public:
  AnsweringEnd(bar::ShmWindow window, uint32_t index, const Machine& machine, uint16_t epoch,
               uint32_t seed, uint64_t swaps)
      : chance_(seed),
        shm_(window),
        window_(shm_, chance_, rates_),
        index_(index),
        machine_(&machine) {
    log_.reserve(swaps + swaps / 8);
    port_.emplace(window_, index_, Responder(machine, epoch, incarnation_));
  }

  bool faulted() const { return port_->end().faulted(); }
  const Log& log() const { return log_; }
  const StressCounters& counters() const { return counters_; }
  uint64_t torn() const { return torn_; }

  // Methods of swap::Resource.
  Answer Evaluate(const Message& offer, Reply& reply) const {
    reply.payload = MakePayload(offer.payload[0], token_);
    return offer.key == 0 || condition_ ? Answer::kTrue : Answer::kLater;
  }

  void Step(uint16_t epoch) {
    if (port_->end().identity().epoch != epoch) port_->Reset(epoch);
    Restart(epoch);
    if (chance_.Of(6000)) condition_ = !condition_;
    if (chance_.Of(200)) port_->Expire();
    const Event event = port_->Poll(*this, chance_.Of(8000));
    if (event == Event::kNothing) return;
    const Message& line = port_->offer();
    if (event == Event::kHeld) {
      Check(line);
      held_ = line;
      held_condition_ = condition_;
      return;
    }
    const Message& offer = held_ ? *held_ : line;
    if (!held_) Check(offer);
    const uint64_t serial = offer.payload[0];
    if (event == Event::kCommitted) {
      const bool held = offer.key == 0 || (held_ ? held_condition_ : condition_);
      log_.push_back({serial, EventKind::kResponderCommitted, token_, offer.payload[1], held});
      token_ = offer.payload[1];
      ++counters_.committed;
    } else {
      ++(event == Event::kOrphaned ? counters_.orphaned : counters_.rejected);
      // Being orphaned is not an outcome of the transaction and is not recorded.
      if (event != Event::kOrphaned) log_.push_back({serial, EventKind::kRefused, token_});
    }
    held_.reset();
  }

 private:
  void Check(const Message& offer) {
    if (!Sound(offer.payload, offer.payload[0])) ++torn_;
  }

  void Restart(uint16_t epoch) {
    if (chance_.Of(rates_.resume)) {
      ++counters_.resumed;
      port_.emplace(window_, index_, Responder::Resume(*machine_, epoch, port_->end().line()));
    } else if (chance_.Of(rates_.forget)) {
      ++counters_.forgot;
      held_.reset();
      token_ = (++tokens_ << 1) | 1;
      log_.push_back({0, EventKind::kForgot, token_});
      port_.emplace(window_, index_, Responder(*machine_, epoch, ++incarnation_));
    }
  }

  FaultRates rates_;
  Chance chance_;
  bar::ShmWindow shm_;
  FaultyWindow window_;
  uint32_t index_;
  const Machine* machine_;
  std::optional<ResponderPort<FaultyWindow>> port_;
  uint32_t incarnation_ = 1;
  uint64_t tokens_ = 1;
  uint64_t token_ = 3;
  bool condition_ = true;
  std::optional<Message> held_;
  bool held_condition_ = true;
  uint64_t torn_ = 0;
  Log log_;
  StressCounters counters_;
};

}  // namespace sluice::swap::test
