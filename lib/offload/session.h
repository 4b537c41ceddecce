// SPDX-License-Identifier: BSD-3-Clause
//
// A session: one host that has met one agent, from the control pair of a channel. Whoever lost
// its memory comes back under a greater incarnation, and begins another session; everything else
// on the window names the session that it belongs to, so that what an earlier one left there,
// or a killed end stored by half, means nothing.
//
// Control lines, both ways: word 0 = version, incarnation of the writer; word 1 = version,
// incarnation met (the host's line alone); word 2 = a count that only grows: events lost (host),
// restarts asked for (agent). Unlike others these lines are rewritten at any time: a reader that
// sees two versions looks again.
#pragma once

#include <cstdint>
#include <utility>

#include "bar/window.h"

namespace sluice::offload {

/// The other side may have written since a cached look: none is believed twice.
template <bar::WindowEnd W>
void Forget(W& window) {
  if ((window.capabilities() & bar::kWindowWriteThrough) != 0) window.Flush();
}

/// A Post of `line` is near: a window whose lines move between caches starts early.
template <bar::WindowEnd W>
void PreparePost(W& window, uint32_t line) {
  if constexpr (requires { window.PreparePost(line); }) window.PreparePost(line);
}

/// Starts to read `line`, if that takes long and the window can.
template <bar::WindowEnd W>
void Prefetch(W& window, uint32_t line) {
  if constexpr (requires { window.Prefetch(line); }) {
    if ((window.capabilities() & bar::kWindowWriteThrough) != 0) window.Prefetch(line);
  }
}

/// Incarnations are above 0; each new one of an end is one greater.
struct AgentSession {
  uint32_t host = 0;
  uint32_t agent = 0;

  constexpr bool met() const { return host != 0 && agent != 0; }
  constexpr uint64_t Word() const { return agent | uint64_t{host} << 32; }
  /// 24 bits of it, different in sessions that follow each other.
  constexpr uint32_t Tag() const { return (agent & 0xfff) | (host & 0xfff) << 12; }
  /// Of the session's swap links.
  constexpr uint16_t Epoch() const {
    return static_cast<uint16_t>((agent & 0xff) << 8 | (host & 0xff));
  }
  /// Number before the session's first event.
  constexpr uint64_t QueueStart() const {
    return uint64_t{(host & 0xffff) << 16 | (agent & 0xffff)} << 32;
  }

  friend bool operator==(const AgentSession&, const AgentSession&) = default;
};

/// What a control line says.
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

/// The other side's control line, read only when it changed.
template <bar::WindowEnd W>
class ControlReader {
 public:
  ControlReader(W& window, uint32_t index) : window_(&window), index_(index) {}

  /// The line if it differs from the last one. False as well for one that is dead, torn or
  /// nobody's. Any other incarnation is a new one: if only greater ones were, a line written
  /// wrongly once would keep out whoever comes next.
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

/// One end of the control pair: what both have.
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

/// The host's end of the control pair.
template <bar::WindowEnd W>
class HostControl : public ControlEnd<W> {
 public:
  /// `window` outlives it. `incarnation`: of this host's memory, above 0.
  HostControl(W& window, uint32_t index, uint32_t incarnation)
      : ControlEnd<W>(window, index, incarnation, {incarnation, 0}) {}

  /// Looks at the agent's line. True: another agent is there; the session is another one.
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
  bool TakeRestart() { return std::exchange(restart_, false); }
  /// An event was lost; Tell() will say so.
  void Lose() { ++own_.count, untold_ = true; }
  /// Posts what is not told yet.
  void Tell() {
    if (std::exchange(untold_, false)) Post();
  }
  /// Events lost.
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

/// The agent's end.
template <bar::WindowEnd W>
class NicControl : public ControlEnd<W> {
 public:
  /// As HostControl; the agent's incarnation.
  NicControl(W& window, uint32_t index, uint32_t incarnation)
      : ControlEnd<W>(window, index, incarnation, {0, incarnation}) {}

  /// Looks at the host's line. True: the session is another one, or over (not met()).
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
  /// True once after events were lost, or the host's memory.
  bool TakeLoss() { return std::exchange(loss_, false); }
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
