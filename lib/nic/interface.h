// SPDX-License-Identifier: BSD-3-Clause
//
// What lib/runtime asks of an interface: what it is called, how a port is opened for it, and
// which queue each worker polls. Each interface answers in one class, its binding; interfaces.h
// lists them. Main thread, control path.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "nic/eth_port.h"
#include "nic/exception_path.h"
#include "nic/frame_queue.h"
#include "nic/mbuf_transmitter.h"

namespace sluice::nic {

struct InterfaceOptions;

/// What is known of an interface before a port is opened.
struct InterfaceInfo {
  std::string_view name;     ///< Of --iface and in reports.
  std::string_view crosses;  ///< What crosses the boundary between host and NIC, in one line.
  std::string_view model;    ///< The vdev that an application creates if it is given no device.
  bool ipv4_only = false;    ///< That device sends IPv4 frames alone.
  /// Arguments of that device, each with a comma in front; null: none. `wire_waits`: while the
  /// device has no room, so that rings need hold no more than a cache does.
  std::string (*model_arguments)(const InterfaceOptions& options, bool wire_waits) = nullptr;
};

/// What a binding opens. Values of flags that concern one interface are ignored by the others.
struct InterfaceOptions {
  uint16_t port = 0;  ///< Not started.
  uint16_t workers = 1;
  bool promiscuous = true;  ///< Of the port: SetPromiscuous. A native Enso port always is.
  /// Bytes of the longest IP packet to receive. A native Enso port has one limit.
  uint32_t packet_bytes = kUsualPacketBytes;
  uint32_t burst = 64;           ///< Packetized: most packets of one receive burst.
  uint32_t pipes = 8;            ///< Streaming: of each worker, up to kMaxPipesPerWorker.
  uint32_t regions = 0;          ///< Bilateral: of each link; 0: the driver's default.
  uint32_t region_bytes = 0;     ///< The same.
  uint32_t headroom_bytes = 0;   ///< Bilateral, coherent: in front of each received frame.
  EthPort* exception = nullptr;  ///< Outlives the binding; null: there is none.
  /// Called once, when the port's statistics can be read and it receives nothing yet: of an ethdev
  /// port behind its configuration, which rte_ethdev.h demands of all other calls, of a driver's
  /// own face before it is opened. Empty: nothing is called.
  std::function<void()> before_start = nullptr;
};

enum class Opened {
  kYes,
  kBadArgument,  ///< The user asked for something that this port does not have.
  kFailed,
};

/// What an interface counts besides what every queue counts: sums over all workers.
struct InterfaceFigures {
  std::string_view name;  ///< Of the object in reports.
  std::string_view help;  ///< One line for readers of the report.
  std::vector<std::pair<std::string_view, uint64_t>> values;  ///< Empty: it has none.
};

/// A binding closes what it opened when it is destroyed; queues end before it does. Besides what
/// the concept says it has
///
///   template <typename Run> int WithQueues(Run run);
///
/// which returns `run(make_queue)`, where make_queue(worker) yields a worker's FrameQueue: the
/// only place where the type of the queue is chosen.
template <typename B>
concept Binding = requires(B binding, const B& constant, const InterfaceOptions& options,
                           std::string* error, uint32_t worker) {
  { B::kInfo } -> std::convertible_to<InterfaceInfo>;
  /// Once. Unless kYes, `error` is one line that names the flag or the port.
  { binding.Open(options, error) } -> std::same_as<Opened>;
  /// What a worker polls, for people: "queue 0".
  { constant.Place(worker) } -> std::same_as<std::string>;
  /// Numbers of the port's receive queues name the workers, in rte_flow too.
  { constant.has_queues() } -> std::same_as<bool>;
  /// Bytes of the longest IP packet that workers receive: of InterfaceOptions, or less.
  { constant.packet_bytes() } -> std::same_as<uint32_t>;
  /// Any time after Open.
  { constant.Figures() } -> std::same_as<InterfaceFigures>;
};

/// A worker's transmit queue of the exception port, if there is one.
std::optional<MbufTransmitter> MakeExceptionTransmitter(EthPort* exception, uint32_t worker);
/// The same as a way out for frames that an engine passes on.
ExceptionPath MakeExceptionPath(EthPort* exception, uint32_t worker);

}  // namespace sluice::nic
