/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Native face of net_enso: Ensō pipes without mbufs. A notification buffer (NB)
 * belongs to one thread; pipes report to the NB that they were opened on. All
 * datapath calls on an NB and its pipes come from that one thread; open, close
 * and bind are control path, from any one thread at a time while the NB's thread
 * does not poll.
 *
 * The ethdev face (rte_eth_rx_burst, …) and fallback pipes share the device's
 * fallback table: while the port is started the ethdev owns it, and opening a
 * fallback pipe fails with -EBUSY; while native fallback pipes exist,
 * rte_eth_dev_start fails with -EBUSY.
 *
 * The wire of a model NIC is off at first; rte_eth_dev_start switches it on. Where
 * fallback pipes are native the port is not started: the user calls
 * rte_eth_dev_set_link_up(port) once the pipes are open and bound; until then no frame
 * arrives. rte_eth_dev_set_link_down(port) stops what comes from the wire; frames that
 * arrived before stay in the pipes, and transmission goes on. To lose nothing, stop
 * the wire, poll until all has come, then close pipes and NBs. A link that was set down
 * stays down, over stop and start, until it is set up. Both calls are control path, may
 * be repeated, and return when they have taken effect, or -ENOTSUP: the wire of a card
 * is always on.
 *
 * The NIC filters no destination address: rte_eth_promiscuous_disable(port) and
 * rte_eth_allmulticast_disable(port) return -ENOTSUP.
 */
#ifndef RTE_PMD_ENSO_H
#define RTE_PMD_ENSO_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/** Unit of every length on a pipe: frames begin on a flit boundary. */
#define RTE_PMD_ENSO_FLIT_BYTES 64

struct rte_pmd_enso_nb;
struct rte_pmd_enso_pipe;

/** What a pipe is for. */
enum rte_pmd_enso_pipe_kind {
  RTE_PMD_ENSO_RX,   /**< Receive only. */
  RTE_PMD_ENSO_TX,   /**< Transmit only: a buffer of the pipe's size to compose in. */
  RTE_PMD_ENSO_RXTX, /**< Receive, and transmit the same memory in place. */
};

/** Open as a fallback pipe: it gets a share of the frames that no flow entry claims. */
#define RTE_PMD_ENSO_FALLBACK (1u << 0)

/** Exact match of a pipe; integers in host order (paper: Bind). A UDP flow, and a
 * TCP SYN, match on destination alone, as the hardware masks the rest. */
struct rte_pmd_enso_flow {
  uint32_t dst_ip;
  uint32_t src_ip;
  uint16_t dst_port;
  uint16_t src_port;
  uint8_t protocol; /**< IPPROTO_TCP, IPPROTO_UDP or another. */
};

/** Bytes that arrived on one pipe: contiguous, also across the end of the ring. */
struct rte_pmd_enso_span {
  struct rte_pmd_enso_pipe* pipe;
  uint8_t* data;
  uint32_t bytes; /**< Multiple of RTE_PMD_ENSO_FLIT_BYTES, > 0; ends on a frame boundary. */
};

/** True if the port is driven by net_enso. Any thread. */
bool rte_pmd_enso_supported(uint16_t port_id);

/**
 * Opens a notification buffer on a probed port.
 * @return 0, or -ENODEV (not a net_enso port), -ENOSPC (none left), -ENOMEM,
 *   -EIO (the device does not answer, or has lost its power since other buffers were opened:
 *   close them first).
 */
int rte_pmd_enso_nb_open(uint16_t port_id, struct rte_pmd_enso_nb** nb);

/** Closes an NB after waiting, bounded, for its transmissions. Its pipes must be
 * closed before. */
void rte_pmd_enso_nb_close(struct rte_pmd_enso_nb* nb);

/**
 * Opens a pipe on `nb`. `flags`: RTE_PMD_ENSO_FALLBACK or 0.
 * @return 0, or -EINVAL (a TX pipe cannot be a fallback), -EBUSY (see above),
 *   -ENOSPC, -ENOMEM, -EIO.
 */
int rte_pmd_enso_pipe_open(struct rte_pmd_enso_nb* nb, enum rte_pmd_enso_pipe_kind kind,
                           uint32_t flags, struct rte_pmd_enso_pipe** pipe);

/** Closes a pipe: unbinds its flows or shrinks the fallback set, waits until no
 * frame in flight can hit it, then disables it. Fallback pipes close in any order. */
void rte_pmd_enso_pipe_close(struct rte_pmd_enso_pipe* pipe);

/**
 * Steers a flow to the pipe. The device stores entries in four sub-tables without
 * eviction; the driver mirrors them and refuses what the table would lose.
 * @return 0, -ENOSPC (all four rows of this flow are taken), -EEXIST (another pipe
 *   holds it), -EINVAL, -EIO.
 */
