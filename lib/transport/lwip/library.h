/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Interface of the library that contains lwIP. Each Stack loads its own copy (instance.h), so the
 * library keeps its state in global variables. Only Stack uses it, in one thread.
 *
 * An address is 4 bytes (IPv4) or 16 bytes (IPv6) in network order. Ports are in host order. A slot
 * is Stack's number for a connection. A bucket is a short list of connections, selected by the
 * hash of their addresses and ports. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TCP_NO_SLOT UINT32_MAX
/* Largest limits of a connection, and the period of `tick`. */
#define TCP_WINDOW_BYTES (256 * 1024)
#define TCP_SEND_BYTES (256 * 1024)
#define TCP_TICK_MS 50
/* Number of bytes that may be written in front of a segment passed to tcp_upcalls.output. */
#define TCP_HEADROOM 54
/* Maximum length of an IP packet. */
#define TCP_MTU 1500

struct tcp_pcb;
struct pbuf;

enum tcp_end { TCP_END_FINISHED, TCP_END_RESET, TCP_END_LOST };

struct tcp_tuple {
  const uint8_t* local;
  const uint8_t* remote;
  uint16_t local_port, remote_port;
  int is_ipv6;
  uint32_t bucket;
};

struct tcp_segment {
  struct tcp_tuple tuple;
  const uint8_t* bytes;  /* TCP header and data. */
  uint32_t header_bytes; /* 20 ... 60, with options. */
  uint32_t data_bytes;
  int refuse_syn; /* Answers a SYN that opens a connection with a reset. */
};

/* Changes that a segment caused. */
struct tcp_events {
  struct pbuf* data; /* Received bytes; freed by `release`. */
  int opened;
  int half_closed; /* The peer sends no data after `data`. */
  int acknowledged;
};

/* Calls from the library. They must not call the library. */
struct tcp_upcalls {
  void* user;
  /* Sends a segment, in which the checksum is 0. `slot` is TCP_NO_SLOT if the segment does not
   * belong to a connection. Returns 0 if it cannot be sent now. */
  int (*output)(void* user, uint32_t slot, uint8_t* segment, uint32_t bytes, const uint8_t* local,
                const uint8_t* remote, int is_ipv6, int retransmitted);
  /* Called when a SYN creates a connection. Returns the connection's slot. */
  uint32_t (*create)(void* user, struct tcp_pcb* pcb);
  /* Called when a connection has been freed, in any state. */
  void (*freed)(void* user, uint32_t slot, enum tcp_end end);
  /* Called every second tick for each connection. */
  void (*poll)(void* user, uint32_t slot);
  /* Returns an initial sequence number. */
  uint32_t (*initial_sequence)(void* user, const uint8_t* local, const uint8_t* remote,
                               uint16_t local_port, uint16_t remote_port, int is_ipv6);
};

struct tcp_library {
  /* Called first. `buckets` is the number of buckets, and `window` the receive window in bytes.
   * Returns 0 if there is no memory. */
  int (*start)(const struct tcp_upcalls* upcalls, uint32_t max_connections, uint32_t buckets,
               uint32_t window);
  /* Called last, without connections. */
  void (*stop)(void);
  /* Runs the timers once. */
  void (*tick)(void);
  /* Listens on all addresses. Returns 0 if there is no memory or the port is in use. */
  int (*listen)(uint16_t port);
  /* Sends a SYN. The ports must not be 0. Returns NULL if there is no memory. */
  struct tcp_pcb* (*connect)(const struct tcp_tuple* tuple, uint32_t slot);
  /* Returns the slot of the connection, even in TIME-WAIT, or TCP_NO_SLOT if there is none. */
  uint32_t (*find)(const struct tcp_tuple* tuple);
  /* Processes a segment. Its data must stay valid until `end_input`. */
  void (*input)(const struct tcp_segment* segment, struct tcp_events* events);
  /* Sets `bytes` and `size` to the part `data`. Returns the next part, or NULL after the last. */
  struct pbuf* (*part)(struct pbuf* data, const uint8_t** bytes, uint32_t* size);
  void (*release)(struct pbuf* data);
  /* Copies the segment's data if lwIP still refers to it. `pcb` is its connection, or NULL. */
  void (*end_input)(struct tcp_pcb* pcb);
  int (*is_time_wait)(const struct tcp_pcb* pcb);
  /* Returns whether a SYN with this sequence number may replace a connection in TIME-WAIT. */
  int (*is_newer)(const struct tcp_pcb* pcb, uint32_t sequence);
  uint32_t (*room)(const struct tcp_pcb* pcb);
  int (*all_acknowledged)(const struct tcp_pcb* pcb);
  /* Returns 0 if there is no memory; some bytes may have been written. */
  int (*write)(struct tcp_pcb* pcb, const uint8_t* data, uint32_t bytes);
  void (*flush)(struct tcp_pcb* pcb);
  void (*consume)(struct tcp_pcb* pcb, uint32_t bytes);
  void (*finish)(struct tcp_pcb* pcb);
  /* Frees the connection. Sends a RST first unless the connection is in TIME-WAIT. */
  void (*abort)(struct tcp_pcb* pcb, uint32_t bucket);
  /* Frees the connection without sending a RST. */
  void (*forget)(struct tcp_pcb* pcb, uint32_t bucket);
  /* Returns the number of times that a pool was empty. */
  uint64_t (*no_memory)(void);
};

/* The only symbol that the library exports. */
const struct tcp_library* sluice_tcp_library(void);

#ifdef __cplusplus
}
#endif
