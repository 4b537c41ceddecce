/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What lwIP needs to know about the compiler and the C library: only assertions and random
 * numbers. */
#pragma once

#include <stdlib.h>

#ifdef NDEBUG
#define LWIP_NOASSERT
#endif
#define LWIP_PLATFORM_ASSERT(text) abort()
#define LWIP_PLATFORM_DIAG(text)

/* lwIP uses this only for the first local port in tcp_new_port, which is never called. */
#define LWIP_RAND() 0u
