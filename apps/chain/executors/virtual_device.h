// SPDX-License-Identifier: BSD-3-Clause
//
// A software device of DPDK's, made for one stage and removed with it.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace sluice::chain_app {

class VirtualDevice {
 public:
  /// Makes a device of `driver`, by DPDK's name for it: "crypto_openssl". A process that has no EAL
  /// gets a small one, without hugepages, PCI or files. Null, with one line in `error`: there is no
  /// such driver here. One thread at a time, of all that make devices.
  static std::unique_ptr<VirtualDevice> Make(const std::string& driver, std::string* error);
  /// Whatever uses the device must be stopped.
  ~VirtualDevice();
  VirtualDevice(const VirtualDevice&) = delete;
  VirtualDevice& operator=(const VirtualDevice&) = delete;

  const std::string& name() const { return name_; }

 private:
  explicit VirtualDevice(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

}  // namespace sluice::chain_app
