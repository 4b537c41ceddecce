/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Native API of net_ipu: functions beyond ethdev.
 *
 * Links of regions (bilateral). Host and NIC swap ownership of regions of memory: the host
 * gives a region of frames to send and gets, in the same swap, a region of received
 * frames. The number of regions is constant, every region has exactly one owner at any time,
 * and no memory is allocated per frame. A link replaces the rings of the queue pair with the
 * same number; RSS and rte_flow steer to it as they do to queues.
 *
 * Endpoints (coherent). Frames are exchanged in pairs of cache lines. The host's load of one
 * line waits until the device answers it with frames. The host's next load, from the other
 * line, returns the host's answers. An endpoint also replaces the rings of a queue pair.
 *
 * Window. Pairs of 64-byte lines between host and NIC, for custom protocols: swaps of small
 * state, one-way queues. Capability bits describe its carrier.
 */
#ifndef RTE_PMD_IPU_H
#define RTE_PMD_IPU_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Returns true if net_ipu drives the port. This includes ports that wrap another port. May be
 * called by any thread. */
bool rte_pmd_ipu_supported(uint16_t port_id);

/**
 * Configures the transport unit of a model NIC, which ends TCP connections in the NIC
 * (docs/transport.md). Control path; reads registers.
 * @param configuration A struct of lib/regs/transport.h in memory of DPDK, which the unit reads
 *   during the call; null ends the unit's work. Both reset all connections.
 * @return 0; -ENOTSUP: the NIC has no transport unit, as all hardware; -EINVAL: the unit rejects
 *   the configuration; -EIO: the device does not respond.
 */
int rte_pmd_ipu_transport(uint16_t port_id, const void* configuration);
/**
 * Returns whether the transport unit works: 1, or 0 if it has no configuration, for example because
 * the device lost its power; or a negative errno as above. Control path; reads a register.
 */
int rte_pmd_ipu_transport_active(uint16_t port_id);

/* ------------------------------------------------------------------ links */

struct rte_pmd_ipu_link;

/** Sizes of a link; 0 selects the default. */
struct rte_pmd_ipu_link_conf {
  uint32_t regions;        /**< 3 to 64; default 8. */
  uint32_t region_bytes;   /**< Multiple of 4096 up to 262144, which is the default. */
  uint32_t max_frames;     /**< Maximum frames per region, a multiple of 16; default 512. */
  uint32_t headroom_bytes; /**< Bytes before each received frame: 0, 64, 128, 192 or 256. */
  uint32_t suspect_us; /**< Time without progress after which the link is suspect; default 10000. */
};

/** The region that the host owns. */
struct rte_pmd_ipu_region {
  uint8_t* base;     /**< First byte; entry offsets are relative to it. */
  uint32_t* entries; /**< One per frame: offset in bits 0..17, length in bits 18..31; length 0 means
                        no frame. */
  uint32_t received; /**< Entries that the NIC filled. Untrusted: validate each. */
  uint32_t capacity; /**< Maximum number of entries. */
  uint32_t data;     /**< Offset of the first byte after the entries. */
  uint32_t bytes;    /**< Size of the region. */
};

/** Counters of a link since it was opened. The port's extended statistics link_* contain the
 * sums over all open and closed links and the frames lost by closing links. */
struct rte_pmd_ipu_link_stats {
  uint64_t swaps;    /**< Committed swaps. */
  uint64_t rejected; /**< Offers returned after a cancel. */
  uint64_t too_late; /**< Cancels that arrived after the swap was committed. */
  uint64_t suspects; /**< Periods of suspect_us without progress. */
  uint64_t resets;   /**< Power-ons of the NIC. */
  uint64_t in_doubt; /**< Swaps unresolved at a reset or restart and resolved later. At most one at
                        a time. */
  uint64_t discarded_pkts; /**< Frames in a region that an earlier process owned when it died. */
  uint64_t faults;         /**< Protocol violations by the NIC; the link then stops. */
};

