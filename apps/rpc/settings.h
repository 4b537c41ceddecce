// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-rpc's flags.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/run_flags.h"
#include "service_process.h"

namespace sluice::rpc_app {

struct Settings : host::RunSettings {
  std::vector<ServiceFiles> services;
  std::string policy;
  std::string interface;        ///< Linux interface used as the wire; empty: built-in clients.
  std::string addresses;        ///< The NIC's addresses on `interface`.
  std::string service_program;  ///< Path of sluice-rpc-service.
  uint32_t cores = 1;
  uint32_t service_cores = 1;  ///< Maximum cores per service.
  uint32_t queue = 32;
  uint32_t nested = 32;  ///< Maximum nested calls in flight per service.
  uint32_t nested_depth = 8;
  uint32_t outstanding = 1;
  uint32_t run_calls = 100;
  uint32_t echo_bytes = 64;
  uint32_t dma_bytes = 4096;
  uint32_t store_mib = 64;  ///< Memory of the service "store" in MiB.
  uint64_t slice_ns = 0;
  uint64_t preempt_ns = 0;
  uint64_t handler_ns = 0;
  uint64_t retire_ns = 0;
  uint64_t nested_ns = 0;
  uint64_t timeout_ns = 0;
  uint64_t seed = 1;
  uint32_t traces = 0;
};

/// Returns nullopt, after printing an error, if the process should exit with `exit_code`.
std::optional<Settings> ReadSettings(int argc, char** argv, int* exit_code);

}  // namespace sluice::rpc_app
