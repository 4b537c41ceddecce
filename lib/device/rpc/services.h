// SPDX-License-Identifier: BSD-3-Clause
//
// The device's service table: the programs, the types of their procedures, and the address of each
// procedure in its process.
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

/// Address of a procedure in its process.
struct Entry {
  uint64_t code = 0;  ///< Address to jump to.
  uint64_t data = 0;  ///< Value that is passed to the code at this address.
};

struct Service {
  uint16_t port = 0;           ///< UDP port.
  wire::Table table;           ///< Must be valid.
  std::vector<Entry> entries;  ///< Indexed by procedure of the table; filled while the process
                               ///< runs.
  uint64_t incarnation = 0;    ///< The kernel's name for the process.
};

/// The table of services. Used by one thread.
class Services {
 public:
  /// Adds a service. Returns false if the process already has a service, if the table is invalid,
  /// or if another service on the same port already has one of the table's programs.
  bool Add(ProcessId process, Service service);
  void Remove(ProcessId process);

  /// Returns the service, or null if the process has none.
  Service* Of(ProcessId process) const { return services_[process].get(); }
  bool HasPort(uint16_t port) const;

  struct Found {
    wire::Lookup lookup;
    ProcessId process = 0;  ///< Valid if the lookup succeeded.
  };
  Found Find(uint16_t port, const wire::Call& call) const;
  /// Searches all ports. If several services provide the program, returns the one that was added
  /// first.
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
