// SPDX-License-Identifier: BSD-3-Clause
//
// The two ends of a link on a window. They use one pair of lines: each side posts one line and
// polls the peer's line. They are templates over the window, so that the same code runs between
// lcores, across a BAR and in virtual time. Each object belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "bar/window.h"
#include "swap/initiator.h"
#include "swap/responder.h"

namespace sluice::swap {

/// Decides when to read a peer's whole line: when word 0 has changed, and after kMaxSkipped polls
/// without a change, because a restarted peer may differ only in other words.
class Attention {
 public:
  bool Wants(uint64_t word0) { return IsNew(word0) || ++skipped_ >= kMaxSkipped; }
  bool IsNew(uint64_t word0) const { return word0 != heard_; }
  void Heard(uint64_t word0) {
    heard_ = word0;
    skipped_ = 0;
  }
  /// Makes the next Wants() return true, because this end may now be able to process the line that
  /// it has already read.
  void LookAgain() { skipped_ = kMaxSkipped - 1; }

 private:
  static constexpr uint32_t kMaxSkipped = 256;

  uint64_t heard_ = 0;
  uint32_t skipped_ = 0;
};

/// Common part of both ends: a line to post, and the peer's line to poll.
template <bar::WindowEnd W, typename E>
class Port {
 public:
  /// Restarts the link with `epoch`.
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
    if (end_.ConsumeUpdate()) window_->Post(index_, Encode(end_.line()));
  }
  /// Announces a Post. If lines of the window move between caches, the window can then start the
  /// transfer early.
  void PreparePost() {
    if constexpr (requires { window_->PreparePost(index_); }) window_->PreparePost(index_);
  }
  /// Processes the peer's line, whose word 0 is `word0`, by calling `hear`. Posts, and returns the
  /// result of `hear`. If this end had no memory before the call, or if its peer has changed, the
  /// next Poll processes the same line again.
  template <typename Hear>
  auto HearLine(uint64_t word0, Hear hear) {
    const bool without_memory = end_.state() == State::kSync;
    const uint8_t binding = end_.identity().binding;
    auto heard = hear();
    Post();
    attention_.Heard(word0);
    if (without_memory || binding != end_.identity().binding) attention_.LookAgain();
    return heard;
  }

  W* window_;
  uint32_t index_;
  Attention attention_;
  E end_;
};

template <bar::WindowEnd W>
class InitiatorPort : public Port<W, Initiator> {
 public:
  /// Uses line pair `index` of `window`, which must outlive this object.
  InitiatorPort(W& window, uint32_t index, Initiator end)
      : Port<W, Initiator>(window, index, std::move(end)) {}

  /// Offers the next transaction. end().CanOffer() must be true.
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

  /// Polls the peer's line. Costs one shared load if nothing has changed.
  std::optional<Result> Poll() {
    if (!this->attention_.Wants(this->window_->Peek(this->index_))) return std::nullopt;
    bar::Line line;
    if (!this->window_->Poll(this->index_, line)) return std::nullopt;
    return this->HearLine(line.word[0], [&] { return this->end_.Hear(Decode(line)); });
  }
};

template <bar::WindowEnd W>
class ResponderPort : public Port<W, Responder> {
 public:
  /// Uses line pair `index` of `window`, which must outlive this object.
  ResponderPort(W& window, uint32_t index, Responder end)
      : Port<W, Responder>(window, index, std::move(end)) {}

  /// Polls the peer's line and answers. When this returns Event::kCommitted, the answer has already
  /// been posted, and the caller must apply offer() to the resource. If `again` is true, an offer
  /// that waits for its condition (kStanding) is evaluated again.
  template <Resource R>
  Event Poll(R& resource, bool again = false) {
    const uint64_t word0 = this->window_->Peek(this->index_);
    if (!this->attention_.Wants(word0) && !again) return Event::kNothing;
    if (this->attention_.IsNew(word0)) this->PreparePost();
    if (!this->window_->Poll(this->index_, line_)) return Event::kNothing;
    return this->HearLine(line_.word[0], [&] {
      offer_ = Decode(line_);
      return this->end_.Hear(offer_, resource);
    });
  }
  /// Returns the line that the last Poll processed.
  const Message& offer() const { return offer_; }

 protected:
  bar::Line line_;  ///< The line that Poll read last.

 private:
  Message offer_;
};

}  // namespace sluice::swap
