// SPDX-License-Identifier: BSD-3-Clause
#include "device/rpc/services.h"

#include <algorithm>
#include <utility>

namespace sluice::device::rpc {

bool Services::Add(ProcessId process, Service service) {
  if (process >= kMaxProcesses || services_[process] != nullptr) return false;
  if (!service.table.IsSound()) return false;
  std::vector<Program> added;
  for (const wire::Procedure& procedure : service.table.procedures) {
    if (!added.empty() && added.back().number == procedure.program) continue;
    added.push_back({procedure.program, service.port, process});
  }
  const bool taken = std::ranges::any_of(added, [&](const Program& mine) {
    return std::ranges::any_of(programs_, [&](const Program& other) {
      return other.number == mine.number && other.port == mine.port;
    });
  });
  if (taken) return false;
  programs_.insert(programs_.end(), added.begin(), added.end());
  services_[process] = std::make_unique<Service>(std::move(service));
  return true;
}

void Services::Remove(ProcessId process) {
  services_[process].reset();
  std::erase_if(programs_, [&](const Program& program) { return program.process == process; });
}

bool Services::HasPort(uint16_t port) const {
  return std::ranges::any_of(programs_,
                             [&](const Program& program) { return program.port == port; });
}

Services::Found Services::Find(uint16_t port, const wire::Call& call) const {
  for (const Program& program : programs_) {
    if (program.number != call.program || program.port != port) continue;
    return {services_[program.process]->table.Find(call.program, call.version, call.procedure),
            program.process};
  }
  return {};
}

Services::Found Services::Find(uint32_t program, uint32_t version, uint32_t procedure) const {
  for (const Program& one : programs_) {
    if (one.number != program) continue;
    return {services_[one.process]->table.Find(program, version, procedure), one.process};
  }
  return {};
}

}  // namespace sluice::device::rpc
