// SPDX-License-Identifier: BSD-3-Clause
//
// A session between one host and one agent, established on the control pair of a channel. An end
// that has lost its memory returns with a greater incarnation and begins another session. All other
// lines of the window name their session, so that lines from an earlier session, and lines that a
// killed end stored only in part, are ignored.
//
// Control lines, in both directions: word 0 = version, incarnation of the writer; word 1 = version,
// incarnation of the peer (the host's line only); word 2 = an increasing count of lost events
// (host) or of requested restarts (agent). Unlike other lines, these may be rewritten at any time:
// a reader that sees two different versions reads again.
#pragma once

#include <cstdint>
#include <utility>

#include "bar/window.h"

namespace sluice::offload {

/// Invalidates the cached lines of a write-through window, because the peer may have written to
/// them since.
template <bar::WindowEnd W>
void Forget(W& window) {
  if ((window.capabilities() & bar::kWindowWriteThrough) != 0) window.Flush();
}

/// Announces that `line` will be posted. If lines of the window move between caches, the window can
/// then start the transfer early.
template <bar::WindowEnd W>
void PreparePost(W& window, uint32_t line) {
  if constexpr (requires { window.PreparePost(line); }) window.PreparePost(line);
}

/// Prefetches `line` if reads of the window are slow and it supports prefetching.
template <bar::WindowEnd W>
void Prefetch(W& window, uint32_t line) {
  if constexpr (requires { window.Prefetch(line); }) {
    if ((window.capabilities() & bar::kWindowWriteThrough) != 0) window.Prefetch(line);
  }
}

/// The incarnations of both ends of a session. 0 means that the end is unknown. Each restart of an
/// end increments its incarnation.
struct AgentSession {
  uint32_t host = 0;
  uint32_t agent = 0;

  constexpr bool met() const { return host != 0 && agent != 0; }
  constexpr uint64_t Word() const { return agent | uint64_t{host} << 32; }
  /// Returns 24 bits that differ between successive sessions.
  constexpr uint32_t Tag() const { return (agent & 0xfff) | (host & 0xfff) << 12; }
  /// Returns the epoch of the session's swap links.
  constexpr uint16_t Epoch() const {
    return static_cast<uint16_t>((agent & 0xff) << 8 | (host & 0xff));
  }
  /// Returns the number that precedes that of the session's first event.
  constexpr uint64_t QueueStart() const {
    return uint64_t{(host & 0xffff) << 16 | (agent & 0xffff)} << 32;
  }

  friend bool operator==(const AgentSession&, const AgentSession&) = default;
};

/// A decoded control line.
struct ControlLine {
  uint32_t version = 0;
  uint32_t incarnation = 0;
  uint32_t met = 0;
  uint64_t count = 0;

  bar::Line Encode() const {
    bar::Line line;
    line.word[0] = version | uint64_t{incarnation} << 32;
    line.word[1] = version | uint64_t{met} << 32;
    line.word[2] = count;
    return line;
  }
};

/// Reads the peer's control line if it has changed.
template <bar::WindowEnd W>
class ControlReader {
 public:
  ControlReader(W& window, uint32_t index) : window_(&window), index_(index) {}

  /// Reads the line if it differs from the last one read. Also returns false if the line is dead or
  /// torn or contains no incarnation. Any different incarnation counts as new, not only a greater
  /// one, because otherwise one wrong write could lock out all later peers.
  bool Read(ControlLine& out) {
    const bool read = ReadChanged(out);
    Forget(*window_);
    return read;
  }
  uint64_t faults() const { return faults_; }

 private:
  bool ReadChanged(ControlLine& out) {
    const uint64_t word0 = window_->Peek(index_);
    bar::Line line;
    if (word0 == seen_ || word0 == 0 || word0 == ~uint64_t{0} || !window_->Poll(index_, line) ||
        static_cast<uint32_t>(line.word[0]) != static_cast<uint32_t>(line.word[1])) {
      return false;
    }
    seen_ = line.word[0];
    out = {static_cast<uint32_t>(line.word[0]), static_cast<uint32_t>(line.word[0] >> 32),
           static_cast<uint32_t>(line.word[1] >> 32), line.word[2]};
    if (out.incarnation != 0) return true;
    ++faults_;
    return false;
  }

