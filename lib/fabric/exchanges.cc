// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/exchanges.h"

#include <array>
#include <utility>

#include "bar/window_trace.h"
#include "base/counter_rows.h"
#include "fabric/window.h"

namespace sluice::fabric {
namespace {

using bar::Line;
using bar::WindowOperation;

constexpr auto kOperationNames = base::Names<WindowOperation, bar::kWindowOperations>(
    {{WindowOperation::kPost, "post"},
     {WindowOperation::kPeek, "peek"},
     {WindowOperation::kPoll, "poll"},
     {WindowOperation::kReadUncached, "read"},
     {WindowOperation::kFlush, "flush"},
     {WindowOperation::kInterrupt, "MSI-X"},
     {WindowOperation::kPrefetch, "prefetch"}});

Line LineOf(uint64_t number) {
  Line line;
  line.word[0] = number;
  return line;
}

/// A traced window and the exchange that is simulated on it.
class Stage {
 public:
  Stage(std::string name, const WindowParameters& parameters)
      : pair(queue, parameters),
        trace_(events_),
        host(pair.host(), trace_, bar::WindowSide::kHost),
        nic(pair.nic(), trace_, bar::WindowSide::kNic) {
    played_.name = std::move(name);
  }

  /// Adds a milestone at the current time of `cpu`.
  void Reached(std::string what, const Cpu& cpu) {
    played_.milestones.push_back({std::move(what), cpu.now() - began_});
  }
  /// Starts the exchange. Earlier operations belong to its preparation.
  void Begin() { began_ = queue.now(); }
  /// Advances the clock to `duration` after the arrival of the line that the agent handles.
  void Think(Cpu& cpu, Picoseconds duration) { cpu.Compute(queue.now() + duration - cpu.now()); }

  Exchange Played() {
    queue.Run();
    for (uint64_t i = 0; i < trace_.size(); ++i) {
      const bar::WindowEvent& event = trace_[i];
      if (event.bytes == bar::LinkBytes{}) continue;
      if (!played_.operations.empty()) played_.operations += ", ";
      played_.operations += event.side == bar::WindowSide::kHost ? "host " : "NIC ";
      played_.operations += kOperationNames[static_cast<size_t>(event.operation)];
    }
    played_.bytes = pair.link_bytes();
    return std::move(played_);
  }

  EventQueue queue;
  WindowPair pair;

 private:
  std::array<bar::WindowEvent, 64> events_;
  bar::WindowTrace trace_;
  Exchange played_;
  Picoseconds began_ = 0;

