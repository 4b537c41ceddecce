// SPDX-License-Identifier: BSD-3-Clause
//
// A DPDK software device, which a stage creates for its own use.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace sluice::chain_app {

class VirtualDevice {
 public:
  /// Creates a device of the DPDK driver `driver`, such as "crypto_openssl". If EAL is not running,
  /// starts a small EAL without hugepages, PCI or files. Returns null and sets `error` if the
  /// driver is missing. Not thread-safe: only one thread at a time may create devices.
  static std::unique_ptr<VirtualDevice> Make(const std::string& driver, std::string* error);
  /// Removes the device, which must no longer be in use.
  ~VirtualDevice();
  VirtualDevice(const VirtualDevice&) = delete;
  VirtualDevice& operator=(const VirtualDevice&) = delete;

  const std::string& name() const { return name_; }

 private:
  explicit VirtualDevice(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

}  // namespace sluice::chain_app
