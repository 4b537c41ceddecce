// SPDX-License-Identifier: BSD-3-Clause
//
// A graph at work: the streams that its chains have in a switch, and how one graph becomes another
// while traffic runs. A chain that does not change keeps its stream, and loses nothing.
#pragma once

#include <string>
#include <vector>

#include "device/switch/switch.h"
#include "engine/chain/graph.h"
#include "engine/chain/plan.h"

namespace sluice::engine::chain {

/// A chain and its stream.
struct Running {
  Chain chain;
  device::pcie_switch::Opened opened;
};

/// What a new graph did to a chain.
enum class Change : uint8_t {
  kKept,     ///< Nothing: the same stream, the same entries.
  kRewired,  ///< The same stream, other ways for messages that begin from now on.
  kOpened,   ///< A stream of its own. Who sends to the chain must use its windows from now on.
  kClosed,   ///< Its stream drains: Reap frees it when its senders have flushed their windows.
};
struct Changed {
  std::string chain;
  Change change;
};

/// Whether `after` is `before` but for the ways of nodes: then it may go on where that one is.
bool OnlyWaysDiffer(const Chain& before, const Chain& after);
/// Whether the devices of a chain of `after` are the same in both, but for who may write to them.
bool SameDevices(const Graph& before, const Graph& after, const Chain& chain);

/// One thread: the switch's. The switch outlives it.
class Deployment {
 public:
  Deployment(device::pcie_switch::Switch& programmable, Placement placement)
      : switch_(&programmable), placement_(std::move(placement)) {}

  /// Makes the switch do what a checked graph says. A line, and nothing changed, if it cannot.
  std::string Apply(Graph graph, std::vector<Changed>* changes);
  /// Gives a chain of the graph whose stream has failed another one. A line, and nothing changed,
  /// if it cannot.
  std::string Reopen(std::string_view chain);
  /// Frees streams that have drained. Returns how many still drain.
  size_t Reap();

  const Graph& graph() const { return graph_; }
  /// Whether a chain of a checked graph would keep its stream.
  bool Stays(const Graph& graph, const Chain& chain) const;
  /// The stream of a chain, or null.
  const Running* Find(std::string_view chain) const;
  /// Streams that drain: their senders flush their windows.
  const std::vector<Running>& draining() const { return draining_; }

  /// Every hop of the chain that a flow enters: table entries and reasons, a line each.
  std::string Explain(FlowMatch flow) const;

 private:
  /// What a chain of `graph` goes on from, or null: with that one's stream or, if it has failed,
  /// with its states.
  const Running* Before(const Graph& graph, const Chain& chain) const;
  /// A stream for a chain, with the states of `before` if that is not null.
  Running Open(device::pcie_switch::Switch& in, const Graph& graph, const Chain& chain,
               const Running* before) const;

  device::pcie_switch::Switch* switch_;
  Placement placement_;
  Graph graph_;
  std::vector<Running> running_;
  std::vector<Running> draining_;
};

/// A picture of a graph for Graphviz: `dot -Tsvg`.
std::string Dot(const Graph& graph);

}  // namespace sluice::engine::chain
