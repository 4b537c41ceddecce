// SPDX-License-Identifier: BSD-3-Clause
//
// The properties of an interface that lib/runtime needs: its name, how it opens a port, and the
// queue that each worker polls. Each interface implements them in one class, its binding;
// interfaces.h lists the bindings. Used by the main thread on the control path.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
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

/// Properties of an interface that are known before a port is opened.
struct InterfaceInfo {
  std::string_view name;     ///< Value of --iface, and name in reports.
  std::string_view crosses;  ///< One line: the units that cross between host and NIC.
  std::string_view model;    ///< Vdev that an application creates if no device is given.
  bool ipv4_only = false;    ///< Whether the `model` device sends only IPv4 frames.
  /// Returns additional arguments for the `model` vdev, each with a leading comma. Null if the
  /// interface adds none. `wire_waits` means that the wire waits while the device has no room, so
  /// that rings need not exceed the cache.
  std::string (*model_arguments)(const InterfaceOptions& options, bool wire_waits) = nullptr;
};

/// Options for opening a binding. An interface ignores the options of other interfaces.
struct InterfaceOptions {
  uint16_t port = 0;  ///< Port number. The port must be stopped.
  uint16_t workers = 1;
  /// Passed to SetPromiscuous. A native Ensō port is always promiscuous.
  bool promiscuous = true;
  /// Size in bytes of the longest IP packet to receive. A native Ensō port has a fixed limit.
  uint32_t packet_bytes = kUsualPacketBytes;
  uint32_t burst = 64;           ///< Packetized: maximum packets per receive burst.
  uint32_t pipes = 8;            ///< Streaming: pipes per worker, up to kMaxPipesPerWorker.
  uint32_t regions = 0;          ///< Bilateral: regions per link; 0 for the driver's default.
  uint32_t region_bytes = 0;     ///< Bilateral: bytes per region; 0 for the driver's default.
  uint32_t region_frames = 0;    ///< Bilateral: frames per region; 0 for the driver's default.
  uint32_t headroom_bytes = 0;   ///< Bilateral, coherent: bytes before each received frame.
  EthPort* exception = nullptr;  ///< Must outlive the binding; may be null.
  /// Called once, when the port's statistics can be read but the port does not receive yet. For an
  /// ethdev port, this is after the configuration, which rte_ethdev.h requires before all other
  /// calls. For a driver's native API, it is before the port is opened. May be empty.
  std::function<void()> before_start = nullptr;
};

enum class Opened {
  kYes,
  kBadArgument,  ///< The user asked for a feature that this port does not have.
  kFailed,
};

/// Counters that only this interface provides, summed over all workers.
struct InterfaceFigures {
  std::string_view name;  ///< Name of the object that contains the figures in reports.
  std::string_view help;  ///< One line for readers of the report.
  std::vector<std::pair<std::string_view, uint64_t>> values;  ///< Names and values; may be empty.
};

/// Returns the figures named in `rows`. Each is the sum of one member of `Stats` over all `ends`.
template <typename Stats, typename End>
InterfaceFigures SumFigures(
    std::string_view name, std::string_view help, const std::vector<End>& ends,
    std::initializer_list<std::pair<std::string_view, uint64_t Stats::*>> rows) {
  InterfaceFigures figures{name, help, {}};
  for (const auto& [figure, member] : rows) {
    uint64_t sum = 0;
    for (const End& end : ends) sum += end.Stats().*member;
    figures.values.emplace_back(figure, sum);
  }
  return figures;
}

/// A binding closes the port when it is destroyed, after its queues. A binding must also define
///
///   template <typename Run> int WithQueues(Run run);
///
/// which returns `run(make_queue)`, where make_queue(worker) returns a worker's FrameQueue. The
/// type of the queue is chosen only there.
template <typename B>
concept Binding = requires(B binding, const B& constant, const InterfaceOptions& options,
                           std::string* error, uint32_t worker) {
  { B::kInfo } -> std::convertible_to<InterfaceInfo>;
  /// Called once. On a result other than kYes, sets `error` to one line that names the flag or the
  /// port.
  { binding.Open(options, error) } -> std::same_as<Opened>;
  /// Returns a readable name of the unit that a worker polls, for example "queue 0".
  { constant.Place(worker) } -> std::same_as<std::string>;
  /// Returns whether worker i polls receive queue i of the port, as rte_flow rules number the
  /// queues.
  { constant.has_queues() } -> std::same_as<bool>;
  /// Returns the size in bytes of the longest IP packet that workers receive:
  /// InterfaceOptions::packet_bytes, adapted to the port's limits.
  { constant.packet_bytes() } -> std::same_as<uint32_t>;
  /// Returns the counters of the interface. May be called at any time after Open.
  { constant.Figures() } -> std::same_as<InterfaceFigures>;
};

/// Returns a transmitter for the worker's transmit queue of the exception port, or std::nullopt if
/// `exception` is null.
std::optional<MbufTransmitter> MakeExceptionTransmitter(EthPort* exception, uint32_t worker);
/// Returns the worker's path to the exception port, for frames that an engine passes on. If
/// `exception` is null, the path only counts the frames, in no_exception_port.
ExceptionPath MakeExceptionPath(EthPort* exception, uint32_t worker);

}  // namespace sluice::nic
