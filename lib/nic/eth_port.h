// SPDX-License-Identifier: BSD-3-Clause
//
// An ethdev port set up for one queue pair per worker. Used by lib/runtime for
// the packetized interface, the streaming adapter and exception ports. Control
// path, main thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

struct rte_eth_rxtx_callback;
struct rte_mempool;

namespace sluice::nic {

/// Configures a port that is not started for queue pairs with RSS over IP, UDP and TCP
/// where there are several to receive, and for packets of `packet_bytes`, as FitPacketBytes
/// returns them. 0 or a negative errno.
int ConfigureSpread(uint16_t port, uint16_t rx_queues, uint16_t tx_queues, uint32_t packet_bytes);

/// Bytes of an IP packet that every port receives without being asked to.
inline constexpr uint32_t kUsualPacketBytes = 1500;
/// The longest IP packet that the port can be configured to receive, if that is less than `wanted`;
/// else `wanted`, but at least kUsualPacketBytes.
uint32_t FitPacketBytes(uint16_t port, uint32_t wanted);

/// Makes a port accept every frame, or only those to its own address and to groups. False: the
/// driver cannot do that, or not before the port is started; an address filter that cannot let
/// groups through, which ARP and neighbour discovery need, is left open.
bool SetPromiscuous(uint16_t port, bool promiscuous);

/// "port net_ipu0".
std::string PortText(uint16_t port);

/// A configured, started port; stopped and closed at the end.
class EthPort {
 public:
  struct Options {
    uint16_t rx_queues = 1;
    uint16_t tx_queues = 1;
    /// Entries of each ring; 0: what the driver prefers, else 1024.
    uint16_t descriptors = 0;
    bool promiscuous = true;                    ///< SetPromiscuous, where the driver can.
    uint32_t packet_bytes = kUsualPacketBytes;  ///< Of the longest IP packet to receive.
    /// Called when the port and its queues are set up and it is about to start: the first state in
    /// which every driver answers for its statistics. Empty: nothing is called.
    std::function<void()> before_start = nullptr;
  };

  /// Configures and starts `port`, with RSS over IP, UDP and TCP when there are
  /// several receive queues. Checksums that Linux left partial are completed
  /// (packet/partial_checksum.h). On failure returns null and sets `error` to one line that names
  /// the port and what it refused.
  static std::unique_ptr<EthPort> Open(uint16_t port, const Options& options, std::string* error);

  ~EthPort();
  EthPort(const EthPort&) = delete;
  EthPort& operator=(const EthPort&) = delete;

  uint16_t id() const { return port_; }
  /// Bytes of the longest IP packet that the port receives, into one mbuf: Options::packet_bytes or
  /// less.
  uint32_t packet_bytes() const { return packet_bytes_; }
  /// The mbufs of queue pair `queue`: one pool each, so that a pool's cache and
  /// its buffers stay with one worker.
  rte_mempool* pool(uint16_t queue) const { return pools_[queue]; }

 private:
  explicit EthPort(uint16_t port) : port_(port) {}
  int Configure(const Options& options, std::string* step);
  void CompleteChecksums(uint16_t rx_queues);

  uint16_t port_;
  uint32_t packet_bytes_ = kUsualPacketBytes;
  bool started_ = false;
  std::vector<rte_mempool*> pools_;
  std::vector<const rte_eth_rxtx_callback*> callbacks_;  ///< Of each receive queue, or none.
};

}  // namespace sluice::nic
