// SPDX-License-Identifier: BSD-3-Clause
extern "C" int nothing_1_svc(void*, void*, void*) { return 1; }