/**
 * Opens link `queue` of a net_ipu port. The queue pair's rings must not be in use and
 * cannot be started until the link is closed. A port that has only links needs no
 * configuration: without a queue in ethdev's configuration it receives promiscuously every
 * frame of up to 9728 bytes (or the region's capacity), RSS spreads IPv4 and IPv6, TCP and
 * UDP over all open links, and the basic statistics are the device's. On a configured port,
 * a link has the role of its queue in ethdev's configuration. Traffic flows after a
 * subsequent call of rte_eth_dev_set_link_up() and until the last link is closed.
 *
 * If the NIC runs in another process, it keeps the memory of a link that a process did not
 * close before it ended. The link then resumes where that process stopped if the sizes are
 * equal; otherwise that memory is released. Control path, one thread at a time per port.
 * @param conf null selects the defaults.
 * @return 0; -ENOTSUP: not a net_ipu port, or one around another port; -EINVAL: invalid
 *   size or queue; -EBUSY: open already, or rings in use; -ENOMEM; -EIO: the device rejects
 *   the link or is gone.
 */
int rte_pmd_ipu_link_open(uint16_t port_id, uint16_t queue,
                          const struct rte_pmd_ipu_link_conf* conf, struct rte_pmd_ipu_link** link);
/**
 * Reclaims the region, waits up to 0.5 s until the device has sent the frames given to it,
 * stops the link and frees it. No thread may use it afterwards. Null has no effect. Frames
 * that the application did not fetch are lost and counted. rte_eth_dev_close() closes every
 * open link, which invalidates its pointer. Control path, like open.
 */
void rte_pmd_ipu_link_close(struct rte_pmd_ipu_link* link);

/* The following functions may be called by one thread per link. */

/**
 * Describes in `region` the region that the host owns. Returns false while the host owns none.
 * After the link is opened, the host owns an empty region (received == 0), unless a swap by
 * an earlier process is still pending.
 */
bool rte_pmd_ipu_link_region(struct rte_pmd_ipu_link* link, struct rte_pmd_ipu_region* region);
/**
 * Gives the owned region to the NIC, which sends the frames of the region's first `frames`
 * entries (at most `capacity`) in order; the frames may be anywhere in the region. If
 * `wait_for_frames` is set, the NIC swaps once it has received frames; otherwise, it swaps
 * as soon as possible. The host must own the region before the call, and must not access it
 * afterwards until poll returns a region.
 */
void rte_pmd_ipu_link_give(struct rte_pmd_ipu_link* link, uint32_t frames, bool wait_for_frames);
/**
 * Polls for the answer to the last give, with one load if it has not arrived. Returns true if
 * the host owns a region again, which is stored in `region`. Also restores the link and the
 * port after a power-on of the device, without waiting for it. `now_cycles` is the TSC.
 */
bool rte_pmd_ipu_link_poll(struct rte_pmd_ipu_link* link, uint64_t now_cycles,
                           struct rte_pmd_ipu_region* region);
/** Requests the region back; poll returns the outcome. Returns false if the host owns a region. */
bool rte_pmd_ipu_link_cancel(struct rte_pmd_ipu_link* link);

/** Returns false while the device is gone or the wire has no carrier, and after a fault. May be
 * called by any thread, but only on the control path, because it may query a device in another
 * process. */
bool rte_pmd_ipu_link_up(const struct rte_pmd_ipu_link* link);
/** Returns recent values. May be called by any thread. */
void rte_pmd_ipu_link_stats_get(const struct rte_pmd_ipu_link* link,
                                struct rte_pmd_ipu_link_stats* stats);

/* --------------------------------------------------------------- endpoint */

/** A queue's endpoint: a pair of control lines with overflow lines for received frames and their
 * answers, and another pair for frames that the host originates. */
struct rte_pmd_ipu_endpoint;

/** Minimum and maximum frame length of an endpoint in bytes without FCS. */
#define RTE_PMD_IPU_ENDPOINT_MIN_FRAME 14
#define RTE_PMD_IPU_ENDPOINT_MAX_FRAME 9728
/** Maximum number of frames in a line. */
#define RTE_PMD_IPU_ENDPOINT_MAX_FRAMES 127

