/* SPDX-License-Identifier: BSD-3-Clause
 *
 * lwIP's memory: pools of equally sized blocks. The address space is reserved at the start. A page
 * is not used until a block in it is needed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Size of the largest blocks, which hold a full segment with headers. */
#define TCP_BUFFER_BYTES 1600

/* Reserves memory for `connections` connections of `pcb_bytes` each. Returns 0 if the address space
 * cannot be reserved. */
int tcp_memory_start(uint32_t connections, size_t pcb_bytes);
void tcp_memory_stop(void);
/* Returns how many of the largest blocks can still be allocated. */
size_t tcp_memory_buffers(void);
/* Returns whether any pool except that for connections is three quarters full. */
int tcp_memory_is_short(void);
/* Returns how often an allocation failed. */
uint64_t tcp_memory_failures(void);
