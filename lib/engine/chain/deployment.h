// SPDX-License-Identifier: BSD-3-Clause
//
// A running graph: keeps the streams of its chains in a switch, and updates to a new graph while
// traffic runs. A chain that does not change keeps its stream and does not lose any messages.
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

/// Effect of a new graph on a chain's stream.
enum class Change : uint8_t {
  kKept,     ///< Unchanged: same stream and table entries.
  kRewired,  ///< Same stream, new edges for messages that start from now on.
  kOpened,   ///< A new stream. Senders must use its windows from now on.
  kClosed,   ///< The stream drains. Reap frees it when all senders have flushed their windows.
};
struct Changed {
  std::string chain;
  Change change;
};

/// Returns whether the chains differ only in their edges, so that the stream can be kept. In both
/// chains, the same nodes must have outgoing edges, and the same nodes must be targets.
bool OnlyWaysDiffer(const Chain& before, const Chain& after);
/// Returns whether the devices of a chain of `after` are equal in both graphs, except for access
/// rights.
bool SameDevices(const Graph& before, const Graph& after, const Chain& chain);

/// Applies graphs to a switch, which must outlive this object. May be used only by the switch's
/// thread.
class Deployment {
 public:
  Deployment(device::pcie_switch::Switch& programmable, Placement placement)
      : switch_(&programmable), placement_(std::move(placement)) {}

  /// Applies a checked graph to the switch. On failure, returns the reason in one line and leaves
  /// the switch unchanged; on success, returns an empty string.
  std::string Apply(Graph graph, std::vector<Changed>* changes);
  /// Opens a new stream for a chain whose stream has failed. The result is as for Apply.
  std::string Reopen(std::string_view chain);
  /// Frees streams that have drained. Returns the number of streams that are still draining.
  size_t Reap();

  const Graph& graph() const { return graph_; }
  /// Returns whether a chain of a checked graph would keep its stream.
  bool Stays(const Graph& graph, const Chain& chain) const;
  /// Returns a running chain with its stream, or null.
  const Running* Find(std::string_view chain) const;
  /// Returns the draining streams, whose senders must flush their windows.
  const std::vector<Running>& draining() const { return draining_; }

  /// Returns a text that describes the chain that a flow enters. Each node has several lines, with
  /// ports, message counts, edges and edge conditions.
  std::string Explain(FlowMatch flow) const;

 private:
  /// Returns the running chain that `chain` continues, or null if there is none or if they differ
  /// in more than edges. `chain` keeps its stream, or only the stream's states if that stream has
  /// failed.
  const Running* Before(const Graph& graph, const Chain& chain) const;
  /// Opens a stream for a chain, with the states of `before` if that is not null.
  Running Open(device::pcie_switch::Switch& in, const Graph& graph, const Chain& chain,
               const Running* before) const;

  device::pcie_switch::Switch* switch_;
  Placement placement_;
  Graph graph_;
  std::vector<Running> running_;
  std::vector<Running> draining_;
};

/// Returns the graph in the Graphviz format, e.g. for `dot -Tsvg`.
std::string Dot(const Graph& graph);

}  // namespace sluice::engine::chain
