// SPDX-License-Identifier: BSD-3-Clause
//
// Registers a poll-mode driver once per process. EAL loads its plugin folder by
// itself, an application may be linked with the same library, and `-d` may name
// another copy: each copy runs its constructors, but only the one that was loaded
// first may register, or a device would have two drivers and two sets of state.
//
// Used by a driver's own RTE_INIT in place of RTE_PMD_REGISTER_VDEV / _PCI:
//
//   RTE_INIT(net_enso_register) {
//     if (!sluice::drivers::FirstLoaded("librte_net_enso.so")) return;
//     rte_vdev_register(&vdev_driver);
//   }
#pragma once

#include <link.h>

#include <cstdint>
#include <cstring>

namespace sluice::drivers {
namespace internal {

struct LoadOrder {
  const char* file_base;
  uintptr_t own_address;  ///< An address inside the object that asks.
  bool found_earlier;
};

/// dl_iterate_phdr callback: objects come in load order, the executable first.
/// Non-zero ends the walk.
inline int VisitObject(dl_phdr_info* object, size_t, void* argument) {
  auto* order = static_cast<LoadOrder*>(argument);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    const uintptr_t start = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && order->own_address - start < segment.p_memsz) return 1;
  }
  const char* slash = std::strrchr(object->dlpi_name, '/');
  const char* base = slash == nullptr ? object->dlpi_name : slash + 1;
  // "librte_x.so" also stands for "librte_x.so.23".
  if (std::strncmp(base, order->file_base, std::strlen(order->file_base)) != 0) return 0;
  order->found_earlier = true;
  return 1;
}

}  // namespace internal

/// True unless an object whose file name begins with `file_base` was loaded before
/// the one that contains this call. Call it from a constructor. Each object has its
/// own copy of this function (internal linkage), which is how it finds itself.
static inline bool FirstLoaded(const char* file_base) {
  static const char own_address = 0;
  internal::LoadOrder order{file_base, reinterpret_cast<uintptr_t>(&own_address), false};
  dl_iterate_phdr(&internal::VisitObject, &order);
  return !order.found_earlier;
}

}  // namespace sluice::drivers
