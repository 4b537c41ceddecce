// SPDX-License-Identifier: BSD-3-Clause
//
// Registers a poll-mode driver once per process. EAL loads its plugin folder, an application may be
// linked with the same library, and `-d` may name another copy. Each copy runs its constructors,
// but only the copy that was loaded first may register; otherwise, a device would have two drivers
// with separate state.
//
// A driver calls FirstLoaded in its RTE_INIT instead of RTE_PMD_REGISTER_VDEV / _PCI:
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
  uintptr_t own_address;  ///< An address inside the calling object.
  bool found_earlier;
};

/// dl_iterate_phdr callback. Objects are visited in load order, the executable first. A non-zero
/// result ends the iteration.
inline int VisitObject(dl_phdr_info* object, size_t, void* argument) {
  auto* order = static_cast<LoadOrder*>(argument);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    const uintptr_t start = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && order->own_address - start < segment.p_memsz) return 1;
  }
  const char* slash = std::strrchr(object->dlpi_name, '/');
  const char* base = slash == nullptr ? object->dlpi_name : slash + 1;
  // "librte_x.so" also matches "librte_x.so.23".
  if (std::strncmp(base, order->file_base, std::strlen(order->file_base)) != 0) return 0;
  order->found_earlier = true;
  return 1;
}

}  // namespace internal

/// Returns true unless an object whose file name begins with `file_base` was loaded before the
/// object that contains this call. Must be called from a constructor. The function has internal
/// linkage, so that each object has its own copy, which can find the object.
static inline bool FirstLoaded(const char* file_base) {
  static const char own_address = 0;
  internal::LoadOrder order{file_base, reinterpret_cast<uintptr_t>(&own_address), false};
  dl_iterate_phdr(&internal::VisitObject, &order);
  return !order.found_earlier;
}

}  // namespace sluice::drivers
