// SPDX-License-Identifier: BSD-3-Clause
#include "nic/streaming_binding.h"

#include <rte_ethdev.h>

#include <optional>

namespace sluice::nic {

Opened StreamingBinding::Open(const InterfaceOptions& options, std::string* error) {
  options_ = options;
  native_ = rte_pmd_enso_supported(options.port);
  if (!native_) {
    port_ = EthPort::Open(options.port,
                          {.rx_queues = options.workers,
                           .tx_queues = options.workers,
                           .promiscuous = options.promiscuous,
                           .packet_bytes = options.packet_bytes,
                           .before_start = options.before_start},
                          error);
    return port_ != nullptr ? Opened::kYes : Opened::kFailed;
  }
  if (options.before_start) options.before_start();
  for (uint16_t worker = 0; worker < options.workers; ++worker) {
    std::optional<EnsoPipes> pipes = EnsoPipes::Open(
        options.port, options.pipes, MakeExceptionTransmitter(options.exception, worker), error);
    if (!pipes) {
      *error = PortText(options.port) + ", worker " + std::to_string(worker) + ": " + *error;
      return Opened::kFailed;
    }
    pipes_.push_back(*std::move(pipes));
  }
  return Opened::kYes;
}

std::string StreamingBinding::Place(uint32_t worker) const {
  return native_ ? std::to_string(options_.pipes) + " pipes" : "queue " + std::to_string(worker);
}

StreamingBinding::~StreamingBinding() {
  pipes_.clear();
  if (native_) rte_eth_dev_close(options_.port);
}

}  // namespace sluice::nic
