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

/// What both ends have: a line of their own to post, and one of the peer's to look at.
template <bar::WindowEnd W, typename E>
class Port {
 public:
  /// The link came up again under `epoch`.
  void Reset(uint16_t epoch) {
    end_.Reset(epoch);
    Post();
    attention_.LookAgain();
  }
  void Expire() { end_.Expire(); }
  const E& end() const { return end_; }

 protected:
  Port(W& window, uint32_t index, E end) : window_(&window), index_(index), end_(std::move(end)) {
    Post();
  }

  void Post() {
    if (end_.TakePublish()) window_->Post(index_, Encode(end_.line()));
  }
  /// A post is certain and near: a window whose lines move between caches starts early.
  void PreparePost() {
    if constexpr (requires { window_->PreparePost(index_); }) window_->PreparePost(index_);
  }
  /// Hears line_ through `hear`, which returns what came of it, and posts. An end that was
  /// without memory, or met a new peer, looks at the same line again.
  template <typename Hear>
  auto HearLine(Hear hear) {
    const bool without_memory = end_.state() == State::kSync;
    const uint8_t binding = end_.identity().binding;
    auto heard = hear();
    Post();
    attention_.Heard(line_.word[0]);
    if (without_memory || binding != end_.identity().binding) attention_.LookAgain();
    return heard;
  }

  W* window_;
  uint32_t index_;
  Attention attention_;
  E end_;
  bar::Line line_;  ///< Scratch of Poll.
};

template <bar::WindowEnd W>
class InitiatorPort : public Port<W, Initiator> {
 public:
  /// Line pair `index` of `window`, which outlives this object.
  InitiatorPort(W& window, uint32_t index, Initiator end)
      : Port<W, Initiator>(window, index, std::move(end)) {}

  /// Only if end().CanOffer().
  void MakeOffer(const Offer& offer) {
    this->PreparePost();
    this->end_.MakeOffer(offer);
    this->Post();
  }
  bool Cancel() {
    const bool cancelled = this->end_.Cancel();
    this->Post();
    return cancelled;
  }
  std::optional<Result> Commit() {
    const std::optional<Result> result = this->end_.Commit();
    this->Post();
    return result;
  }
  bool Abort() {
    const bool aborted = this->end_.Abort();
    this->Post();
    return aborted;
  }

  /// Looks at the peer's line; one shared load if nothing changed.
  std::optional<Result> Poll() {
    if (!this->attention_.Wants(this->window_->Peek(this->index_))) return std::nullopt;
    if (!this->window_->Poll(this->index_, this->line_)) return std::nullopt;
    return this->HearLine([&] { return this->end_.Hear(Decode(this->line_)); });
  }
};

template <bar::WindowEnd W>
class ResponderPort : public Port<W, Responder> {
 public:
  /// As InitiatorPort.
  ResponderPort(W& window, uint32_t index, Responder end)
      : Port<W, Responder>(window, index, std::move(end)) {}

  /// Looks at the peer's line and answers. After Event::kCommitted, which is posted
  /// already, the caller applies the offer() to the resource. A standing offer whose
  /// condition may have become true is looked at again with `again`.
  template <Resource R>
  Event Poll(R& resource, bool again = false) {
    const uint64_t word0 = this->window_->Peek(this->index_);
    if (!this->attention_.Wants(word0) && !again) return Event::kNothing;
    if (this->attention_.IsNew(word0)) this->PreparePost();
    if (!this->window_->Poll(this->index_, this->line_)) return Event::kNothing;
    return this->HearLine([&] {
      offer_ = Decode(this->line_);
      return this->end_.Hear(offer_, resource);
    });
  }
  /// The line that the last Poll heard.
  const Message& offer() const { return offer_; }

 private:
  Message offer_;
};

}  // namespace sluice::swap