/** Sizes of an endpoint; 0 selects the default. */
struct rte_pmd_ipu_endpoint_conf {
  /** Lines of 128 bytes after each control line; default 512, at most 1024. The longest frame must
   * fit with its headroom, so at least 76. */
  uint32_t overflow_lines;
  uint32_t headroom_bytes; /**< Bytes before each received frame: 0, 64, 128, 192 or 256. */
};

/** A frame in a line. The host owns it until it answers the frame. */
struct rte_pmd_ipu_line_frame {
  uint8_t* data;     /**< First byte of the Ethernet header. */
  uint32_t length;   /**< Bytes without FCS; validated by the driver. */
  uint32_t headroom; /**< Writable bytes before data. */
  uint32_t tailroom; /**< Writable bytes after data + length. */
};

/** Counters of an endpoint since it was opened. The port's extended statistics line_* contain the
 * sums over all open and closed endpoints and the frames lost by closing endpoints. */
struct rte_pmd_ipu_endpoint_stats {
  uint64_t requests;  /**< Loads answered with frames. */
  uint64_t tryagains; /**< Loads answered with TRYAGAIN. */
  uint64_t grants;    /**< Lines that the device provided for frames to send. */
  uint64_t resets;    /**< Power-ons of the NIC. */
  uint64_t faults;    /**< 1 after the device violated the protocol or closed the endpoint, which is
                         then down. */
};

/**
 * Opens the endpoint of `queue`. The rules of rte_pmd_ipu_link_open for a port without
 * configuration, for rings and for traffic also apply to an endpoint. Its memory is freed when
 * this process ends.
 * @param conf null selects the defaults.
 * @return 0; -ENOTSUP: not a net_ipu port, or one around another port, or the device has no
 *   endpoints; -EINVAL: invalid size or queue; -EBUSY: open already, a link is open, or rings are
 *   in use; -ENOMEM; -EIO: the device rejects the endpoint or is gone.
 */
int rte_pmd_ipu_endpoint_open(uint16_t port_id, uint16_t queue,
                              const struct rte_pmd_ipu_endpoint_conf* conf,
                              struct rte_pmd_ipu_endpoint** endpoint);
/**
 * Waits up to 0.5 s until the device has read the frames given to it, unless the endpoint was
 * withdrawn, stops the endpoint and frees it. No thread may use it afterwards. Null has no effect.
 * Frames that the application did not read are lost and counted. rte_eth_dev_close() closes every
 * open endpoint. Control path, like open.
 */
void rte_pmd_ipu_endpoint_close(struct rte_pmd_ipu_endpoint* endpoint);

/* The following functions may be called by one thread per endpoint. */

/**
 * Polls once for the answer to the outstanding load; issues a load if none is outstanding. Returns
 * the number of frames in the answer, at most RTE_PMD_IPU_ENDPOINT_MAX_FRAMES, and stores them in
 * order of arrival. The host owns the frames until it answers them; the frames of the previous wait
 * must have been answered. After TRYAGAIN the other line is loaded. Also restores the endpoint and
 * the port after a power-on of the device, without waiting for it.
 */
uint32_t rte_pmd_ipu_endpoint_wait(struct rte_pmd_ipu_endpoint* endpoint,
                                   struct rte_pmd_ipu_line_frame* frames);
/**
 * Answers all `count` frames of the last wait and loads the other line. `data` and `length` of
 * each describe the frame to forward, within the received frame's room; length 0 drops it. A null
 * `frames` forwards all frames unchanged, which is cheaper.
 */
void rte_pmd_ipu_endpoint_answer(struct rte_pmd_ipu_endpoint* endpoint,
                                 const struct rte_pmd_ipu_line_frame* frames, uint32_t count);
/** Returns space after all frames of the line for an answer of `length` bytes that does not fit
 * into its frame's room, or null if the line is full. Must be called before answer. */
uint8_t* rte_pmd_ipu_endpoint_grown_room(struct rte_pmd_ipu_endpoint* endpoint, uint32_t length);
/** Reserves `length` bytes that were written to rte_pmd_ipu_endpoint_grown_room; `data` and
 * `length` of the frame must describe them. The answer is forwarded in the order of its frame. */
