// SPDX-License-Identifier: BSD-3-Clause
#include "sockets.h"

#include <netdb.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sluice::kv_client {

namespace {

// Requested size of the socket's receive buffer, for bursts of answers that arrive while requests
// are built.
constexpr int kBufferBytes = 8 << 20;

socklen_t LengthOf(sa_family_t family) {
  return family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

int OpenSocket(sa_family_t family) {
  const int file = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (file < 0) return file;
  // SO_RCVBUFFORCE requires a privilege.
  if (setsockopt(file, SOL_SOCKET, SO_RCVBUFFORCE, &kBufferBytes, sizeof(kBufferBytes)) != 0) {
    setsockopt(file, SOL_SOCKET, SO_RCVBUF, &kBufferBytes, sizeof(kBufferBytes));
  }
  return file;
}

}  // namespace

Sockets::Sockets() {
  // Lowers the timer slack from 50 µs, so that sleeps end on time.
  prctl(PR_SET_TIMERSLACK, 1);
  for (uint32_t i = 0; i < kBurst; ++i) {
    out_[i].reset(new uint8_t[kMaxDatagramBytes]);
    in_[i].reset(new uint8_t[kMaxDatagramBytes]);
    in_parts_[i] = {in_[i].get(), kMaxDatagramBytes};
    in_messages_[i] = {};
    in_messages_[i].msg_hdr.msg_iov = &in_parts_[i];
    in_messages_[i].msg_hdr.msg_iovlen = 1;
    in_messages_[i].msg_hdr.msg_name = &in_addresses_[i];
  }
}

Sockets::~Sockets() {
  if (socket_ >= 0) close(socket_);
}

Sockets::Sender Sockets::SenderOf(const sockaddr_in6& address) {
  Sender sender = {};
  // Both address types have the port at the same offset.
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  std::memcpy(&sender[16], &address.sin6_port, 2);
  if (address.sin6_family == AF_INET) {
    std::memcpy(sender.data(), &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
  } else {
    std::memcpy(sender.data(), &address.sin6_addr, 16);
  }
  return sender;
}

bool Sockets::Resolve(const std::string& host, sockaddr_in6* address, std::string* error) {
  for (const int family : {AF_INET, AF_INET6}) {
    if (family_ != AF_UNSPEC && family != family_) continue;
    addrinfo wanted = {};
    wanted.ai_family = family;
    wanted.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), nullptr, &wanted, &found) != 0) continue;
    *address = {};
    std::memcpy(address, found->ai_addr, LengthOf(static_cast<sa_family_t>(family)));
    freeaddrinfo(found);
    if (socket_ < 0) socket_ = OpenSocket(static_cast<sa_family_t>(family));
    if (socket_ < 0) {
      *error = std::string("cannot create a socket: ") + std::strerror(errno);
      return false;
    }
    family_ = static_cast<sa_family_t>(family);
    return true;
  }
  *error =
      host + ": no such host" +
      (family_ == AF_UNSPEC ? "" : " with an address of the first server's family (IPv4 or IPv6)");
  return false;
}

bool Sockets::AddServer(const std::string& host, uint16_t port, uint32_t ports,
                        std::string* error) {
  sockaddr_in6 address = {};
  const bool found = Resolve(host, &address, error);
  for (uint32_t i = 0; i < ports; ++i) {
    address.sin6_port = htons(static_cast<uint16_t>(port + i));
    endpoints_.push_back(address);
    if (!found) continue;
    const Sender sender = SenderOf(address);
    senders_.insert(std::ranges::upper_bound(senders_, sender), sender);
  }
  return found;
}

void Sockets::Queue(size_t bytes, uint32_t endpoint) {
  sockaddr_in6& address = endpoints_[endpoint];
  if (address.sin6_family == AF_UNSPEC) {
    ++send_errors_;
    return;
  }
  out_parts_[queued_] = {out_[queued_].get(), bytes};
  out_messages_[queued_] = {};
  msghdr& header = out_messages_[queued_].msg_hdr;
  header.msg_iov = &out_parts_[queued_];
  header.msg_iovlen = 1;
  header.msg_name = &address;
  header.msg_namelen = LengthOf(family_);
  if (++queued_ == kBurst) Flush();
}

void Sockets::Flush() {
  for (uint32_t sent = 0; sent < queued_;) {
    const int n = sendmmsg(socket_, &out_messages_[sent], queued_ - sent, 0);
    if (n > 0) {
      sent += static_cast<uint32_t>(n);
    } else if (errno == EAGAIN || errno == ENOBUFS) {
      pollfd file = {socket_, POLLOUT, 0};
      poll(&file, 1, 1);
    } else if (errno != EINTR) {
      // Skips this datagram, because the following ones may be for another endpoint.
      ++send_errors_;
      ++sent;
    }
  }
  queued_ = 0;
}

std::span<const std::span<const uint8_t>> Sockets::Receive() {
  for (mmsghdr& message : in_messages_) message.msg_hdr.msg_namelen = sizeof(sockaddr_in6);
  const int n = recvmmsg(socket_, in_messages_.data(), kBurst, 0, nullptr);
  size_t arrived = 0;
  for (int i = 0; i < n; ++i) {
    if (!std::ranges::binary_search(senders_, SenderOf(in_addresses_[i]))) {
      ++strangers_;
      continue;
    }
    arrived_[arrived++] = {in_[i].get(), in_messages_[i].msg_len};
  }
  return std::span(arrived_).first(arrived);
}

void Sockets::Wait(uint64_t ns) {
  pollfd file = {socket_, POLLIN, 0};
  const timespec time = {static_cast<time_t>(ns / 1'000'000'000),
                         static_cast<long>(ns % 1'000'000'000)};
  ppoll(&file, 1, &time, nullptr);
}

}  // namespace sluice::kv_client
