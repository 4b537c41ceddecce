// SPDX-License-Identifier: BSD-3-Clause
//
// A model NIC that asked the application's workers to step it (device_cpu=worker): a service of
// DPDK's, which a worker runs between its polls and wherever it waits for the NIC. A port without
// such a service costs a comparison.
#pragma once

#include <rte_ethdev.h>
#include <rte_service.h>

#include <array>
#include <cstdint>
#include <cstdio>

namespace sluice::nic {

/// What the calling thread steps; -1: nothing. Set by the worker's loop.
inline thread_local int32_t own_model = -1;

/// The service of the model behind `port`; -1 if there is none, or service lcores run it.
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

/// One step of `model`, if there is one: for an lcore. Another that is at it is not waited for.
inline void StepModel(int32_t model) {
  if (model >= 0) rte_service_run_iter_on_app_lcore(static_cast<uint32_t>(model), 0);
}

}  // namespace sluice::nic