void rte_pmd_ipu_endpoint_take_grown(struct rte_pmd_ipu_endpoint* endpoint, uint32_t length);
/** Returns the address for the next frame to send, of `length` bytes, or null if the line is full
 * or the device owns it. */
uint8_t* rte_pmd_ipu_endpoint_room(struct rte_pmd_ipu_endpoint* endpoint, uint32_t length);
/** Queues the frame that was written to that address for the next flush. */
void rte_pmd_ipu_endpoint_send(struct rte_pmd_ipu_endpoint* endpoint, uint32_t length);
/** Hands over the queued frames by loading the other line. */
void rte_pmd_ipu_endpoint_flush(struct rte_pmd_ipu_endpoint* endpoint);
/** Stores in `frames` and `bytes` the totals of the answered or sent frames that the device may not
 * have read from the lines yet. */
void rte_pmd_ipu_endpoint_outstanding(struct rte_pmd_ipu_endpoint* endpoint, uint64_t* frames,
                                      uint64_t* bytes);
/** Ends the device's access to the lines; outstanding frames stay outstanding. Afterwards, only
 * outstanding, memory and close may be called. */
void rte_pmd_ipu_endpoint_withdraw(struct rte_pmd_ipu_endpoint* endpoint);
/** Returns the memory of all lines, and stores its size in `bytes`. */
const uint8_t* rte_pmd_ipu_endpoint_memory(const struct rte_pmd_ipu_endpoint* endpoint,
                                           uint64_t* bytes);

/** See rte_pmd_ipu_link_up. */
bool rte_pmd_ipu_endpoint_up(const struct rte_pmd_ipu_endpoint* endpoint);
/** Returns recent values. May be called by any thread. */
void rte_pmd_ipu_endpoint_stats_get(const struct rte_pmd_ipu_endpoint* endpoint,
                                    struct rte_pmd_ipu_endpoint_stats* stats);

/* ----------------------------------------------------------------- window */

/** Capability bits of a window. A protocol must check for the bits that it requires: swaps need
 * LINE_ATOMIC and NIC_STORES_HOST; Wave's queues need WC and WT (and INTERRUPT). */
#define RTE_PMD_IPU_CAP_WC (1u << 0)              /**< A posted line is sent as one write. */
#define RTE_PMD_IPU_CAP_WT (1u << 1)              /**< Reads may be cached until flushed. */
#define RTE_PMD_IPU_CAP_LINE_ATOMIC (1u << 2)     /**< A line is written atomically. */
#define RTE_PMD_IPU_CAP_NIC_STORES_HOST (1u << 3) /**< NIC lines are in host memory. */
#define RTE_PMD_IPU_CAP_INTERRUPT (1u << 4)       /**< interrupt() wakes the other side. */
#define RTE_PMD_IPU_CAP_COHERENT (1u << 5)        /**< Both sides share coherent memory. */
#define RTE_PMD_IPU_CAP_STALLED_LOAD (1u << 6)    /**< The device may delay the answer to a load. */
#define RTE_PMD_IPU_CAP_MODELLED (1u << 7)        /**< The carrier is a model. */

enum rte_pmd_ipu_backend {
  RTE_PMD_IPU_SHM,     /**< Memory shared by two lcores or two processes. A model. */
  RTE_PMD_IPU_BAR,     /**< A PCI device's BAR. */
  RTE_PMD_IPU_VIRTUAL, /**< A calibrated PCIe model in virtual time, in this process. */
};

struct rte_pmd_ipu_window;

struct rte_pmd_ipu_window_conf {
  enum rte_pmd_ipu_backend backend;
  uint32_t lines;  /**< Pairs of lines, 1 to 4096. */
  bool nic_side;   /**< Opens the NIC's end; SHM and VIRTUAL only. */
  int fd;          /**< SHM: a window created by another process, or -1. The caller owns it. */
  const char* bar; /**< BAR: the file to map (a sysfs resourceN or resourceN_wc). */
  uint64_t offset; /**< BAR: offset of the window's first byte. */
};

