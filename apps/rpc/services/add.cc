// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>

struct AddPair {
  uint32_t a;
  uint32_t b;
};

extern "C" int add_1_svc(AddPair* arguments, uint32_t* result, void*) {
  *result = arguments->a + arguments->b;
  return 1;
}