 public:
  bar::TracedWindow<HostEnd> host;
  bar::TracedWindow<NicEnd> nic;
};

WindowParameters Over(const Costs& costs, NicLines nic_lines,
                      HostStores host_stores = HostStores::kWholeLine) {
  WindowParameters parameters;
  parameters.costs = costs;
  parameters.nic_lines = nic_lines;
  parameters.host_stores = host_stores;
  return parameters;
}

}  // namespace

Exchange SwapOfTwoByHost(const Costs& costs, Thinking thinking) {
  Stage stage("swap, 2 messages, host offers", Over(costs, NicLines::kPushed));
  stage.pair.nic().OnArrival([&] {
    Line offer;
    stage.nic.Poll(0, offer);
    stage.Think(stage.pair.nic(), thinking.responder);
    stage.Reached("NIC commits", stage.pair.nic());
    stage.nic.Post(0, offer);
  });
  stage.pair.host().OnArrival([&] { stage.Reached("host commits", stage.pair.host()); });
  stage.host.Post(0, LineOf(1));
  return stage.Played();
}

Exchange SwapOfTwoByNic(const Costs& costs, Thinking thinking) {
  Stage stage("swap, 2 messages, NIC offers", Over(costs, NicLines::kPushed));
  stage.pair.host().OnArrival([&] {
    Line offer;
    stage.host.Poll(0, offer);
    stage.Think(stage.pair.host(), thinking.responder);
    stage.Reached("host commits", stage.pair.host());
    stage.host.Post(0, offer);
  });
  stage.pair.nic().OnArrival([&] { stage.Reached("NIC commits", stage.pair.nic()); });
  stage.nic.Post(0, LineOf(1));
  return stage.Played();
}

Exchange SwapOfTwoFetched(const Costs& costs, Thinking thinking, int early_looks) {
  const std::string suffix = early_looks == 0 ? "" : ", looks too early";
  Stage stage("swap, 2 messages, answer fetched" + suffix, Over(costs, NicLines::kWriteThrough));
  const auto look = [&] {
    Line answer;
    stage.host.Flush();
    stage.host.Poll(0, answer);
    return answer.word[0] != 0;
  };
  stage.pair.nic().OnArrival([&] {
    Line offer;
    stage.nic.Poll(0, offer);
    stage.Think(stage.pair.nic(), thinking.responder - costs.nic_cached_line);
    stage.nic.Post(0, offer);
    stage.Reached("NIC commits", stage.pair.nic());
    if (early_looks != 0) return;
    stage.queue.At(stage.pair.nic().now(), [&] {
      if (look()) stage.Reached("host commits", stage.pair.host());
    });
  });
  stage.host.Post(0, LineOf(1));
  if (early_looks != 0) {
    int looks = 0;
    while (!look()) ++looks;
    if (looks == early_looks) stage.Reached("host commits", stage.pair.host());
  }
  return stage.Played();
}

Exchange SwapOfFour(const Costs& costs, Thinking thinking) {
  Stage stage("swap, 4 messages, host offers", Over(costs, NicLines::kPushed));
  stage.pair.nic().OnArrival([&, arrivals = 0]() mutable {
    if (++arrivals == 2) stage.Reached("NIC commits", stage.pair.nic());
    Line line;
    stage.nic.Poll(0, line);
    stage.Think(stage.pair.nic(), thinking.responder);
    stage.nic.Post(0, line);
  });
  stage.pair.host().OnArrival([&, arrivals = 0]() mutable {
    if (++arrivals == 2) return stage.Reached("host may offer again", stage.pair.host());
    stage.Reached("host has the reflection", stage.pair.host());
    Line line;
    stage.host.Poll(0, line);
    stage.Think(stage.pair.host(), thinking.initiator);
    stage.Reached("host commits", stage.pair.host());
    stage.host.Post(0, LineOf(2));
  });
  stage.host.Post(0, LineOf(1));
  return stage.Played();
}

namespace {

Exchange Wave(Stage& stage, const Costs& costs, Thinking thinking, bool send_path) {
  stage.pair.nic().OnArrival([&, decided = false]() mutable {
    Line event;
    if (!stage.nic.Poll(0, event) || event.word[0] == 0 || std::exchange(decided, true)) return;
    stage.Think(stage.pair.nic(), thinking.responder - costs.nic_cached_line);
    stage.nic.Post(0, event);
    stage.Reached("decision made", stage.pair.nic());
    if (send_path) stage.pair.nic().Compute(costs.decision_to_msix_sent - costs.msix_send);
    stage.nic.Interrupt(0);
    if (send_path) stage.Reached("MSI-X sent", stage.pair.nic());
  });
  stage.pair.host().OnInterrupt([&](uint32_t) {
    stage.Reached("interrupt handler", stage.pair.host());
    Line decision;
    stage.host.Flush();
    if (stage.host.Poll(0, decision)) stage.Reached("decision in hand", stage.pair.host());
  });
  stage.host.Post(0, LineOf(1));
  return stage.Played();
}

}  // namespace

Exchange WaveWithInterrupt(const Costs& costs, Thinking thinking, bool send_path) {
  const std::string suffix = send_path ? " by its software path" : "";
  Stage stage("Wave: event, decision, MSI-X" + suffix, Over(costs, NicLines::kWriteThrough));
  return Wave(stage, costs, thinking, send_path);
}

Exchange WaveUncached(const Costs& costs, Thinking thinking) {
  Stage stage("Wave: the same, all uncached",
              Over(costs, NicLines::kUncached, HostStores::kUncached));
  return Wave(stage, costs, thinking, false);
}

Exchange WavePrestaged(const Costs& costs) {
  Stage stage("Wave: prestaged hit", Over(costs, NicLines::kWriteThrough));
  stage.nic.Post(0, LineOf(1));
  stage.queue.Run();
  stage.host.Prefetch(0);
  stage.host.Post(0, LineOf(2));
  stage.pair.host().Compute(costs.context_switch);
  stage.queue.RunUntil(stage.pair.host().now());
  stage.Begin();
  Line decision;
  if (stage.host.Poll(0, decision) && decision.word[0] == 1)
    stage.Reached("decision in hand", stage.pair.host());
  return stage.Played();
}

std::vector<Exchange> AllExchanges(const Costs& costs, Thinking thinking) {
  return {SwapOfTwoByHost(costs, thinking),
          SwapOfTwoByNic(costs, thinking),
          SwapOfTwoFetched(costs, thinking, 0),
          SwapOfTwoFetched(costs, thinking, 2),
          SwapOfFour(costs, thinking),
          WaveWithInterrupt(costs, thinking, false),
          WaveWithInterrupt(costs, thinking, true),
          WaveUncached(costs, thinking),
          WavePrestaged(costs)};
}

}  // namespace sluice::fabric
