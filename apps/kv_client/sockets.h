// SPDX-License-Identifier: BSD-3-Clause
//
// Datagrams to and from numbered endpoints, many a system call.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::kv_client {

/// A UDP socket of the kernel. Endpoints are numbered in the order of AddServer; all are of one
/// address family, the first's.
class Sockets {
 public:
  static constexpr uint32_t kBurst = 32;
  static constexpr uint32_t kMaxDatagramBytes = 65535;

  Sockets();
  ~Sockets();
  Sockets(const Sockets&) = delete;

  /// `ports` endpoints, from `port` on. False, with the reason in `error`, if there is no such
  /// host: its endpoints are there, and what is sent to them is lost.
  bool AddServer(const std::string& host, uint16_t port, uint32_t ports, std::string* error);

  /// Where the next datagram is to be written.
  std::span<uint8_t> room() { return {out_[queued_].get(), kMaxDatagramBytes}; }
  /// Takes what was written there.
  void Queue(size_t bytes, uint32_t endpoint);
  /// Sends what was taken.
  void Flush();

  /// Datagrams that have arrived from endpoints, at most kBurst; valid until the next call. A
  /// stranger's is not among them.
  std::span<const std::span<const uint8_t>> Receive();
  /// Sleeps until something arrives, or for `ns`.
  void Wait(uint64_t ns);

  uint64_t send_errors() const { return send_errors_; }
  uint64_t strangers() const { return strangers_; }

 private:
  /// IPv4 in the first 4 bytes, or IPv6, and the port.
  using Sender = std::array<uint8_t, 18>;
  static Sender SenderOf(const sockaddr_in6& address);
  bool Resolve(const std::string& host, sockaddr_in6* address, std::string* error);

  int socket_ = -1;
  sa_family_t family_ = AF_UNSPEC;
  std::vector<sockaddr_in6> endpoints_;  // sin6_family tells what they are; AF_UNSPEC: unknown.
  std::vector<Sender> senders_;          // Sorted.

  uint32_t queued_ = 0;
  std::array<std::unique_ptr<uint8_t[]>, kBurst> out_, in_;
  std::array<iovec, kBurst> out_parts_, in_parts_;
  std::array<mmsghdr, kBurst> out_messages_, in_messages_;
  std::array<sockaddr_in6, kBurst> in_addresses_;
  std::array<std::span<const uint8_t>, kBurst> arrived_;
  uint64_t send_errors_ = 0;
  uint64_t strangers_ = 0;
};

}  // namespace sluice::kv_client
