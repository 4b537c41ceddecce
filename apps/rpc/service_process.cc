// SPDX-License-Identifier: BSD-3-Clause
#include "service_process.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "coherent/endpoint_memory.h"
#include "host/child_process.h"

namespace sluice::rpc_app {
namespace {

/// Interval between checks whether a process that owns a core is dead.
constexpr uint64_t kLookForDeathNs = 20'000'000;

// Returns the command that starts the service's process.
host::ChildProgram CommandOf(const std::string& program, const ServiceFiles& files, uint32_t cores,
                             int memory) {
  host::ChildProgram child{.program = program, .descriptors = {memory}, .own_group = true};
  std::string listeners;
  for (const int listener : files.listeners) {
    listeners += std::to_string(host::ChildDescriptor(child.descriptors.size())) + ',';
    child.descriptors.push_back(listener);
  }
  child.arguments = {std::to_string(host::ChildDescriptor(0)),
                     files.object,
                     files.x,
                     std::to_string(cores),
                     listeners,
                     std::to_string(getpid()),
                     files.define};
  child.arguments.insert(child.arguments.end(), files.callees.begin(), files.callees.end());
  return child;
}

}  // namespace

std::shared_ptr<ServiceProcess> ServiceProcess::Launch(const std::string& program,
                                                       const ServiceFiles& files, uint32_t cores,
                                                       std::string* error) {
  auto memory =
      bar::RingMemory::Create(ProcessBytes(cores), false, bar::RingMemory::Pages::kPreferHuge);
  if (!memory) {
    *error = "no memory for the service " + files.name + ": " + std::strerror(errno);
    return nullptr;
  }
  for (uint32_t core = 0; core < cores; ++core) {
    coherent::EndpointMemory::Format({memory.data() + EndpointOffset(core), kUserGeometry.Bytes()},
                                     kUserGeometry);
  }
  std::shared_ptr<ServiceProcess> process(new ServiceProcess(std::move(memory), cores));
  process->child_ =
      host::ChildProcess::Start(CommandOf(program, files, cores, process->memory_.fd()), error);
  if (process->child_.pid() == 0) return nullptr;
  return process;
}

ServiceProcess::ServiceProcess(bar::RingMemory memory, uint32_t cores)
    : memory_(std::move(memory)), cores_(cores), number_([] {
        static std::atomic<uint64_t> last{0};
        return ++last;
      }()) {}

std::string ServiceProcess::error() {
  std::array<char, sizeof(ProcessPage::error)> text = page().error;
  text.back() = '\0';
  return host::PrintableText(text.data());
}

std::optional<std::vector<device::rpc::Entry>> ServiceProcess::Entries() {
  const uint32_t procedures = std::atomic_ref(page().procedures).load(std::memory_order_relaxed);
  if (procedures > ProcessPage::kMaxProcedures) return std::nullopt;
  return std::vector(page().entries.begin(), page().entries.begin() + procedures);
}

std::vector<device::rpc::Endpoint> ServiceProcess::Endpoints() {
  const uint64_t base =
      std::atomic_ref(page().base).load(std::memory_order_relaxed) & ~uint64_t{4095};
  std::vector<device::rpc::Endpoint> endpoints;
  for (uint32_t core = 0; core < cores_; ++core) {
    const size_t offset = EndpointOffset(core);
    endpoints.push_back({{memory_.data() + offset, kUserGeometry.Bytes()}, base + offset});
  }
  return endpoints;
}

void ServiceProcess::Interrupt(uint32_t core) {
  const uint32_t thread = LoadWord(page().cores[core].thread);
  const std::scoped_lock lock(reaping_);
  // tgkill accepts only threads of the service's process, so a forged thread ID is harmless.
  if (!ended_) syscall(SYS_tgkill, child_.pid(), thread, SIGUSR1);
}

uint64_t ServiceProcess::Starved(uint32_t core, cpu::StarvedTime& starved, uint64_t now_ns) {
  const auto thread = static_cast<pid_t>(LoadWord(page().cores[core].thread));
  const std::scoped_lock lock(reaping_);
  // The service's process wrote the thread ID, which may be forged. The path in /proc contains the
  // process ID, so it is valid only for threads of that process.
  return ended_ ? 0 : starved.Since(child_.pid(), thread, now_ns);
}

bool ServiceProcess::Ended() {
  if (ended_) return true;
  {
    const std::scoped_lock lock(reaping_);
    if (!child_.Ended()) return false;
    ended_ = true;
  }
  for (uint32_t core = 0; core < cores_; ++core) {
    StoreAndWake(page().cores[core].turn, static_cast<uint32_t>(Turn::kKernel));
  }
  return true;
}

void ServiceProcess::HandOver(uint32_t core, const std::atomic<bool>& stop) {
  uint32_t& turn = page().cores[core].turn;
  StoreAndWake(turn, static_cast<uint32_t>(Turn::kService));
  while (!ended_ && !stop && LoadWord(turn) == static_cast<uint32_t>(Turn::kService)) {
    WaitWhile(turn, static_cast<uint32_t>(Turn::kService), kLookForDeathNs);
  }
}

}  // namespace sluice::rpc_app
