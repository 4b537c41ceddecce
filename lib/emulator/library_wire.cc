// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/library_wire.h"

#include <dlfcn.h>

#include "emulator/options.h"

namespace sluice::emulator {

bool LibraryOptions::Read(std::string_view text, std::string* error) {
  constexpr std::string_view kSuffix = ".so";
  // A file name may contain '+', so the name ends only at the first '+' that follows the suffix.
  const size_t end = text.find(".so+");
  file = text.substr(0, end == std::string_view::npos ? end : end + kSuffix.size());
  if (end != std::string_view::npos) options = text.substr(end + kSuffix.size() + 1);
  return file.ends_with(kSuffix) ||
         Refuse("wire=library", text, "give a shared library, as in library:wire.so", error);
}

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
  std::unique_ptr<Wire> wire(
      create(options.options.c_str(), options.seed, options.nic.data(), error));
  if (wire == nullptr) error->insert(0, "wire=library: ");
  return wire;
}

}  // namespace sluice::emulator
