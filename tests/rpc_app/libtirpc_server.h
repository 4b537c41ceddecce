// SPDX-License-Identifier: BSD-3-Clause
//
// libtirpc's own server of zoo.x, as rpcgen makes it, in this process and without a port: calls are
// records in a socket pair (RFC 5531 section 11), so that it sees where they end.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <optional>

#include "packet/bytes.h"
#include "packet/fixtures.h"
#include "runtime/owned_fd.h"
// C, as rpcgen made it.
#include "zoo.h"

extern "C" {
void zoo_2(struct svc_req* request, SVCXPRT* transport);
void zoo_4(struct svc_req* request, SVCXPRT* transport);
}

namespace sluice::rpc_app::test {

class LibtirpcServer {
 public:
  /// What it answers; nothing: it does not.
  std::optional<sluice::test::Bytes> Answer(const sluice::test::Bytes& message) {
    if (server_ < 0 && !Open()) return std::nullopt;
    sluice::test::Bytes record(4);
    packet::StoreBe32(record.data(), 1u << 31 | static_cast<uint32_t>(message.size()));
    record.insert(record.end(), message.begin(), message.end());
    if (write(client_.get(), record.data(), record.size()) != static_cast<ssize_t>(record.size())) {
      std::abort();
    }
    svc_getreq_common(server_);
    static uint8_t reply[1 << 16];
    const ssize_t bytes = recv(client_.get(), reply, sizeof(reply), MSG_DONTWAIT);
    // It hangs up on what it cannot read.
    if (bytes == 0) server_ = -1;
    if (bytes <= 4) return std::nullopt;
    return sluice::test::Bytes(reply + 4, reply + bytes);
  }

 private:
  bool Open() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    client_ = runtime::OwnedFd(ends[0]);
    server_ = ends[1];  // libtirpc's: it closes it.
    SVCXPRT* const transport = svc_fd_create(server_, 0, 0);
    return transport != nullptr && svc_register(transport, ZOO, ZOO_TWO, zoo_2, 0) &&
           svc_register(transport, ZOO, ZOO_FOUR, zoo_4, 0);
  }

  runtime::OwnedFd client_;
  int server_ = -1;
};

}  // namespace sluice::rpc_app::test