/**
 * Opens one end of a port's window. The first end of SHM and VIRTUAL creates the window; the
 * second finds it by port and backend and must have the same number of lines. The port need
 * not be configured and need not outlive the window. VIRTUAL: host lines are written
 * atomically, NIC lines are pushed to host memory; both ends belong to one thread, and
 * virtual time advances with every access. BAR: this end is the host's; NIC lines follow the
 * host's in the BAR; every line has a CRC. Control path.
 * @return 0; -ENOTSUP: not a net_ipu port, or this end cannot be opened here; -EINVAL;
 *   -EBUSY: that end is open; -ENOMEM; otherwise the error of opening the BAR.
 */
int rte_pmd_ipu_window_open(uint16_t port_id, const struct rte_pmd_ipu_window_conf* conf,
                            struct rte_pmd_ipu_window** window);
void rte_pmd_ipu_window_close(struct rte_pmd_ipu_window* window);
uint32_t rte_pmd_ipu_window_capabilities(const struct rte_pmd_ipu_window* window);
/** SHM: returns the memory's file descriptor, for another process; the window owns it. Otherwise
 * returns -1. */
int rte_pmd_ipu_window_fd(const struct rte_pmd_ipu_window* window);

/* Only one thread may use a line in each direction. `line` must be less than conf.lines. A line is
 * 8 words, 64-byte aligned; bits 32..63 of word 7 are reserved for the window. */

/** Writes this end's line. Word 0 is written last. */
void rte_pmd_ipu_window_post(struct rte_pmd_ipu_window* window, uint32_t line,
                             const uint64_t words[8]);
/** Returns word 0 of the peer's line; all ones if the link is dead. */
uint64_t rte_pmd_ipu_window_peek(struct rte_pmd_ipu_window* window, uint32_t line);
/** Reads the peer's line. Returns false if it is torn or the link is dead; the caller may retry. */
bool rte_pmd_ipu_window_poll(struct rte_pmd_ipu_window* window, uint32_t line, uint64_t words[8]);
/** Reads one word uncached: blocks for a round trip and flushes posted lines. */
uint64_t rte_pmd_ipu_window_read(struct rte_pmd_ipu_window* window, uint32_t line, uint32_t word);
/** Sends posted lines and discards cached ones. */
void rte_pmd_ipu_window_flush(struct rte_pmd_ipu_window* window);
/** Wakes the peer; no effect without CAP_INTERRUPT. */
void rte_pmd_ipu_window_interrupt(struct rte_pmd_ipu_window* window, uint32_t vector);

enum rte_pmd_ipu_operation {
  RTE_PMD_IPU_OP_POST,
  RTE_PMD_IPU_OP_PEEK,
  RTE_PMD_IPU_OP_POLL,
  RTE_PMD_IPU_OP_READ,
  RTE_PMD_IPU_OP_FLUSH,
  RTE_PMD_IPU_OP_INTERRUPT,
};

/** One operation of this end, with the bytes that it transfers over PCIe on hardware with
 * the same placement of the window (including TLP headers and framing). */
struct rte_pmd_ipu_trace_entry {
  enum rte_pmd_ipu_operation operation;
  uint32_t line;
  uint32_t bytes_down; /**< Host to NIC. */
  uint32_t bytes_up;   /**< NIC to host. */
  uint64_t time_ps;    /**< VIRTUAL: virtual time in picoseconds; otherwise 0. */
};
/**
 * Starts to record this end's operations into `entries`, a ring of `capacity` entries: the
 * i-th operation after the call, counted from 0, is stored at i % capacity. Null stops the
 * recording. The caller keeps ownership of the array. trace_count returns the total
 * number of operations recorded by all calls. Must be called by the end's thread.
 */
void rte_pmd_ipu_window_trace(struct rte_pmd_ipu_window* window,
                              struct rte_pmd_ipu_trace_entry* entries, uint32_t capacity);
uint64_t rte_pmd_ipu_window_trace_count(const struct rte_pmd_ipu_window* window);

#ifdef __cplusplus
}
#endif

#endif /* RTE_PMD_IPU_H */
