// SPDX-License-Identifier: BSD-3-Clause
//
// Stands for a driver's plugin in register_once_test.cc.
#include "register_once.h"

extern "C" {
__attribute__((visibility("default"))) extern bool once_registered;
bool once_registered = false;
}

namespace {

__attribute__((constructor)) void Register() {
  once_registered = sluice::drivers::FirstLoaded("librte_once.so");
}

}  // namespace