  W* window_;
  uint32_t index_;
  uint64_t seen_ = 0;
  uint64_t faults_ = 0;
};

/// Common part of both ends of a control pair.
template <bar::WindowEnd W>
class ControlEnd {
 public:
  const AgentSession& session() const { return session_; }
  uint64_t faults() const { return reader_.faults(); }

 protected:
  ControlEnd(W& window, uint32_t index, uint32_t incarnation, const AgentSession& session)
      : session_(session), reader_(window, index), window_(&window), index_(index) {
    own_.incarnation = incarnation;
    Post();
  }
  void Post() {
    ++own_.version;
    window_->Post(index_, own_.Encode());
  }

  AgentSession session_;
  ControlLine own_;
  ControlReader<W> reader_;

 private:
  W* window_;
  uint32_t index_;
};

/// The host's end of a control pair.
template <bar::WindowEnd W>
class HostControl : public ControlEnd<W> {
 public:
  /// `window` must outlive this object. `incarnation` is that of this host's memory and must be
  /// greater than 0.
  HostControl(W& window, uint32_t index, uint32_t incarnation)
      : ControlEnd<W>(window, index, incarnation, {incarnation, 0}) {}

  /// Polls the agent's line. Returns true if there is a new agent and therefore a new session.
  bool Look() {
    ControlLine agent;
    if (!reader_.Read(agent)) return false;
    const bool another = agent.incarnation != session_.agent;
    if (another || agent.count != requests_) restart_ = true;
    requests_ = agent.count;
    if (!another) return false;
    own_.met = session_.agent = agent.incarnation;
    untold_ = false;
    Post();
    return true;
  }
  bool PollRestart() { return std::exchange(restart_, false); }
  /// Counts a lost event; PublishLosses() publishes the count.
  void Lose() { ++own_.count, untold_ = true; }
  /// Publishes the count of lost events if it has changed.
  void PublishLosses() {
    if (std::exchange(untold_, false)) Post();
  }
  /// Returns the number of lost events.
  uint64_t lost() const { return own_.count; }

 private:
  using ControlEnd<W>::own_;
  using ControlEnd<W>::reader_;
  using ControlEnd<W>::session_;
  using ControlEnd<W>::Post;

  uint64_t requests_ = 0;
  bool restart_ = false;
  bool untold_ = false;
};

/// The agent's end of a control pair.
template <bar::WindowEnd W>
class NicControl : public ControlEnd<W> {
 public:
  /// Like HostControl, with the agent's incarnation.
  NicControl(W& window, uint32_t index, uint32_t incarnation)
      : ControlEnd<W>(window, index, incarnation, {0, incarnation}) {}

  /// Polls the host's line. Returns true if the session has changed or has ended. If it has ended,
  /// met() is false.
  bool Look() {
    ControlLine host;
    if (!reader_.Read(host)) return false;
    const uint32_t now = host.met == session_.agent ? host.incarnation : 0;
    const uint32_t before = std::exchange(session_.host, now);
    if (now == before) {
      loss_ = loss_ || host.count != lost_;
      lost_ = host.count;
      return false;
    }
    loss_ = loss_ || before != 0;
    lost_ = host.count;
    return true;
  }
  /// Returns true once after events or the host's memory were lost.
  bool PollLoss() { return std::exchange(loss_, false); }
  void RequestRestart() {
    ++own_.count;
    Post();
  }

 private:
  using ControlEnd<W>::own_;
  using ControlEnd<W>::reader_;
  using ControlEnd<W>::session_;
  using ControlEnd<W>::Post;

  uint64_t lost_ = 0;
  bool loss_ = false;
};

}  // namespace sluice::offload
