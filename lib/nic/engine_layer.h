// SPDX-License-Identifier: BSD-3-Clause
//
// Base class of a layer around an engine (reassembling.h, own_frames.h). It owns the engine and
// forwards all calls of a worker (worker.h) to it, except Process and ProcessBurst.
#pragma once

#include <cstdint>

#include "nic/frame_queue.h"
#include "nic/queue_counters.h"
#include "packet/burst.h"
#include "packet/outbox.h"
#include "packet/rewrite.h"

namespace sluice::nic {

/// An engine that owns addresses and answers frames to them.
template <typename E>
concept HostEngine = QueueEngine<E> &&
    requires(const E& engine, const uint8_t* mac, const packet::Ipv4Address& ipv4,
             const packet::Ipv6Address& ipv6) {
  { engine.own().IsOurMac(mac) } -> std::same_as<bool>;
  { engine.own().Owns(ipv4) } -> std::same_as<bool>;
  { engine.own().Owns(ipv6) } -> std::same_as<bool>;
};

/// Defines kPollsPerRest if the engine defines it.
template <typename Engine>
struct RestsOf {};
template <typename Engine>
requires requires { Engine::kPollsPerRest; }
struct RestsOf<Engine> {
  static constexpr uint32_t kPollsPerRest = Engine::kPollsPerRest;
};

template <QueueEngine Engine>
class EngineLayer : public RestsOf<Engine> {
 public:
  static constexpr bool kWritesFrames = packet::WritesFrames<Engine>();
  static constexpr bool kOwnFramesOnly = packet::OwnFramesOnly<Engine>();

  void Enter() requires requires(Engine& engine) { engine.Enter(); }
  { engine_.Enter(); }
  void AtRest(uint64_t now) requires requires(Engine& engine) { engine.AtRest(now); }
  { engine_.AtRest(now); }
  void Leave() requires requires(Engine& engine) { engine.Leave(); }
  { engine_.Leave(); }
  void Prepare(const uint8_t* frame, uint32_t length) requires PreparingEngine<Engine> {
    engine_.Prepare(frame, length);
  }
  void set_outbox(packet::Outbox outbox) requires packet::Sender<Engine> {
    engine_.set_outbox(outbox);
  }
  void set_counters(QueueCounters& counters) requires requires(Engine& engine) {
    engine.set_counters(counters);
  }
  { engine_.set_counters(counters); }
  const auto& own() const requires HostEngine<Engine> { return engine_.own(); }

 protected:
  /// `make()` constructs the engine in place.
  template <typename Make>
  explicit EngineLayer(Make make) : engine_(make()) {}

  Engine engine_;
};

}  // namespace sluice::nic
