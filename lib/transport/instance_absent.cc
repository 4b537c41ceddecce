// SPDX-License-Identifier: BSD-3-Clause
//
// Instance for builds without lwIP's source.
#include "transport/instance.h"

namespace sluice::transport {

bool Instance::Available() { return false; }

std::unique_ptr<Instance> Instance::Load(std::string* error) {
  *error =
      "this build does not contain TCP, because lwIP's source was absent: run scripts/setup "
      "and build again";
  return nullptr;
}

Instance::~Instance() = default;

}  // namespace sluice::transport
