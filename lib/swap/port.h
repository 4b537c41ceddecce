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
  bool Wants(uint64_t word0) { return IsNew(word0) || ++skipped_ >= kMaxSkipped; }
  bool IsNew(uint64_t word0) const { return word0 != heard_; }
  void Heard(uint64_t word0) {
    heard_ = word0;
    skipped_ = 0;
  }
  /// This end may understand the same line further.
  void LookAgain() { skipped_ = kMaxSkipped - 1; }

 private:
  static constexpr uint32_t kMaxSkipped = 256;

  uint64_t heard_ = 0;
  uint32_t skipped_ = 0;
};

/// Hears a line through `hear`, which returns what came of it. An end that was without
/// memory, or met a new peer, looks at the same line again.
template <typename End, typename Hear>
auto HearWith(Attention& attention, const End& end, uint64_t word0, Hear hear) {
  const bool without_memory = end.state() == State::kSync;
  const uint8_t binding = end.identity().binding;
  auto heard = hear();
  attention.Heard(word0);
  if (without_memory || binding != end.identity().binding) attention.LookAgain();
  return heard;
}

/// A post is certain and near: a window whose lines move between caches starts early.
template <bar::WindowEnd W>
void PreparePost(W& window, uint32_t index) {
  if constexpr (requires { window.PreparePost(index); }) window.PreparePost(index);
}

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
    PreparePost(*window_, index_);
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
    attention_.LookAgain();
  }
  void Expire() { end_.Expire(); }

  /// Looks at the peer's line; one shared load if nothing changed.
  std::optional<Result> Poll() {
    if (!attention_.Wants(window_->Peek(index_))) return std::nullopt;
    if (!window_->Poll(index_, line_)) return std::nullopt;
    return HearWith(attention_, end_, line_.word[0], [&] {
      std::optional<Result> result = end_.Hear(Decode(line_));
      Post();
      return result;
    });
  }

  const Initiator& end() const { return end_; }

 private:
  void Post() {
    if (end_.TakePublish()) window_->Post(index_, Encode(end_.line()));
  }

  W* window_;
  uint32_t index_;
  Attention attention_;
  Initiator end_;
  bar::Line line_;  ///< Scratch of Poll.
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
    const uint64_t word0 = window_->Peek(index_);
    if (!attention_.Wants(word0) && !again) return Event::kNothing;
    if (attention_.IsNew(word0)) PreparePost(*window_, index_);
    if (!window_->Poll(index_, line_)) return Event::kNothing;
    return HearWith(attention_, end_, line_.word[0], [&] {
      offer_ = Decode(line_);
      const Event event = end_.Hear(offer_, resource);
      Post();
      return event;
    });
  }
  /// The line that the last Poll heard.
  const Message& offer() const { return offer_; }
  void Reset(uint16_t epoch) {
    end_.Reset(epoch);
    Post();
    attention_.LookAgain();
  }
  void Expire() { end_.Expire(); }

  const Responder& end() const { return end_; }

 private:
  void Post() {
    if (end_.TakePublish()) window_->Post(index_, Encode(end_.line()));
  }

  W* window_;
  uint32_t index_;
  Attention attention_;
  Responder end_;
  bar::Line line_;  ///< Scratch of Poll.
  Message offer_;
};

}  // namespace sluice::swap
