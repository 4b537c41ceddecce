/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Native API of net_enso: Ensō pipes without mbufs. A notification buffer (NB)
 * belongs to one thread; pipes report to the NB on which they were opened. Only
 * that thread may make datapath calls on an NB and its pipes. Open, close and bind
 * are control-path calls: only one thread at a time may make them, and only while
 * the NB's thread does not poll.
 *
 * The ethdev port (rte_eth_rx_burst, …) and fallback pipes share the device's
 * fallback table. While the port is started, the ethdev owns the table, and opening
 * a fallback pipe fails with -EBUSY. While native fallback pipes exist,
 * rte_eth_dev_start fails with -EBUSY.
 *
 * The wire of a model NIC is initially off; rte_eth_dev_start enables it. With
 * native fallback pipes the port is not started: the user calls
 * rte_eth_dev_set_link_up(port) after opening and binding the pipes; no frame
 * arrives before this call. rte_eth_dev_set_link_down(port) stops reception from
 * the wire; earlier frames stay in the pipes, and transmission continues. To avoid
 * losing frames, stop the wire, poll until all frames have been read, then close
 * pipes and NBs. A link that was set down stays down, across stop and start, until
 * it is set up. Both calls are control-path calls, may be repeated, and return
 * when they have taken effect. On hardware they return -ENOTSUP, because the wire
 * is always on.
 *
 * The NIC does not filter by destination address: rte_eth_promiscuous_disable(port)
 * and rte_eth_allmulticast_disable(port) return -ENOTSUP.
 */
#ifndef RTE_PMD_ENSO_H
#define RTE_PMD_ENSO_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rte_pmd_enso_nb;
struct rte_pmd_enso_pipe;

/* Placed after the opaque structures, so that their methods in the driver are not exported. */
#pragma GCC visibility push(default)

/** Unit of all lengths on a pipe; frames begin on a flit boundary. */
#define RTE_PMD_ENSO_FLIT_BYTES 64

/** Direction of a pipe. */
enum rte_pmd_enso_pipe_kind {
  RTE_PMD_ENSO_RX,   /**< Receive only. */
  RTE_PMD_ENSO_TX,   /**< Transmit only: frames are composed in the pipe's memory. */
  RTE_PMD_ENSO_RXTX, /**< Receive and transmit in place, from the same memory. */
};

/** Opens a fallback pipe, which gets a share of the frames that match no flow entry. */
#define RTE_PMD_ENSO_FALLBACK (1u << 0)

/** Flow to bind to a pipe (Bind in the Ensō paper); integers in host order. All fields must match.
 * UDP flows and TCP SYN segments match only on the destination, because the hardware masks the
 * other fields. */
struct rte_pmd_enso_flow {
  uint32_t dst_ip;
  uint32_t src_ip;
  uint16_t dst_port;
  uint16_t src_port;
  uint8_t protocol; /**< IPPROTO_TCP, IPPROTO_UDP or another. */
};

/** Bytes that arrived on one pipe; contiguous even across the end of the ring. */
struct rte_pmd_enso_span {
  struct rte_pmd_enso_pipe* pipe;
  uint8_t* data;
  /** Multiple of RTE_PMD_ENSO_FLIT_BYTES, > 0. Ends on a frame boundary unless max_bytes limited
   * the span. */
  uint32_t bytes;
};

/** Returns true if net_enso drives the port. May be called by any thread. */
bool rte_pmd_enso_supported(uint16_t port_id);

/**
 * Configures the transport unit of a model NIC, which ends TCP connections in the NIC
 * (docs/transport.md). Control path; reads registers.
 * @param configuration A struct of lib/regs/transport.h in memory of DPDK, which the unit reads
 *   during the call; null ends the unit's work. Both reset all connections.
 * @return 0; -ENOTSUP: the NIC has no transport unit, as all hardware; -EINVAL: the unit rejects
 *   the configuration; -EIO: the device does not respond; -ENODEV: not a net_enso port.
 */
int rte_pmd_enso_transport(uint16_t port_id, const void* configuration);
/**
 * Returns whether the transport unit works: 1, or 0 if it has no configuration, for example because
 * the device lost its power; or a negative errno as above. Control path; reads a register.
 */
int rte_pmd_enso_transport_active(uint16_t port_id);

/**
 * Opens a notification buffer on a probed port.
 * @return 0, or -ENODEV (not a net_enso port), -ENOSPC (all are in use), -ENOMEM,
 *   -EIO (the device does not respond, or it lost its power after other buffers were
 *   opened, which must be closed first).
 */
int rte_pmd_enso_nb_open(uint16_t port_id, struct rte_pmd_enso_nb** nb);

/** Closes an NB after waiting, for a bounded time, for its transmissions. Its pipes must
 * already be closed. */
void rte_pmd_enso_nb_close(struct rte_pmd_enso_nb* nb);

/**
 * Opens a pipe on `nb`. `flags` is RTE_PMD_ENSO_FALLBACK or 0.
 * @return 0, or -EINVAL (a TX pipe cannot be a fallback), -EBUSY (see above),
 *   -ENOSPC, -ENOMEM, -EIO.
 */
int rte_pmd_enso_pipe_open(struct rte_pmd_enso_nb* nb, enum rte_pmd_enso_pipe_kind kind,
                           uint32_t flags, struct rte_pmd_enso_pipe** pipe);

