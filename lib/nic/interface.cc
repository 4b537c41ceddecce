// SPDX-License-Identifier: BSD-3-Clause
#include "nic/interface.h"

#include <rte_ethdev.h>

namespace sluice::nic {

std::string PortText(uint16_t port) {
  char name[RTE_ETH_NAME_MAX_LEN] = "?";
  rte_eth_dev_get_name_by_port(port, name);
  return std::string("port ") + name;
}

ExceptionPath MakeExceptionPath(EthPort* exception, uint32_t worker) {
  if (exception == nullptr) return {};
  const auto queue = static_cast<uint16_t>(worker);
  return ExceptionPath(MbufTransmitter(exception->id(), queue, exception->pool(queue)));
}

}  // namespace sluice::nic
