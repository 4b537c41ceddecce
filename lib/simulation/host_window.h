// SPDX-License-Identifier: BSD-3-Clause
//
// The host's end of a window, for code that several processors share, such as a kernel in shared
// memory. Each call is recorded and uses the clock, the buffers and the caches of the calling
// processor.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "bar/window_trace.h"
#include "fabric/window.h"

namespace sluice::simulation {

/// The host's end of `pair`, which must outlive this object. Call AddHost() for all hosts before
/// constructing it.
class HostWindow {
 public:
  /// If `prefetches` is false, Prefetch does nothing.
  HostWindow(fabric::WindowPair& pair, bool prefetches)
      : pair_(&pair), prefetches_(prefetches && Has(bar::kWindowWriteThrough)), trace_({}) {
    for (uint32_t i = 0; i < pair.hosts(); ++i)
      ends_.emplace_back(pair.host(i), trace_, bar::WindowSide::kHost);
  }

  /// Selects processor `host` for all following calls.
  void Enter(uint32_t host) { current_ = host; }
  uint32_t current() const { return current_; }
  /// Returns the operation counts of all processors together.
  const bar::WindowTrace& trace() const { return trace_; }

  uint32_t lines() const { return pair_->parameters().lines; }
  uint32_t capabilities() const { return pair_->host().capabilities(); }
  void Post(uint32_t index, const bar::Line& line) { end().Post(index, line); }
  uint64_t Peek(uint32_t index) { return end().Peek(index); }
  bool Poll(uint32_t index, bar::Line& out) { return end().Poll(index, out); }
  uint64_t ReadUncached(uint32_t index, uint32_t word) { return end().ReadUncached(index, word); }
  void Flush() { end().Flush(); }
  void Interrupt(uint32_t vector) { end().Interrupt(vector); }
  void Prefetch(uint32_t index) {
    if (prefetches_) end().Prefetch(index);
  }

 private:
  bool Has(uint32_t capability) const { return (capabilities() & capability) != 0; }
  bar::TracedWindow<fabric::HostEnd>& end() { return ends_[current_]; }

  fabric::WindowPair* pair_;
  bool prefetches_;
  bar::WindowTrace trace_;
  std::deque<bar::TracedWindow<fabric::HostEnd>> ends_;
  uint32_t current_ = 0;
};

/// The NIC's end, with the delay of the NIC's software before it sends an interrupt. Without
/// interrupts, the host polls.
class NicWindow {
 public:
  NicWindow(fabric::WindowPair& pair, bool interrupts)
      : pair_(&pair),
        interrupts_(interrupts),
        trace_({}),
        end_(pair.nic(), trace_, bar::WindowSide::kNic) {}

  const bar::WindowTrace& trace() const { return trace_; }

  uint32_t lines() const { return pair_->parameters().lines; }
  uint32_t capabilities() const {
    return pair_->nic().capabilities() & ~(interrupts_ ? 0u : uint32_t{bar::kWindowInterrupt});
  }
  void Post(uint32_t index, const bar::Line& line) { end_.Post(index, line); }
  uint64_t Peek(uint32_t index) { return end_.Peek(index); }
  bool Poll(uint32_t index, bar::Line& out) { return end_.Poll(index, out); }
  uint64_t ReadUncached(uint32_t index, uint32_t word) { return end_.ReadUncached(index, word); }
  void Flush() { end_.Flush(); }
  void Interrupt(uint32_t vector) {
    if (!interrupts_) return;
    const fabric::Costs& costs = pair_->parameters().costs;
    pair_->nic().Compute(costs.decision_to_msix_sent - costs.msix_send);
    end_.Interrupt(vector);
  }

 private:
  fabric::WindowPair* pair_;
  bool interrupts_;
  bar::WindowTrace trace_;
  bar::TracedWindow<fabric::NicEnd> end_;
};

static_assert(bar::WindowEnd<HostWindow> && bar::WindowEnd<NicWindow>);

}  // namespace sluice::simulation
