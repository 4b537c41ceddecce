// SPDX-License-Identifier: BSD-3-Clause
//
// The two ends of a link on a window: one pair of lines, this side posts its own and
// looks at the peer's. Templates over the window, so that the same code runs between
// lcores, across a BAR and in virtual time. Each object belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "bar/window.h"
#include "swap/initiator.h"
#include "swap/responder.h"

namespace sluice::swap {

/// Whether a line is worth a whole look: if word 0 changed, and now and then without,
/// since a restarted peer may differ beside it.
class Attention {
 public:
  bool Wants(uint64_t word0) { return word0 != heard_ || ++skipped_ == kMaxSkipped; }
  /// The line with this word 0 was heard. `again`: this end moved, and may understand the
  /// same line further.
  void Heard(uint64_t word0, bool again) {
    heard_ = again ? ~word0 : word0;
    skipped_ = 0;
  }

 private:
  static constexpr uint32_t kMaxSkipped = 256;

  uint64_t heard_ = 0;
  uint32_t skipped_ = 0;
};

template <bar::WindowEnd W>
class InitiatorPort {
 public:
  /// Line pair `index` of `window`, which outlives this object.
  InitiatorPort(W& window, uint32_t index, Initiator end)
      : window_(&window), index_(index), end_(std::move(end)) {
    Post();
  }

  /// Only if end().CanOffer().
  void MakeOffer(const Offer& offer) {
    end_.MakeOffer(offer);
    Post();
  }
  bool Cancel() {
    const bool cancelled = end_.Cancel();
    Post();
    return cancelled;
  }
  std::optional<Result> Commit() {
    const std::optional<Result> result = end_.Commit();
    Post();
    return result;
  }
  bool Abort() {
    const bool aborted = end_.Abort();
    Post();
    return aborted;
  }
  void Reset(uint16_t epoch) {
    end_.Reset(epoch);
    Post();
  }
  void Expire() { end_.Expire(); }

  /// Looks at the peer's line; one shared load if nothing changed.
  std::optional<Result> Poll() {
    if (!attention_.Wants(window_->Peek(index_)) && end_.state() != State::kSync) return std::nullopt;
    bar::Line line;
    if (!window_->Poll(index_, line)) return std::nullopt;
    const std::optional<Result> result = end_.Hear(Decode(line));
    attention_.Heard(line.word[0], Post());
    return result;
  }

  const Initiator& end() const { return end_; }

 private:
  bool Post() {
    if (!end_.TakePublish()) return false;
    window_->Post(index_, Encode(end_.line()));
    return true;
  }

  W* window_;
  uint32_t index_;
  Attention attention_;
  Initiator end_;
};

template <bar::WindowEnd W>
class ResponderPort {
 public:
  ResponderPort(W& window, uint32_t index, Responder end)
      : window_(&window), index_(index), end_(std::move(end)) {
    Post();
  }

  /// Looks at the peer's line and answers. After Event::kCommitted, which is posted
  /// already, the caller applies the offer() to the resource. A standing offer whose
  /// condition may have become true is looked at again with `again`.
  template <Resource R>
  Event Poll(R& resource, bool again = false) {
    again = again || end_.state() == State::kSync;
    if (!attention_.Wants(window_->Peek(index_)) && !again) return Event::kNothing;
    bar::Line line;
    if (!window_->Poll(index_, line)) return Event::kNothing;
    offer_ = Decode(line);
    const Event event = end_.Hear(offer_, resource);
    attention_.Heard(line.word[0], Post());
    return event;
  }
  /// The line that the last Poll heard.
  const Message& offer() const { return offer_; }
  void Reset(uint16_t epoch) {
    end_.Reset(epoch);
    Post();
  }
  void Expire() { end_.Expire(); }

  const Responder& end() const { return end_; }

 private:
  bool Post() {
    if (!end_.TakePublish()) return false;
    window_->Post(index_, Encode(end_.line()));
    return true;
  }

  W* window_;
  uint32_t index_;
  Attention attention_;
  Responder end_;
  Message offer_;
};

}  // namespace sluice::swap
