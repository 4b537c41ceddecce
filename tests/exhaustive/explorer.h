// SPDX-License-Identifier: BSD-3-Clause
//
// Exhaustive breadth-first search of all moves of a world and its adversary. A world is copyable
// and has
//
//   Moves(vector<Move>&)   appends the possible moves
//   Apply(Move)            performs a move and checks the properties
//   Benign(Move)           returns whether a working link or a responsive application may make it
//   Key()                  returns the complete state as bytes
//   violated()             returns bits of violated properties; bits stay set
//   Resolved()             returns whether no party waits for another one
//   Describe(Move), Summary()
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice::exhaustive {

struct Move {
  uint8_t kind;
  uint8_t index;
};

struct Exploration {
  static constexpr uint32_t kMaxProperties = 16;

  uint64_t states = 0;
  uint64_t moves = 0;
  bool complete = true;  ///< False if the search stopped at the limit.
  std::array<uint64_t, kMaxProperties>
      violating{};  ///< Number of states that violate each property.
  uint64_t unresolvable =
      0;  ///< Number of states from which no benign moves lead to a resolved state.
  std::string
      trace;  ///< Shortest path to a violation; without violations, to an unresolvable state.

  uint64_t violations() const {
    uint64_t sum = 0;
    for (uint64_t count : violating) sum += count;
    return sum;
  }
};

template <typename World>
class Explorer {
 public:
  explicit Explorer(const World& start) : start_(start) {}

  Exploration Run(uint32_t max_states = 4'000'000) {
    Add(start_, 0, {});
    std::vector<Move> moves;
    for (uint32_t at = 0; at < visited_.size(); ++at) {
      const World world = std::move(frontier_.front());
      frontier_.pop_front();
      if (world.violated() != 0) continue;
      moves.clear();
      world.Moves(moves);
      for (const Move move : moves) {
        World next = world;
        next.Apply(move);
        const uint32_t to = Add(next, at, move);
        ++report_.moves;
        if (world.Benign(move)) benign_.push_back({to, at});
      }
      if (visited_.size() > max_states) {
        report_.complete = false;
        break;
      }
    }
    report_.states = visited_.size();
    if (report_.complete) FindUnresolvable();
    return std::move(report_);
  }

 private:
  struct Visited {
    uint32_t parent;
    Move move;
    bool settled;  ///< The state is resolved or violates a property.
  };
  struct Edge {
    uint32_t to, from;
  };

  uint32_t Add(const World& world, uint32_t parent, Move move) {
    const auto [entry, added] =
        known_.try_emplace(world.Key(), static_cast<uint32_t>(visited_.size()));
    if (!added) return entry->second;
    const uint32_t violated = world.violated();
    visited_.push_back({parent, move, violated != 0 || world.Resolved()});
    frontier_.push_back(world);
    for (uint32_t bit = 0; bit < Exploration::kMaxProperties; ++bit) {
      report_.violating[bit] += violated >> bit & 1;
    }
    if (violated != 0 && report_.trace.empty()) report_.trace = Trace(entry->second);
    return entry->second;
  }

  void FindUnresolvable() {
    std::vector<uint32_t> first(visited_.size() + 1), from(benign_.size()), reached;
    for (const Edge& edge : benign_) ++first[edge.to + 1];
    for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    std::vector<uint32_t> fill(first.begin(), first.end() - 1);
    for (const Edge& edge : benign_) from[fill[edge.to]++] = edge.from;
    std::vector<bool> settled(visited_.size());
    for (uint32_t i = 0; i < visited_.size(); ++i) {
      if (!visited_[i].settled) continue;
      settled[i] = true;
      reached.push_back(i);
    }
    while (!reached.empty()) {
      const uint32_t at = reached.back();
      reached.pop_back();
      for (uint32_t i = first[at]; i < first[at + 1]; ++i) {
        if (settled[from[i]]) continue;
        settled[from[i]] = true;
        reached.push_back(from[i]);
      }
    }
    for (uint32_t i = 0; i < visited_.size(); ++i) {
      if (settled[i]) continue;
      ++report_.unresolvable;
      if (report_.trace.empty()) report_.trace = Trace(i);
    }
  }

  std::string Trace(uint32_t at) const {
    std::vector<Move> way;
    for (; at != 0; at = visited_[at].parent) way.push_back(visited_[at].move);
    World world = start_;
    std::string text = world.Summary() + "\n";
    for (auto move = way.rbegin(); move != way.rend(); ++move) {
      text += "  " + world.Describe(*move) + "\n";
      world.Apply(*move);
      text += "    " + world.Summary() + "\n";
    }
    return text;
  }

  World start_;
  Exploration report_;
  std::unordered_map<std::string, uint32_t> known_;
  std::deque<World> frontier_;
  std::vector<Visited> visited_;
  std::vector<Edge> benign_;
};

}  // namespace sluice::exhaustive
