// SPDX-License-Identifier: BSD-3-Clause
//
// What the device knows of services: their programs, the types of their procedures, and where in
// their process each procedure is.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/rpc/placement.h"
#include "rpc/call.h"
#include "rpc/message.h"
#include "rpc/table.h"

namespace sluice::device::rpc {

namespace wire = ::sluice::rpc;

/// A procedure in its process.
struct Entry {
  uint64_t code = 0;  ///< Where to jump to.
  uint64_t data = 0;  ///< With which state.
};

struct Service {
  uint16_t port = 0;           ///< UDP.
  wire::Table table;           ///< Sound.
  std::vector<Entry> entries;  ///< By procedure of the table, while the process is up.
  uint64_t incarnation = 0;    ///< Of the process, as the kernel names it.
};

/// One thread.
class Services {
 public:
  /// False: the process has a service already, the table is not sound, or one of its programs is
  /// another's on this port.
  bool Add(ProcessId process, Service service);
  void Remove(ProcessId process);

  /// Null: the process has no service.
  Service* Of(ProcessId process) const { return services_[process].get(); }
  bool HasPort(uint16_t port) const;

  struct Found {
    wire::Lookup lookup;
    ProcessId process = 0;  ///< If the lookup succeeded.
  };
  Found Find(uint16_t port, const wire::Call& call) const;
  /// On any port: the first that was added.
  Found Find(uint32_t program, uint32_t version, uint32_t procedure) const;

 private:
  struct Program {
    uint32_t number;
    uint16_t port;
    ProcessId process;
  };

  std::array<std::unique_ptr<Service>, kMaxProcesses> services_;
  std::vector<Program> programs_;
};

}  // namespace sluice::device::rpc
