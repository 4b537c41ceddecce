// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/service.h"

#include <rte_lcore.h>
#include <rte_memory.h>
#include <rte_service.h>
#include <rte_service_component.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <thread>

namespace sluice::emulator {

Service::Service(std::string_view name, Runner& runner, bool workers) {
  const int32_t service_lcores = rte_service_lcore_count();
  if (service_lcores <= 0 && !workers) return;
  rte_service_spec spec = {};
  std::snprintf(spec.name, sizeof(spec.name), "model_%.*s",
                static_cast<int>(name.size() < 24 ? name.size() : 24), name.data());
  spec.callback = [](void* argument) -> int32_t {
    return static_cast<Runner*>(argument)->TurnForOther() ? 0 : -EAGAIN;
  };
  spec.callback_userdata = &runner;
  spec.capabilities = RTE_SERVICE_CAP_MT_SAFE;
  spec.socket_id = SOCKET_ID_ANY;
  if (rte_service_component_register(&spec, &id_) != 0) return;
  registered_ = true;
  rte_service_component_runstate_set(id_, 1);
  if (service_lcores <= 0) rte_service_runstate_set(id_, 1);
  // During its start, EAL distributes the services over the lcores. A device that is plugged in
  // later is mapped to a running service lcore here.
  std::array<uint32_t, RTE_MAX_LCORE> lcores;
  const int32_t count = rte_service_lcore_list(lcores.data(), RTE_MAX_LCORE);
  for (int32_t i = 0; i < count; ++i) {
    if (rte_service_lcore_may_be_active(lcores[i]) != 1) continue;
    rte_service_map_lcore_set(id_, lcores[i], 1);
    rte_service_runstate_set(id_, 1);
    break;
  }
}

Service::~Service() {
  // Services no longer exist within rte_eal_cleanup.
  if (!registered_ || rte_service_component_runstate_set(id_, 0) != 0) return;
  while (rte_service_may_be_active(id_) == 1) std::this_thread::yield();
  rte_service_component_unregister(id_);
}

}  // namespace sluice::emulator