/** Closes a pipe: unbinds its flows or shrinks the fallback set, waits until no frame in
 * flight can reach it, then disables it. Fallback pipes may be closed in any order. */
void rte_pmd_enso_pipe_close(struct rte_pmd_enso_pipe* pipe);

/**
 * Steers a flow to the pipe. The device stores entries in four sub-tables without
 * eviction; the driver mirrors them and rejects an entry that the device would lose.
 * @return 0, -ENOSPC (all four rows for this flow are in use), -EEXIST (the flow is bound
 *   to another pipe), -EINVAL, -EIO.
 */
int rte_pmd_enso_pipe_bind(struct rte_pmd_enso_pipe* pipe, const struct rte_pmd_enso_flow* flow);
int rte_pmd_enso_pipe_unbind(struct rte_pmd_enso_pipe* pipe, const struct rte_pmd_enso_flow* flow);

/** Return the memory of a pipe and its size in bytes. The memory is mapped twice in
 * succession, so that twice the size can be read. */
uint8_t* rte_pmd_enso_pipe_memory(const struct rte_pmd_enso_pipe* pipe);
uint32_t rte_pmd_enso_pipe_bytes(const struct rte_pmd_enso_pipe* pipe);
/** Set and return a pointer for use by the caller; initially null. */
void rte_pmd_enso_pipe_set_context(struct rte_pmd_enso_pipe* pipe, void* context);
void* rte_pmd_enso_pipe_context(const struct rte_pmd_enso_pipe* pipe);

/**
 * Consumes notifications and returns one span for each pipe with bytes that were not
 * returned yet. A span contains all bytes known to have arrived, but at most
 * `max_bytes` (0 means no limit). Bytes of a notification are split only if the limit
 * requires it. A limited span may end inside a frame; the next poll returns the rest.
 * Also reaps transmit completions. The caller owns the bytes until it releases them or
 * until their transmission is complete. Invalid notifications (pipe id or tail out of
 * range) are counted and ignored.
 * @return number of spans, ≤ max.
 */
uint16_t rte_pmd_enso_poll(struct rte_pmd_enso_nb* nb, struct rte_pmd_enso_span* spans,
                           uint16_t max, uint32_t max_bytes);

/**
 * Releases the oldest `bytes` that poll returned. On an RX pipe the next flush or poll
 * returns them to the NIC with one register store. On an RXTX pipe the driver returns
 * them after all earlier sends.
 */
void rte_pmd_enso_release(struct rte_pmd_enso_pipe* pipe, uint32_t bytes);

/** Requests one more notification if data is pending (notification prefetch). No effect
 * on a TX pipe. */
void rte_pmd_enso_prefetch(struct rte_pmd_enso_pipe* pipe);

/**
 * Transmits `bytes` at `data`, which must be in the memory of `pipe` (TX or RXTX) and
 * contain whole IPv4 frames, each starting on a flit. One tail store publishes all
 * slots. On an RXTX pipe the next `release_bytes` of the receive side, which include
 * the sent ones, are given back to the NIC when the transmission is complete. On a TX
 * pipe `release_bytes` must be 0. `bytes` may be 0 if `release_bytes` is not.
 * @return 0, -EAGAIN (no free slot: poll and try again), -EINVAL (alignment or range).
 */
int rte_pmd_enso_send(struct rte_pmd_enso_pipe* pipe, const uint8_t* data, uint32_t bytes,
                      uint32_t release_bytes);

/** Makes sends and releases visible to the NIC: one store of tx_tail for the NB and
 * one of rx_head for each changed pipe. Poll also does this. */
void rte_pmd_enso_flush(struct rte_pmd_enso_nb* nb);

/** Returns the free bytes of a TX pipe, which are contiguous from `*data`. */
uint32_t rte_pmd_enso_tx_room(struct rte_pmd_enso_pipe* pipe, uint8_t** data);

/** Returns the bytes sent on this NB whose transmission is not complete. */
uint32_t rte_pmd_enso_tx_pending(const struct rte_pmd_enso_nb* nb);

/** Returns false if the device has stopped responding; calls then have no effect. */
bool rte_pmd_enso_link_up(const struct rte_pmd_enso_nb* nb);

/** Device-wide settings (EnableTimeStamping, EnableRateLimiting, … in the Ensō paper), applied
 * through configuration notifications. Return 0, -ENODEV (not a net_enso port), -EINVAL,
 * -ENOSPC or -ENOMEM (the first call opens an internal notification buffer if no other
 * was opened before), or -EIO. A setting applies to frames that are sent or arrive
 * after the call has returned. Transmissions that are incomplete at that time may use
 * the old or the new setting; to avoid that, wait until
 * rte_pmd_enso_tx_pending is 0 on every NB before the call.
 * Round robin steps (x + 1) & mask in every 5 ns cycle of the NIC. The mask is the
 * largest power of two ≤ the number of fallback pipes, minus one; further pipes get no
 * frames. */
int rte_pmd_enso_set_timestamp(uint16_t port_id, bool enable, uint8_t offset);
int rte_pmd_enso_set_rate_limit(uint16_t port_id, bool enable, uint16_t numerator,
                                uint16_t denominator);
int rte_pmd_enso_set_round_robin(uint16_t port_id, bool enable);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* RTE_PMD_ENSO_H */
