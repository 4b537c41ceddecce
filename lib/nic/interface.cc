// SPDX-License-Identifier: BSD-3-Clause
#include "nic/interface.h"

#include <utility>

namespace sluice::nic {

std::optional<MbufTransmitter> MakeExceptionTransmitter(EthPort* exception, uint32_t worker) {
  if (exception == nullptr) return std::nullopt;
  const auto queue = static_cast<uint16_t>(worker);
  return MbufTransmitter(exception->id(), queue, exception->pool(queue));
}

ExceptionPath MakeExceptionPath(EthPort* exception, uint32_t worker) {
  auto transmitter = MakeExceptionTransmitter(exception, worker);
  return transmitter ? ExceptionPath(*std::move(transmitter)) : ExceptionPath();
}

}  // namespace sluice::nic
