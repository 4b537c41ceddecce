// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>

// Same layout as rpcgen's `opaque<>`.
struct EchoData {
  uint32_t length;
  char* value;
};

extern "C" int echo_1_svc(EchoData* arguments, EchoData* result, void*) {
  *result = *arguments;
  return 1;
}
