/* SPDX-License-Identifier: BSD-3-Clause */
#include "memory.h"

#include <string.h>
#include <sys/mman.h>

#include "lwip/mem.h"

struct pool {
  size_t bytes; /* Size of a block. */
  size_t limit; /* Number of blocks. */
  uint8_t* base;
  size_t touched; /* Number of blocks that were allocated at least once. */
  size_t used;
  void* free; /* List of free blocks. The first word of each points to the next. */
};

/* The pools are for headers and queued segments, for larger blocks that are not buffers, for
 * connections, and for buffers. */
enum { kSegment, kSmall, kConnection, kBuffer, kPools };
static struct pool pools[kPools];
static uint8_t* reserved;
static size_t reserved_bytes;
static uint64_t failures;

/* At most 1 GiB of buffers: a connection needs one for each unacknowledged segment, and one for
 * each received segment after a hole. */
static const size_t kMaxBuffers = ((size_t)1 << 30) / TCP_BUFFER_BYTES;
static const size_t kBuffersPerConnection = 512;

int tcp_memory_start(uint32_t connections, size_t pcb_bytes) {
  size_t buffers = connections * kBuffersPerConnection, bytes = 0;
  uint8_t* base;
  if (buffers > kMaxBuffers) buffers = kMaxBuffers;
  pools[kSegment].bytes = 64;
  pools[kSegment].limit = 4 * buffers + 4 * (size_t)connections + 1024;
  pools[kSmall].bytes = 256;
  pools[kSmall].limit = 2 * buffers + 4 * (size_t)connections + 1024;
  /* A buffer that happens to have the size of a connection comes from this pool, too: at most one
   * per connection. */
  pools[kConnection].bytes = pcb_bytes;
  pools[kConnection].limit = 4 * (size_t)connections + 1024;
  pools[kBuffer].bytes = TCP_BUFFER_BYTES;
  pools[kBuffer].limit = buffers;
  for (int i = 0; i < kPools; ++i) bytes += pools[i].bytes * pools[i].limit;
  base =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return 0;
  reserved = base;
  reserved_bytes = bytes;
  for (int i = kPools; i-- > 0;) { /* The largest blocks come first, so all are aligned. */
    pools[i].base = base;
    base += pools[i].bytes * pools[i].limit;
  }
  return 1;
}

void tcp_memory_stop(void) { munmap(reserved, reserved_bytes); }

size_t tcp_memory_buffers(void) { return pools[kBuffer].limit - pools[kBuffer].used; }

int tcp_memory_is_short(void) {
  for (int i = 0; i < kPools; ++i) {
    if (i != kConnection && pools[i].used > pools[i].limit / 4 * 3) return 1;
  }
  return 0;
}

uint64_t tcp_memory_failures(void) { return failures; }

void* tcp_memory_allocate(size_t bytes) {
  struct pool* pool = &pools[kBuffer];
  void* block;
  if (bytes <= pools[kSegment].bytes) {
    pool = &pools[kSegment];
  } else if (bytes <= pools[kSmall].bytes) {
    pool = &pools[kSmall];
  } else if (bytes == pools[kConnection].bytes) {
    pool = &pools[kConnection];
  }
  if (bytes > pool->bytes || pool->used == pool->limit) {
    ++failures;
    return NULL;
  }
  ++pool->used;
  block = pool->free;
  if (block == NULL) return pool->base + pool->bytes * pool->touched++;
  memcpy(&pool->free, block, sizeof(pool->free));
  return block;
}

void tcp_memory_free(void* block) {
  struct pool* pool = pools;
  while ((uint8_t*)block < pool->base) ++pool; /* The pools' addresses descend. */
  memcpy(block, &pool->free, sizeof(pool->free));
  pool->free = block;
  --pool->used;
}
