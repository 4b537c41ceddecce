// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-rpc-service: the process of one service, started by sluice-rpc. It has one thread per
// core, which runs while the core belongs to the service. The thread loads its endpoint's line,
// calls the function that the line names, and stores the result in the line. If there are sockets,
// another thread serves them.
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bar/ring_memory.h"
#include "base/owned_fd.h"
#include "caller.h"
#include "coherent/endpoint_memory.h"
#include "coherent/host_end.h"
#include "engine/rpc/message_server.h"
#include "process_page.h"
#include "service_functions.h"
#include "tcp_server.h"

namespace {

using sluice::coherent::EndpointMemory;
using sluice::coherent::Got;
using sluice::coherent::HostEnd;
using sluice::rpc_app::Answerer;
using sluice::rpc_app::Callees;
using sluice::rpc_app::Phase;
using sluice::rpc_app::ProcessPage;
using sluice::rpc_app::ServiceFunctions;
using sluice::rpc_app::Turn;

// Longer than the time after which the device answers a load with TRYAGAIN, at any clock frequency.
constexpr uint64_t kPatienceCycles = uint64_t{1} << 32;
constexpr uint64_t kForeverNs = 3'600'000'000'000;

// Serves calls until the core must be returned. Returns false if the endpoint is closed.
bool Serve(HostEnd& end, Answerer& answerer) {
  for (;;) {
    switch (end.Wait(kPatienceCycles)) {
      case Got::kContent:
        answerer.Answer(end);
        break;
      case Got::kNothing:
      case Got::kTryAgain:
        break;
      case Got::kYieldNow:
      case Got::kRetire:
      case Got::kBarred:
        return true;
      case Got::kClosed:
        return false;
    }
  }
}

void RunCore(ProcessPage& page, uint32_t core, HostEnd end, const ServiceFunctions& functions,
             const Callees& callees) {
  Answerer answerer(functions.table(), &callees);
  std::atomic_ref(page.cores[core].thread)
      .store(static_cast<uint32_t>(gettid()), std::memory_order_release);
  uint32_t& turn = page.cores[core].turn;
  for (;;) {
    while (sluice::rpc_app::LoadWord(turn) != static_cast<uint32_t>(Turn::kService)) {
      sluice::rpc_app::WaitWhile(turn, static_cast<uint32_t>(Turn::kKernel), kForeverNs);
    }
    if (!Serve(end, answerer)) _exit(1);
    sluice::rpc_app::StoreAndWake(turn, static_cast<uint32_t>(Turn::kKernel));
  }
}

[[noreturn]] void Fail(ProcessPage& page, const std::string& error) {
  std::snprintf(page.error.data(), page.error.size(), "%s", error.c_str());
  sluice::rpc_app::StoreAndWake(page.phase, static_cast<uint32_t>(Phase::kFailed));
  _exit(1);
}

}  // namespace

// Serves the listening sockets in `list` as long as the process runs.
void RunTcp(const char* list, const ServiceFunctions& functions) {
  std::vector<sluice::base::OwnedFd> listeners;
  for (; *list != '\0'; list = std::strchr(list, ',') + 1) {
    listeners.emplace_back(std::atoi(list));
  }
  sluice::engine::rpc::MessageServer server(functions.At(0));
  sluice::rpc_app::TcpServer tcp(std::move(listeners), server);
  for (;;) tcp.Step(std::chrono::seconds(1));
}

// Arguments: FD OBJECT X CORES LISTENERS PARENT DEFINE, then the .x files of the services that this
// one may call. A comma follows each listener.
int main(int argc, char** argv) {
  if (argc < 8) {
    std::fprintf(stderr,
                 "sluice-rpc-service: do not start this program directly: sluice-rpc starts it for "
                 "each service\n");
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != std::atoi(argv[6])) return 1;  // The parent ended before the call to prctl.
  const auto cores = static_cast<uint32_t>(std::strtoul(argv[4], nullptr, 10));
  const size_t bytes = sluice::rpc_app::ProcessBytes(cores);
  const auto memory = sluice::bar::RingMemory::FromFile(std::atoi(argv[1]), bytes, false);
  if (!memory || cores == 0 || cores > sluice::device::rpc::kMaxCores) {
    std::fprintf(stderr,
                 "sluice-rpc-service: descriptor %s is not the shared memory of a service\n",
                 argv[1]);
    return 2;
  }
  auto& page = *reinterpret_cast<ProcessPage*>(memory.data());
  // The signal interrupts system calls in which a service's function waits.
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigaction(SIGUSR1, &action, nullptr);

  std::string error;
  const auto functions = ServiceFunctions::Load(argv[2], argv[3], &error, argv[7]);
  if (functions == nullptr) Fail(page, error);
  if (functions->entries().size() > ProcessPage::kMaxProcedures) {
    Fail(page, std::string(argv[3]) + ": declares more than 256 procedures: split the service");
  }
  const auto callees = Callees::Load({argv + 8, argv + argc}, argv[7], &error);
  if (callees == nullptr) Fail(page, error);
  page.procedures = static_cast<uint32_t>(functions->entries().size());
  std::copy(functions->entries().begin(), functions->entries().end(), page.entries.begin());
  page.base = reinterpret_cast<uint64_t>(memory.data());

  const auto wait = sluice::coherent::BestWaitMethod();
  std::vector<std::thread> threads;
  for (uint32_t core = 0; core < cores; ++core) {
    const EndpointMemory endpoint =
        EndpointMemory::Find({memory.data() + sluice::rpc_app::EndpointOffset(core),
                              sluice::rpc_app::kUserGeometry.Bytes()});
    if (!endpoint) Fail(page, "the shared memory of the service contains no endpoint");
    threads.emplace_back(RunCore, std::ref(page), core, HostEnd(endpoint, wait),
                         std::cref(*functions), std::cref(*callees));
  }
  if (*argv[5] != '\0') threads.emplace_back(RunTcp, argv[5], std::cref(*functions));
  sluice::rpc_app::StoreAndWake(page.phase, static_cast<uint32_t>(Phase::kReady));
  for (std::thread& thread : threads) thread.join();
  return 0;
}
