/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options of lwIP: TCP alone, for one thread. library.c is its IP layer and memory.c its memory.
 * docs/transport.md explains the values. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "library.h"

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_TIMERS 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_STATS 0
#define LWIP_ARP 0
#define LWIP_ICMP 0
#define LWIP_RAW 0
#define LWIP_UDP 0
#define LWIP_IPV4 1
#define LWIP_IPV6 1
#define LWIP_IPV6_SCOPES 0
#define LWIP_IPV6_MLD 0
#define LWIP_IPV6_REASS 0
#define LWIP_IPV6_FRAG 0
#define LWIP_ICMP6 0
#define LWIP_ND6_TCP_REACHABILITY_HINTS 0
#define IP_REASSEMBLY 0
#define IP_FRAG 0
#define IP_DEFAULT_TTL 64

/* All of lwIP's memory comes from the pools in memory.c. */
#define MEM_ALIGNMENT 8
#define MEM_LIBC_MALLOC 1
#define MEMP_MEM_MALLOC 1
void* tcp_memory_allocate(size_t bytes);
void tcp_memory_free(void* block);
#define mem_clib_malloc tcp_memory_allocate
#define mem_clib_free tcp_memory_free

/* A segment is contiguous, with room in front of it for Ethernet and IP headers. */
#define LWIP_NETIF_TX_SINGLE_PBUF 1
#define LWIP_SUPPORT_CUSTOM_PBUF 1
#define PBUF_POOL_FREE_OOSEQ 0

/* Stack computes and verifies all checksums. */
#define CHECKSUM_GEN_IP 0
#define CHECKSUM_GEN_TCP 0
#define CHECKSUM_CHECK_IP 0
#define CHECKSUM_CHECK_TCP 0

/* Times. The fast timer runs every tick, and the slow one every second tick. */
#define TCP_TMR_INTERVAL TCP_TICK_MS
#define TCP_MSL 15000UL
#define TCP_MAXRTX 8
#define TCP_SYNMAXRTX 6
#define LWIP_TCP_KEEPALIVE 1
#define TCP_KEEPIDLE_DEFAULT 60000UL
#define TCP_KEEPINTVL_DEFAULT 10000UL
#define TCP_KEEPCNT_DEFAULT 6U

/* Sizes per connection. */
#define TCP_MSS 1460
#define LWIP_WND_SCALE 1
#define TCP_RCV_SCALE 3
/* init.c checks the largest window; the others use that of `start`. */
#ifdef TCP_CHECK_OPTIONS
#define TCP_WND TCP_WINDOW_BYTES
#else
extern uint32_t tcp_window_bytes;
#define TCP_WND tcp_window_bytes
#endif
#define TCP_SND_BUF TCP_SEND_BYTES
#define TCP_SND_QUEUELEN 512
#define TCP_SNDLOWAT (2 * TCP_MSS + 1) /* Unused, but init.c checks its limits. */
/* The user reads data during Input, but after the acknowledgement has been sent. With a low
 * threshold, lwIP would send a second acknowledgement to update the window. Without window scale
 * the window is at most 65535 bytes, so the threshold depends on the connection. */
#define TCP_WND_UPDATE_THRESHOLD (TCP_WND_MAX(pcb) / 4)

/* A hole in the window costs one retransmission. Each segment after it occupies two pbufs. */
#define TCP_QUEUE_OOSEQ 1
#define TCP_OOSEQ_MAX_BYTES TCP_WINDOW_BYTES
#define TCP_OOSEQ_MAX_PBUFS 400
#define LWIP_TCP_SACK_OUT 1
#define LWIP_TCP_TIMESTAMPS 0
#define TCP_LISTEN_BACKLOG 0

/* Output finds the connection through the hint; Stack is called when a SYN creates a connection and
 * when a connection is freed. */
#define LWIP_NETIF_HWADDRHINT 1
#define LWIP_TCP_PCB_NUM_EXT_ARGS 1
struct ip_addr;
uint32_t tcp_initial_sequence(const struct ip_addr* local, uint16_t local_port,
                              const struct ip_addr* remote, uint16_t remote_port);
#define LWIP_HOOK_TCP_ISN tcp_initial_sequence
