// SPDX-License-Identifier: BSD-3-Clause
#include "ipfix_sender.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <span>

namespace sluice::telemetry {

namespace {

using engine::telemetry::EpochReport;
using engine::telemetry::IpfixEncoder;

// Maximum packet size if the path's MTU is unknown (RFC 7011, section 10.3.3).
constexpr int kUnknownMtu = 512;
// Upper limit of the packet size. A loopback interface's MTU of 64 KiB is more than collectors
// accept.
constexpr int kMostMtu = 9000;

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  bool ipv6() const { return bytes.ss_family == AF_INET6; }
};

bool Parse(const std::string& where, Address* address) {
  const size_t colon = where.rfind(':');
  if (colon == std::string::npos) return false;
  uint16_t port = 0;
  const char* const end = where.data() + where.size();
  const auto [stop, error] = std::from_chars(where.data() + colon + 1, end, port);
  if (error != std::errc() || stop != end || port == 0) return false;
  const bool brackets = colon >= 2 && where[0] == '[' && where[colon - 1] == ']';
  const std::string host = brackets ? where.substr(1, colon - 2) : where.substr(0, colon);
  addrinfo hints{};
  hints.ai_family = brackets ? AF_INET6 : AF_INET;
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return false;
  std::memcpy(&address->bytes, found->ai_addr, found->ai_addrlen);
  address->size = found->ai_addrlen;
  freeaddrinfo(found);
  return true;
}

// Returns the maximum UDP payload in bytes.
size_t MessageBytes(int socket, bool ipv6) {
  int mtu = 0;
  socklen_t size = sizeof(mtu);
  const int known = ipv6 ? getsockopt(socket, IPPROTO_IPV6, IPV6_MTU, &mtu, &size)
                         : getsockopt(socket, IPPROTO_IP, IP_MTU, &mtu, &size);
  if (known != 0 || mtu < kUnknownMtu) mtu = kUnknownMtu;
  const int headers = (ipv6 ? 40 : 20) + 8;
  return static_cast<size_t>(std::min(mtu, kMostMtu) - headers);
}

}  // namespace

bool IpfixSender::IsAddress(const std::string& where) {
  Address address;
  return Parse(where, &address);
}

std::unique_ptr<IpfixSender> IpfixSender::Open(const std::string& where,
                                               const IpfixEncoder::Options& first, size_t keys,
                                               std::string* error) {
  Address address;
  if (!Parse(where, &address)) {
    *error = kAddressFix;
    return nullptr;
  }
  const int made = socket(address.bytes.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (made < 0 ||
      connect(made, reinterpret_cast<const sockaddr*>(&address.bytes), address.size) != 0) {
    *error = std::string(std::strerror(errno)) + ": give an ADDRESS:PORT that this host can reach";
    if (made >= 0) close(made);
    return nullptr;
  }
  std::unique_ptr<IpfixSender> sender(new IpfixSender(made));
  sender->room_.resize(MessageBytes(made, address.ipv6()));
  for (size_t key = 0; key < keys; ++key) {
    IpfixEncoder::Options options = first;
    options.domain += static_cast<uint32_t>(key);
    sender->encoders_.emplace_back(options);
  }
  return sender;
}

IpfixSender::~IpfixSender() { close(socket_); }

void IpfixSender::Send(const EpochReport& report, uint64_t unix_ns) {
  for (size_t key = 0; key < encoders_.size(); ++key) {
    encoders_[key].Begin(report, key, static_cast<uint32_t>(unix_ns / 1'000'000'000));
    for (auto message = encoders_[key].Next(room_); !message.empty();
         message = encoders_[key].Next(room_)) {
      SendMessage(message);
    }
  }
}

void IpfixSender::SendMessage(std::span<const uint8_t> message) {
  ssize_t sent = send(socket_, message.data(), message.size(), MSG_DONTWAIT);
  // ECONNREFUSED reports an ICMP error for an earlier message. This message has not been sent, so
  // send it again.
  if (sent < 0 && errno == ECONNREFUSED) {
    ++counters_.failed;
    sent = send(socket_, message.data(), message.size(), MSG_DONTWAIT);
  }
  if (sent == static_cast<ssize_t>(message.size())) {
    ++counters_.messages;
  } else {
    ++counters_.failed;
  }
}

}  // namespace sluice::telemetry
