// SPDX-License-Identifier: BSD-3-Clause
//
// A wire library for attach_test.cc. Its factory throws the exception that its options select.
#include <stdexcept>

#include "emulator/library_wire.h"

extern "C" [[gnu::visibility("default")]] sluice::emulator::Wire* sluice_create_wire(
    const char* options, uint64_t, const uint8_t*, std::string*) {
  throw std::runtime_error(options);
}
