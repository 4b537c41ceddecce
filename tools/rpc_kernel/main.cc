// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-rpc-kernel SECONDS: measures the round trip of a null call over kernel UDP on the loopback
// interface. The server uses libtirpc and runs on a separate CPU; the service and the clients are
// those of sluice-rpc. The client polls, as a model NIC does, so that the values include only the
// server's wake-up. Prints JSON.
//
// sluice-rpc-kernel calls N: executes N calls with the client and the server in one thread, for
// callgrind.
#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/standard_streams.h"
#include "load_wire.h"
#include "nothing.h"  // Requires libtirpc.
#include "packet/datagram.h"

extern "C" {
void nothing_program_1(struct svc_req* request, SVCXPRT* transport);
// Required by the server code that rpcgen generates; results do not own memory.
int nothing_program_1_freeresult(SVCXPRT*, xdrproc_t, caddr_t) { return 1; }

// The server polls its socket once and handles the pending call.
[[gnu::noinline]] void WorkerServe(pollfd* socket) {
  poll(socket, 1, -1);
  svc_getreq_poll(socket, 1);
}
}

namespace {

using sluice::packet::Datagram;
using sluice::rpc_app::LoadFigures;
using sluice::rpc_app::LoadWire;

[[noreturn]] void Fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

uint64_t Now() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

// Creates a UDP socket on a free port of the loopback address, and sets `address` to the socket's
// address.
int Bind(sockaddr_in* address) {
  const int made = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  *address = {};
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(*address);
  auto* const name = reinterpret_cast<sockaddr*>(address);
  if (made < 0 || bind(made, name, bytes) != 0 || getsockname(made, name, &bytes) != 0) {
    Fail("sluice-rpc-kernel: socket");
  }
  return made;
}

void Register(int socket) {
  SVCXPRT* const transport = svc_dg_create(socket, 0, 0);
  if (transport == nullptr ||
      svc_reg(transport, NOTHING_PROGRAM, NOTHING_VERSION, nothing_program_1, nullptr) == 0) {
    std::fprintf(stderr, "sluice-rpc-kernel: libtirpc cannot register the program\n");
    std::exit(1);
  }
}

// sluice-rpc's clients. Their calls are sent without the frame headers.
class Client {
 public:
  explicit Client(const sockaddr_in& server)
      : wire_({.targets = {{.program = NOTHING_PROGRAM,
                            .version = NOTHING_VERSION,
                            .procedure = NOTHING,
                            .port = 1}}}) {
    sockaddr_in own;
    socket_ = Bind(&own);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&server), sizeof(server)) != 0) {
      Fail("sluice-rpc-kernel: connect");
    }
  }

  // Sends a due call, if there is one.
  void Send() {
    const auto frames = wire_.Pull(Now(), 1);
    for (const auto& frame : frames) {
      const Datagram datagram = Datagram::In(frame.data, frame.length);
      if (send(socket_, frame.data + datagram.payload, datagram.payload_bytes, 0) < 0) {
        Fail("sluice-rpc-kernel: send");
      }
    }
    wire_.Consumed(static_cast<uint32_t>(frames.size()));
  }
  // Receives an answer, if there is one.
  void Receive() {
    const ssize_t bytes = recv(socket_, &reply_[Datagram::kPlainPayload],
                               reply_.size() - Datagram::kPlainPayload, MSG_DONTWAIT);
    if (bytes < 0) return;
    const uint64_t now_ns = Now();
    Datagram::WritePlain(reply_.data(), {}, static_cast<uint32_t>(bytes));
    const sluice::device::WireFrame frame = {
        reply_.data(), Datagram::kPlainPayload + static_cast<uint32_t>(bytes)};
    wire_.Deliver(now_ns, {&frame, 1});
  }
  LoadWire& wire() { return wire_; }

 private:
  LoadWire wire_;
  int socket_ = -1;
  std::array<uint8_t, 2048> reply_{};
};

void PinTo(int index) {
  cpu_set_t allowed, one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed) && index-- == 0) CPU_SET(cpu, &one);
  }
  if (CPU_COUNT(&one) == 1) sched_setaffinity(0, sizeof(one), &one);
}

nlohmann::json Report(LoadWire& wire, double seconds) {
  const LoadFigures figures = wire.Figures();
  const auto& latency = wire.latency();
  const auto us = [](uint64_t ns) { return static_cast<double>(ns) / 1e3; };
  return {{"duration_s", seconds},
          {"answered", figures.answered},
          {"refused", figures.refused},
          {"lost", figures.lost},
          {"corrupted", figures.wrong},
          {"latency_us",
           {{"count", latency.count()},
            {"mean", latency.mean() / 1e3},
            {"p50", us(latency.Percentile(0.5))},
            {"p99", us(latency.Percentile(0.99))},
            {"p99.9", us(latency.Percentile(0.999))},
            {"max", us(latency.max())}}}};
}

int Measure(double seconds) {
  sockaddr_in address;
  const int server = Bind(&address);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) Fail("sluice-rpc-kernel: fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    PinTo(1);
    Register(server);
    svc_run();
    _exit(1);
  }
  PinTo(0);
  Client client(address);
  const uint64_t begin = Now();
  const auto end = begin + static_cast<uint64_t>(seconds * 1e9);
  uint64_t now = begin;
  for (; now < end; now = Now()) {
    client.Send();
    client.Receive();
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const nlohmann::json report = Report(client.wire(), static_cast<double>(now - begin) / 1e9);
  std::puts(report.dump().c_str());
  return report["answered"] > 0 && report["corrupted"] == 0 ? 0 : 1;
}

int Count(uint64_t calls) {
  sockaddr_in address;
  pollfd server = {.fd = Bind(&address), .events = POLLIN | POLLRDNORM, .revents = 0};
  Register(server.fd);
  Client client(address);
  for (uint64_t i = 0; i < calls; ++i) {
    client.Send();
    WorkerServe(&server);
    client.Receive();
  }
  const uint64_t answered = client.wire().Figures().answered;
  std::printf("%llu packets\n", static_cast<unsigned long long>(answered));
  return answered == calls ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  sluice::base::OpenStandardStreams();
  if (argc == 2 && std::atof(argv[1]) > 0) return Measure(std::atof(argv[1]));
  if (argc == 3 && std::strcmp(argv[1], "calls") == 0 && std::atoll(argv[2]) > 0) {
    return Count(static_cast<uint64_t>(std::atoll(argv[2])));
  }
  std::fprintf(stderr, "usage: sluice-rpc-kernel SECONDS | calls N\n");
  return 2;
}
