// SPDX-License-Identifier: BSD-3-Clause
//
// An ethdev port with one queue pair per worker. lib/runtime uses it for the packetized interface,
// the streaming adapter and exception ports. Used by the main thread on the control path.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

struct rte_eth_rxtx_callback;
struct rte_mempool;

namespace sluice::nic {

/// Configures a stopped port with this number of queues for IP packets of up to `packet_bytes` (a
/// result of FitPacketBytes). Enables RSS over IP, UDP and TCP if there are several receive queues.
/// Returns 0 or a negative errno.
int ConfigureSpread(uint16_t port, uint16_t rx_queues, uint16_t tx_queues, uint32_t packet_bytes);

/// Size in bytes of the longest IP packet that every port receives without configuration.
inline constexpr uint32_t kUsualPacketBytes = 1500;
/// Returns `wanted`, limited to the range from kUsualPacketBytes to the longest IP packet that the
/// port can be configured to receive.
uint32_t FitPacketBytes(uint16_t port, uint32_t wanted);

/// Makes a port accept all frames, or only those to its address and to groups. Returns false if the
/// driver cannot do that at all, or not before the port is started. If the port cannot accept all
/// group addresses, which neighbour discovery needs, makes it accept all frames instead.
bool SetPromiscuous(uint16_t port, bool promiscuous);

/// Returns text like "port net_ipu0".
std::string PortText(uint16_t port);

/// A configured and started port. The destructor stops and closes it.
class EthPort {
 public:
  struct Options {
    uint16_t rx_queues = 1;
    uint16_t tx_queues = 1;
    /// Number of entries in each ring. 0 selects the driver's preferred number, or 1024 if it has
    /// none.
    uint16_t descriptors = 0;
    /// Passed to SetPromiscuous. Ignored if the driver does not support it.
    bool promiscuous = true;
    uint32_t packet_bytes = kUsualPacketBytes;  ///< Longest IP packet to receive.
    /// Called when the port and its queues are set up but not yet started. This is the first state
    /// in which all drivers return their statistics. May be empty.
    std::function<void()> before_start = nullptr;
  };

  /// Configures and starts `port`. Enables RSS over IP, UDP and TCP if there are several receive
  /// queues. Completes checksums that Linux has computed only partially
  /// (packet/partial_checksum.h). On failure returns null and sets `error` to one line that names
  /// the port and the rejected step.
  static std::unique_ptr<EthPort> Open(uint16_t port, const Options& options, std::string* error);

  ~EthPort();
  EthPort(const EthPort&) = delete;
  EthPort& operator=(const EthPort&) = delete;

  uint16_t id() const { return port_; }
  /// Returns the size in bytes of the longest IP packet that the port receives into one mbuf:
  /// Options::packet_bytes, raised to at least kUsualPacketBytes and limited by the port and the
  /// mbuf.
  uint32_t packet_bytes() const { return packet_bytes_; }
  /// Returns the mbuf pool of queue pair `queue`. Each queue pair has its own pool, so that only
  /// one worker uses the pool's cache and buffers.
  rte_mempool* pool(uint16_t queue) const { return pools_[queue]; }

 private:
  explicit EthPort(uint16_t port) : port_(port) {}
  int Configure(const Options& options, std::string* step);
  void CompleteChecksums(uint16_t rx_queues);

  uint16_t port_;
  uint32_t packet_bytes_ = kUsualPacketBytes;
  bool started_ = false;
  std::vector<rte_mempool*> pools_;
  /// One per receive queue, or empty if no callbacks are needed.
  std::vector<const rte_eth_rxtx_callback*> callbacks_;
};

}  // namespace sluice::nic
