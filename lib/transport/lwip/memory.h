/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of lwIP: pools of equal blocks. Their address space is reserved at start; a page is used
 * only once a block in it was needed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Size of the largest blocks: a full segment with headers. */
#define TCP_BUFFER_BYTES 1600

/* Reserves memory for this number of connections, of which each needs `pcb_bytes`. Returns 0 if the
 * address space cannot be reserved. */
int tcp_memory_start(uint32_t connections, size_t pcb_bytes);
void tcp_memory_stop(void);
/* Returns the number of largest blocks that can still be allocated. */
size_t tcp_memory_buffers(void);
/* Returns whether three quarters of a pool are used. */
int tcp_memory_is_short(void);
/* Returns how often an allocation failed. */
uint64_t tcp_memory_failures(void);