int rte_pmd_enso_pipe_bind(struct rte_pmd_enso_pipe* pipe, const struct rte_pmd_enso_flow* flow);
int rte_pmd_enso_pipe_unbind(struct rte_pmd_enso_pipe* pipe, const struct rte_pmd_enso_flow* flow);

/** Memory of a pipe, and its size in bytes. Readable to twice the size: the second
 * half is the first one again. */
uint8_t* rte_pmd_enso_pipe_memory(const struct rte_pmd_enso_pipe* pipe);
uint32_t rte_pmd_enso_pipe_bytes(const struct rte_pmd_enso_pipe* pipe);
/** Free for the caller; null at first. */
void rte_pmd_enso_pipe_set_context(struct rte_pmd_enso_pipe* pipe, void* context);
void* rte_pmd_enso_pipe_context(const struct rte_pmd_enso_pipe* pipe);

/**
 * Consumes notifications and returns the pipes that have bytes not yet returned,
 * each once, with everything that is known to have arrived on it, at most
 * `max_bytes` a pipe (0: no limit; rounding never splits off bytes of a reported
 * notification unless the limit forces it, and a limited span may end inside a
 * frame; the rest is returned by the next poll). Also reaps transmit completions.
 * Bytes stay the caller's until released, or until a transmission of them ends.
 * Hostile notifications (pipe id or tail out of range) are counted, not obeyed.
 * @return number of spans, ≤ max.
 */
uint16_t rte_pmd_enso_poll(struct rte_pmd_enso_nb* nb, struct rte_pmd_enso_span* spans,
                           uint16_t max, uint32_t max_bytes);

/**
 * Gives the oldest `bytes` of an RX pipe that poll returned back to the NIC (one
 * register store; on an RXTX pipe it takes effect behind earlier sends).
 */
void rte_pmd_enso_release(struct rte_pmd_enso_pipe* pipe, uint32_t bytes);

/** Asks for one more notification if data is pending (notification prefetch); nothing
 * on a TX pipe. */
void rte_pmd_enso_prefetch(struct rte_pmd_enso_pipe* pipe);

/**
 * Transmits `bytes` at `data`, which lie in the memory of `pipe` (TX or RXTX) and
 * hold whole IPv4 frames, each starting on a flit. All slots are published by one
 * tail store. On an RXTX pipe the next `release_bytes` of the receive side, which
 * include the sent ones, are given back to the NIC when the transmission is
 * complete; on a TX pipe pass 0. `bytes` 0 is allowed with a release.
 * @return 0, -EAGAIN (no free slot: poll and try again), -EINVAL (alignment or range).
 */
int rte_pmd_enso_send(struct rte_pmd_enso_pipe* pipe, const uint8_t* data, uint32_t bytes,
                      uint32_t release_bytes);

/** Makes sends and releases visible to the NIC: one store of tx_tail for the NB,
 * one of rx_head for each pipe that changed. Poll does it too. */
void rte_pmd_enso_flush(struct rte_pmd_enso_nb* nb);

/** Free bytes of a TX pipe, all of them contiguous from `*data`. */
uint32_t rte_pmd_enso_tx_room(struct rte_pmd_enso_pipe* pipe, uint8_t** data);

/** Bytes sent on this NB whose transmission is not complete. */
uint32_t rte_pmd_enso_tx_pending(const struct rte_pmd_enso_nb* nb);

/** False if the device stopped answering; every call is then harmless. */
bool rte_pmd_enso_link_up(const struct rte_pmd_enso_nb* nb);

/** Device-wide settings (paper: EnableTimeStamping, EnableRateLimiting, …). Applied
 * through configuration notifications; return 0, -ENODEV (not a net_enso port), -EINVAL,
 * -ENOSPC or -ENOMEM (the first call opens a notification buffer of the driver's own, if
 * no other was opened before), -EIO. In force for what is sent, or arrives, after the
 * return. The NIC obeys ahead of transmissions that are not complete, so these may go out
 * either way: who needs a clear cut waits until rte_pmd_enso_tx_pending is 0 on every NB
 * before the call.
 * Round robin steps (x + 1) & mask in every 5 ns cycle of the NIC, the mask being the
 * largest power of two ≤ the fallback pipes, less one: further pipes get nothing. */
int rte_pmd_enso_set_timestamp(uint16_t port_id, bool enable, uint8_t offset);
int rte_pmd_enso_set_rate_limit(uint16_t port_id, bool enable, uint16_t numerator,
                                uint16_t denominator);
int rte_pmd_enso_set_round_robin(uint16_t port_id, bool enable);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* RTE_PMD_ENSO_H */
