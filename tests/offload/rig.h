// SPDX-License-Identifier: BSD-3-Clause
//
// Both ends of a channel over a window, in one thread, for channel_*_test.cc. A rig combines a
// channel with a window; all combinations have the same interface.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bar/shm_window.h"
#include "fabric/window.h"
#include "offload/item.h"
#include "offload/layout.h"
#include "offload/swap_host.h"
#include "offload/swap_nic.h"
#include "offload/wave_host.h"
#include "offload/wave_nic.h"

namespace sluice::offload {

// --- Channels.
struct WaveChannel {
  using Layout = WaveLayout;
  template <typename W>
  using Host = WaveHost<W>;
  template <typename W>
  using Nic = WaveNic<W>;
  static constexpr bool kAnswersAsks = false;
  static Layout MakeLayout(Slot slots, uint32_t depth) { return {1, slots, depth}; }
};
template <bool kAsks>
struct SwapChannelOf {
  using Layout = SwapLayout;
  template <typename W>
  using Host = SwapHost<W>;
  template <typename W>
  using Nic = SwapNic<W>;
  static constexpr bool kAnswersAsks = kAsks;
  static Layout MakeLayout(Slot slots, uint32_t depth) { return {1, slots, depth, kAsks}; }
};
using SwapChannel = SwapChannelOf<true>;
using OfferChannel = SwapChannelOf<false>;

// --- Windows.
class SharedMemory {
 public:
  using HostWindow = bar::ShmWindow;
  using NicWindow = bar::ShmWindow;
  explicit SharedMemory(uint32_t lines)
      : host_(bar::ShmWindow::Create(lines, bar::WindowSide::kHost)), nic_(host_.Peer()) {}

  HostWindow& host() { return host_; }
  NicWindow& nic() { return nic_; }
  /// Delivers all posts.
  void Settle() {}
  /// Advances the time by some nanoseconds, in which some posts may arrive.
  void Pass(uint32_t) {}

 private:
  bar::ShmWindow host_;
  bar::ShmWindow nic_;
};

template <fabric::HostStores kStores, fabric::NicLines kLines>
class VirtualTime {
 public:
  using HostWindow = fabric::HostEnd;
  using NicWindow = fabric::NicEnd;
  explicit VirtualTime(uint32_t lines) : pair_(queue_, Parameters(lines)) {}

  HostWindow& host() { return pair_.host(); }
  NicWindow& nic() { return pair_.nic(); }
  fabric::WindowPair& pair() { return pair_; }
  void Settle() {
    queue_.Run();
    queue_.RunUntil(std::max(host().now(), nic().now()));
    queue_.Run();
  }
  void Pass(uint32_t nanoseconds) {
    queue_.RunUntil(queue_.now() + nanoseconds * fabric::Picoseconds{1000});
  }

 private:
  static fabric::WindowParameters Parameters(uint32_t lines) {
    fabric::WindowParameters parameters;
    parameters.lines = lines;
    parameters.host_stores = kStores;
    parameters.nic_lines = kLines;
    parameters.early_evictions_permille = 300;
    return parameters;
  }

  fabric::EventQueue queue_;
  fabric::WindowPair pair_;
};
using Pushed = VirtualTime<fabric::HostStores::kWholeLine, fabric::NicLines::kPushed>;
using PushedCombining = VirtualTime<fabric::HostStores::kWriteCombining, fabric::NicLines::kPushed>;
using Uncached = VirtualTime<fabric::HostStores::kUncached, fabric::NicLines::kUncached>;
using WriteThrough =
    VirtualTime<fabric::HostStores::kWriteCombining, fabric::NicLines::kWriteThrough>;

/// A judge that returns `ruling` for each decision. The outcome consists of 500 and the decision's
/// first word.
struct TestJudge {
  Ruling Check(Slot, const Item& decision, Item& outcome) {
    ++checks;
    outcome.word = {500, decision.word[0], 0, 0, ~uint64_t{0} >> 1};
    return ruling;
  }
  void Apply(Slot slot, const Item& decision) {
    applied.push_back(decision);
    slots.push_back(slot);
  }
  void Recalled(Slot, const Item& decision, Item& outcome) {
    outcome.word = {501, decision.word[0], 0, 0, 0};
  }

  Ruling ruling = Ruling::kEnforce;
  uint32_t checks = 0;
  std::vector<Item> applied;
  std::vector<Slot> slots;
};

/// Returns an item in which each word is a different function of `number`.
inline Item Numbered(uint64_t number) {
  return {{number, number ^ 0x1111, ~number, number << 32, number * 0x9e37'79b9'7f4a'7c15}};
}

template <typename C, typename V>
class Rig {
 public:
  using Channel = C;
  using Window = V;
  using Host = typename C::template Host<typename V::HostWindow>;
  using Nic = typename C::template Nic<typename V::NicWindow>;

  explicit Rig(Slot slots = 3, uint32_t depth = 8)
      : layout_(C::MakeLayout(slots, depth)), window_(layout_.LinesNeeded()) {
    host_.emplace(window_.host(), layout_, host_incarnation_);
    nic_.emplace(window_.nic(), layout_, nic_incarnation_);
  }

  /// Runs until the host has seen a restart and the agent can commit. Returns false if the ends do
  /// not connect in time.
  bool Meet() {
    for (uint32_t round = 0; round < 100; ++round) {
      Settle();
      restarts_ += host_->PollRestart();
      Settle();
      losses_ += nic_->PollLoss();
      Settle();
      if (restarts_ != 0 && nic_->CanCommit(0)) return true;
    }
    return false;
  }
  void Settle() { window_.Settle(); }

  void ReplaceNic() {
    nic_.reset();
    nic_.emplace(window_.nic(), layout_, ++nic_incarnation_);
    restarts_ = losses_ = 0;
  }
  void ReplaceHost() {
    host_.reset();
    host_.emplace(window_.host(), layout_, ++host_incarnation_);
    restarts_ = losses_ = 0;
  }

  // Each of these functions first delivers all posts.
  bool Receive(Item& out) { return Settle(), nic_->Receive(out); }
  bool PollLoss() { return Settle(), nic_->PollLoss(); }
  bool PollOutcome(Slot slot, Item& out, Decided& how) {
    return Settle(), nic_->PollOutcome(slot, out, how);
  }
  bool PollRestart() { return Settle(), host_->PollRestart(); }
  Decided Decide(Slot slot, TestJudge& judge) { return Settle(), host_->Decide(slot, judge); }

  Host& host() { return *host_; }
  Nic& nic() { return *nic_; }
  V& window() { return window_; }
  const typename C::Layout& layout() const { return layout_; }
  uint32_t restarts() const { return restarts_; }  ///< Restarts that the host saw in Meet.
  uint32_t losses() const { return losses_; }
  uint64_t Faults() const { return host_->faults() + nic_->faults(); }

 private:
  typename C::Layout layout_;
  V window_;
  uint32_t host_incarnation_ = 1;
  uint32_t nic_incarnation_ = 1;
  uint32_t restarts_ = 0;
  uint32_t losses_ = 0;
  std::optional<Host> host_;
  std::optional<Nic> nic_;
};

}  // namespace sluice::offload
