// SPDX-License-Identifier: BSD-3-Clause
//
// The contract between an engine and the code that runs it: a worker's loop (runtime/worker.h), a
// queue (nic/frame_queue.h), a replay (runtime/replay.h) and the layers around an engine. It lists
// every member that this code uses. nic/fake_queue.h is an in-memory queue that runs an engine
// without EAL or a NIC.
//
// An engine is a final class that derives from Engine. It must have Process or ProcessBurst, and
// overrides the hooks that it needs. `override` turns a misspelt hook into a compile error. Because
// the class is final, hooks are called directly and can be inlined, although they are virtual.
// tests/architecture/engines_test.py rejects other public members of engines unless it lists them.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "packet/burst.h"
#include "packet/frame.h"
#include "packet/outbox.h"
#include "packet/rewrite.h"

namespace sluice::nic {
struct QueueCounters;
}

namespace sluice::packet {

/// Returns whether a queue can emit `frame`, which has `length` bytes.
using CanEmit = std::function<bool(const uint8_t* frame, uint32_t length)>;

/// Addresses type of an engine that owns no addresses.
struct NoAddresses {};

/// Base class of all engines. One worker calls the hooks in the order in which this class declares
/// them, except QueueError.
class Engine {
 public:
  /// The layer class that forwards the hooks to another engine, or Engine itself if the hooks are
  /// not forwarded.
  using Layer = Engine;

  // Constants, which an engine overrides by a constant of the same name.

  /// Names of the drop reasons. Verdict::reason is an index into this array.
  static constexpr std::array<std::string_view, 0> kDropReasons{};
  /// Maximum number of polls between two calls of AtRest. The default corresponds to some tens of
  /// microseconds under load. An engine that does its main work in AtRest sets it to 1.
  static constexpr uint32_t kPollsPerRest = 64;
  /// Whether an engine that processes bursts writes to the headers of most frames. If so, a queue
  /// that must fetch headers to locate frames prefetches them for writing.
  static constexpr bool kWritesFrames = false;
  /// Whether to keep frames for other stations from the engine (nic/own_frames.h). Other engines
  /// get all frames that the port receives.
  static constexpr bool kOwnFramesOnly = false;

  // Hooks.

  /// Returns the addresses that the engine answers for; see HostEngine. This hook is not virtual,
  /// because the type of the addresses differs between engines.
  NoAddresses own() const { return {}; }
  /// Called by the main thread before the run. If the engine cannot run on the queue, returns an
  /// error, which ends the program with exit code 2. Otherwise returns an empty string.
  virtual std::string QueueError(const CanEmit& /*can_emit*/) { return ""; }
  /// Sets the outbox for an engine that sends frames in addition to its answers; see Sender. Called
  /// before all other hooks of the worker.
  virtual void set_outbox(Outbox /*outbox*/) {}
  /// Sets the queue's counters, which outlive the run.
  virtual void set_counters(nic::QueueCounters& /*counters*/) {}
  /// Called when the worker begins, before it reads the clock. May be slow.
  virtual void Enter() {}
  /// Called often, between bursts. Loads new tables and processes timeouts. `now` is in TSC cycles
  /// in every hook.
  virtual void AtRest(uint64_t /*now*/) {}
  /// Sends due frames through queue.Emit and returns their number. Called before every poll; a
  /// queue may also call it where sending is cheapest. Not virtual, because it is compiled for each
  /// type of queue.
  template <typename Queue>
  uint32_t Generate(Queue& /*queue*/, uint64_t /*now*/) {
    return 0;
  }
  /// Prefetches data for a later frame; see PreparingEngine. Called some frames before Process.
  /// This is only a hint: the bytes may be invalid, and Process may not be called for them.
  virtual void Prepare(const uint8_t* /*frame*/, uint32_t /*length*/) {}
  /// Called when the worker ends, after the last burst.
  virtual void Leave() {}

