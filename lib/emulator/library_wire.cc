// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/library_wire.h"

#include <dlfcn.h>

namespace sluice::emulator {

std::unique_ptr<Wire> LoadWire(const LibraryOptions& options, std::string* error) {
  void* const library = dlopen(options.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    *error = std::string("wire=library: ") + dlerror();
    return nullptr;
  }
  auto* const create = reinterpret_cast<WireFactory*>(dlsym(library, kWireFactoryName));
  if (create == nullptr) {
    *error = "wire=library: " + options.file + " has no " + kWireFactoryName;
    return nullptr;
  }
  std::unique_ptr<Wire> wire(create(options.options.c_str(), options.seed, options.nic.data(),
                                     error));
  if (wire == nullptr) error->insert(0, "wire=library: ");
  return wire;
}

}  // namespace sluice::emulator
