// SPDX-License-Identifier: BSD-3-Clause
//
// Support for a model NIC that the application's workers step (device_cpu=worker). The step is a
// DPDK service, which a worker runs between its polls and while it waits for the NIC. For a port
// without that service, the cost is one comparison.
#pragma once

#include <rte_ethdev.h>
#include <rte_service.h>

#include <array>
#include <cstdint>
#include <cstdio>

namespace sluice::nic {

/// Id of the service that the calling thread steps, or -1 if none. Set by the worker's loop.
inline thread_local int32_t own_model = -1;

/// Returns the id of the service that runs the model of `port`. Returns -1 if the port has no
/// model, or if service lcores exist, because these then run the model.
inline int32_t ModelService(uint16_t port) {
  std::array<char, RTE_ETH_NAME_MAX_LEN> name{};
  if (rte_service_lcore_count() > 0 || rte_eth_dev_get_name_by_port(port, name.data()) != 0) {
    return -1;
  }
  std::array<char, RTE_SERVICE_NAME_MAX> service{};
  std::snprintf(service.data(), service.size(), "model_%.24s", name.data());
  uint32_t id = 0;
  return rte_service_get_by_name(service.data(), &id) == 0 ? static_cast<int32_t>(id) : -1;
}

/// Runs one step of service `model`, or none if `model` is negative. Must be called on an lcore.
/// Does not wait if another lcore is running the service.
inline void StepModel(int32_t model) {
  if (model >= 0) rte_service_run_iter_on_app_lcore(static_cast<uint32_t>(model), 0);
}

}  // namespace sluice::nic