 protected:
  ~Engine() = default;
};

/// Any class of engine. Hooks are called directly, because the class is final.
template <typename E>
concept FinalEngine = std::derived_from<E, Engine> && std::is_final_v<E>;

/// An engine that processes one frame at a time, in place. `now` is the same for all frames of a
/// burst.
template <typename E>
concept FrameEngine = FinalEngine<E> && requires(E engine, Frame& frame, uint64_t now) {
  { engine.Process(frame, now) } -> std::same_as<Verdict>;
};

/// An engine that processes all frames of a burst in one call. If an engine has both functions, a
/// queue prefers ProcessBurst. ProcessBurst must accept any Burst; the concept checks only one
/// type.
template <typename E>
concept BurstEngine = FinalEngine<E> && requires(E engine, OneFrame& burst, uint64_t now) {
  { engine.ProcessBurst(burst, now) } -> std::same_as<void>;
};

/// An engine of either kind; queues accept both.
template <typename E>
concept QueueEngine = FrameEngine<E> || BurstEngine<E>;

/// Returns whether `E`, or an engine that `E` forwards its hooks to, overrides a hook. `Hook` is
/// the hook's member-pointer type, which names the class that defines the hook.
template <template <typename> typename Hook, typename E>
consteval bool Overrides() {
  if constexpr (std::same_as<Hook<E>, Hook<Engine>>) {
    return false;
  } else if constexpr (std::same_as<Hook<E>, Hook<typename E::Layer>>) {
    return Overrides<Hook, typename E::Inner>();
  } else {
    return true;
  }
}
/// Hooks for Overrides().
template <typename E>
using OutboxHook = decltype(&E::set_outbox);
template <typename E>
using PrepareHook = decltype(&E::Prepare);

/// An engine that sends additional frames: it overrides set_outbox.
template <typename E>
concept Sender = Overrides<OutboxHook, E>();

/// A single-frame engine that overrides Prepare.
template <typename E>
concept PreparingEngine = FrameEngine<E> && Overrides<PrepareHook, E>();

/// An engine that owns addresses and answers frames to them.
template <typename E>
concept HostEngine = QueueEngine<E> && requires(const E& engine, const uint8_t* mac,
                                                const Ipv4Address& ipv4, const Ipv6Address& ipv6) {
  { engine.own().IsOurMac(mac) } -> std::same_as<bool>;
  { engine.own().Owns(ipv4) } -> std::same_as<bool>;
  { engine.own().Owns(ipv6) } -> std::same_as<bool>;
};

/// Processes one frame with an engine of either kind, for callers that handle single frames, such
/// as a layer in front of the engine. It inlines to engine.Process if the engine has that function.
template <QueueEngine E>
Verdict ProcessFrame(E& engine, Frame& frame, uint64_t now) {
  if constexpr (FrameEngine<E>) {
    return engine.Process(frame, now);
  } else {
    OneFrame burst(frame);
    engine.ProcessBurst(burst, now);
    frame = burst.frame();
    return burst.verdict();
  }
}

/// Base class of a layer around an engine. It forwards all members of the contract to the engine.
/// The layer redefines the members that it changes, and calls the versions in EngineLayer. `Held`
/// is the type of the engine, or a reference to it if another object owns the engine.
template <typename Held>
class EngineLayer : public Engine {
 public:
  using Layer = EngineLayer;
  /// The engine inside the layer.
  using Inner = std::remove_reference_t<Held>;
  static_assert(QueueEngine<Inner>);

  static constexpr auto& kDropReasons = Inner::kDropReasons;
  static constexpr uint32_t kPollsPerRest = Inner::kPollsPerRest;
  static constexpr bool kWritesFrames = Inner::kWritesFrames;
  static constexpr bool kOwnFramesOnly = Inner::kOwnFramesOnly;

  decltype(auto) own() const { return engine_.own(); }
  std::string QueueError(const CanEmit& can_emit) override { return engine_.QueueError(can_emit); }
  void set_outbox(Outbox outbox) override { engine_.set_outbox(outbox); }
  void set_counters(nic::QueueCounters& counters) override { engine_.set_counters(counters); }
  void Enter() override { engine_.Enter(); }
  void AtRest(uint64_t now) override { engine_.AtRest(now); }
  template <typename Queue>
  uint32_t Generate(Queue& queue, uint64_t now) {
    return engine_.Generate(queue, now);
  }
  void Prepare(const uint8_t* frame, uint32_t length) override { engine_.Prepare(frame, length); }
  Verdict Process(Frame& frame, uint64_t now) { return ProcessFrame(engine_, frame, now); }
  template <Burst B>
  [[gnu::always_inline]] void ProcessBurst(B& burst, uint64_t now) requires BurstEngine<Inner> {
    engine_.ProcessBurst(burst, now);
  }
  void Leave() override { engine_.Leave(); }

  /// Returns the engine, for the owner of the layer.
  Inner& engine() { return engine_; }
  const Inner& engine() const { return engine_; }

 protected:
  /// `make()` constructs the engine in place, or returns the reference.
  template <typename Make>
  explicit EngineLayer(Make make) : engine_(make()) {}
  ~EngineLayer() = default;

  Held engine_;
};

/// Adapts a FrameEngine to a BurstEngine by processing the frames in order. The engine must outlive
/// the adapter. ProcessFrame is the opposite adapter.
template <FrameEngine E>
class FrameByFrame final : public EngineLayer<E&> {
 public:
  explicit FrameByFrame(E& engine) : EngineLayer<E&>([&]() -> E& { return engine; }) {}

  /// Processes and answers each of the frames.
  template <Burst B>
  void ProcessBurst(B& burst, uint64_t now) {
    for (uint32_t number = 0; number < burst.size(); ++number) {
      Frame frame = burst.At(number);
      frame.spare = burst.spare();
      const Verdict verdict = this->engine_.Process(frame, now);
      burst.Answer(number, frame, verdict);
    }
  }
};

}  // namespace sluice::packet
