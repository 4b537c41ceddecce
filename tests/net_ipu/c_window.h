// SPDX-License-Identifier: BSD-3-Clause
//
// Adapts an rte_pmd_ipu.h window to bar::WindowEnd, so that the swap protocol runs over the C
// interface.
#pragma once

#include "bar/window.h"
#include "net_ipu/rte_pmd_ipu.h"
#include "swap/port.h"

namespace sluice::net_ipu::test {

class CWindow {
 public:
  CWindow(rte_pmd_ipu_window* window, uint32_t lines) : window_(window), lines_(lines) {}

  uint32_t lines() const { return lines_; }
  uint32_t capabilities() const { return rte_pmd_ipu_window_capabilities(window_); }
  void Post(uint32_t index, const bar::Line& line) {
    rte_pmd_ipu_window_post(window_, index, line.word.data());
  }
  uint64_t Peek(uint32_t index) { return rte_pmd_ipu_window_peek(window_, index); }
  bool Poll(uint32_t index, bar::Line& out) {
    return rte_pmd_ipu_window_poll(window_, index, out.word.data());
  }
  uint64_t ReadUncached(uint32_t index, uint32_t word) {
    return rte_pmd_ipu_window_read(window_, index, word);
  }
  void Flush() { rte_pmd_ipu_window_flush(window_); }
  void Interrupt(uint32_t vector) { rte_pmd_ipu_window_interrupt(window_, vector); }

 private:
  rte_pmd_ipu_window* window_;
  uint32_t lines_;
};
static_assert(bar::WindowEnd<CWindow>);

/// Answers an offer with its value plus one.
struct Increment {
  swap::Answer Evaluate(const swap::Message& offer, swap::Reply& reply) {
    reply.payload[0] = offer.payload[0] + 1;
    return swap::Answer::kTrue;
  }
};

inline constexpr uint16_t kEpoch = 1;
inline swap::Initiator NewInitiator() { return {swap::kTwoMessage, kEpoch, 1}; }
inline swap::Responder NewResponder() { return {swap::kTwoMessage, kEpoch, 1}; }

/// Makes the offers 0, 1, … one after another until `swaps` are committed. `between` is called
/// between polls and returns false to stop. Returns the number of swaps that were committed with
/// Increment's answer.
template <bar::WindowEnd W, typename Between>
uint64_t Initiate(W& window, uint64_t swaps, Between&& between) {
  swap::InitiatorPort<W> port(window, 0, NewInitiator());
  uint64_t offered = 0;
  uint64_t right = 0;
  while (right < swaps && between()) {
    if (port.end().CanOffer()) port.MakeOffer({0, {offered++}, true});
    const std::optional<swap::Result> result = port.Poll();
    if (!result) continue;
    if (result->outcome != swap::Outcome::kCommitted || result->payload[0] != offered) break;
    ++right;
  }
  return right;
}

}  // namespace sluice::net_ipu::test
