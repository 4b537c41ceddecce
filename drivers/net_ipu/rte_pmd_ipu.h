/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Native face of net_ipu: what an application can ask beyond ethdev.
 *
 * Links of regions (bilateral). Host and NIC swap ownership of regions of memory: the host
 * gives a region of frames to send and gets, in the same swap, a region of received
 * frames. The number of regions never changes, every region has one owner at every
 * instant, and nothing is allocated per frame. A link takes the place of the rings of the
 * queue pair of the same number; RSS and rte_flow steer to it as they do to queues.
 *
 * Endpoints (coherent). Frames are handed over in cache lines: a load waits until the device
 * answers it with a line that holds frames, and the next load, of the other line, hands back what
 * they became. An endpoint takes the place of a queue pair's rings, too.
 *
 * Window. Pairs of 64-byte lines between host and NIC, for protocols of one's own: swaps
 * of small state, one-way queues. Capability bits say what its carrier can do.
 */
#ifndef RTE_PMD_IPU_H
#define RTE_PMD_IPU_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** True if the port is driven by net_ipu, on its model or around another port. Any thread. */
bool rte_pmd_ipu_supported(uint16_t port_id);

/* ------------------------------------------------------------------ links */

struct rte_pmd_ipu_link;

/** Sizes of a link; 0 stands for the default. */
struct rte_pmd_ipu_link_conf {
  uint32_t regions;        /**< 3 to 64; default 8. */
  uint32_t region_bytes;   /**< Multiple of 4096 up to 262144; the default. */
  uint32_t max_frames;     /**< Frames of a region, a multiple of 16; default 512. */
  uint32_t headroom_bytes; /**< Before each received frame: 0, 64, 128, 192 or 256. */
  uint32_t suspect_us; /**< Without progress for this long the link is suspect; default 10000. */
};

/** The region that the host owns and works in. */
struct rte_pmd_ipu_region {
  uint8_t* base; /**< First byte; entries count offsets from here. */
  uint32_t*
      entries; /**< One per frame: offset in bits 0..17, length in bits 18..31; length 0: none. */
  uint32_t received; /**< Entries that the NIC filled. Untrusted: check each. */
  uint32_t capacity; /**< Entries that there is room for. */
  uint32_t data;     /**< Offset of the first byte behind the entries. */
  uint32_t bytes;    /**< Size of the region. */
};

/** What happened on a link since it was opened. Sums over all links that a port ever had
 * are among its extended statistics, as link_*, with the frames that closing them lost. */
struct rte_pmd_ipu_link_stats {
  uint64_t swaps;    /**< Committed. */
  uint64_t rejected; /**< Offers that came back after a cancel. */
  uint64_t too_late; /**< Cancels that found the swap committed. */
  uint64_t suspects; /**< Times without progress for suspect_us. */
  uint64_t resets;   /**< Times that the NIC came back from power-on. */
  uint64_t in_doubt; /**< Swaps unresolved at a reset or restart; resolved after. At most one at a
                        time. */
  uint64_t discarded_pkts; /**< Frames of a region in which an earlier process died. */
  uint64_t faults;         /**< The NIC broke the protocol; the link stopped. */
};

/**
 * Opens link `queue` of a net_ipu port; the queue pair's rings must not be in use, and
 * cannot be started until it is closed. The port needs no configuration for links alone:
 * without a queue in ethdev's configuration, it receives every frame of up to 9728 bytes
 * (or what fits a region) promiscuously, RSS spreads IPv4 and IPv6, TCP and UDP over
 * all open links, and the basic statistics are the device's. Beside rings, a link takes
 * the part of its queue in what ethdev configured. Traffic flows once
 * rte_eth_dev_set_link_up() is called after this, and until the last link is closed. If
 * the NIC runs in another process and still holds the memory of this link, opened by a
 * process that ended without closing it, the link goes on where that process stopped, if
 * the sizes are the same; else that memory is given up. Control path, one thread at a
 * time per port.
 * @param conf null: defaults.
 * @return 0; -ENOTSUP: not a net_ipu port with a device of its own; -EINVAL: sizes, or no
 *   such queue; -EBUSY: open already, or rings in use; -ENOMEM; -EIO: the device refuses
 *   or is gone.
 */
int rte_pmd_ipu_link_open(uint16_t port_id, uint16_t queue,
                          const struct rte_pmd_ipu_link_conf* conf, struct rte_pmd_ipu_link** link);
/**
 * Takes the region back, waits (up to 0.5 s) until the device has sent what it was given,
 * stops the link and frees it. No thread uses it any more. Null: no effect. Frames that
 * the application did not fetch are lost, and counted. rte_eth_dev_close() closes every
 * link that is still open; its pointer is then void. Control path, as open.
 */
void rte_pmd_ipu_link_close(struct rte_pmd_ipu_link* link);

/* The rest is for one thread per link. */

/**
 * The region that the host owns now. False while the NIC has it. After opening the host
 * owns an empty one (received == 0), unless an earlier process's swap is still open.
 */
bool rte_pmd_ipu_link_region(struct rte_pmd_ipu_link* link, struct rte_pmd_ipu_region* region);
/**
 * Gives the owned region away; its first `frames` (at most `capacity`) entries are to be
 * sent, in their order, wherever in the region they are. With `wait_for_frames` the NIC
 * takes it when it has received frames, else as soon as it can. Only while the host owns
 * one; then it must not be touched until poll brings one again.
 */
void rte_pmd_ipu_link_give(struct rte_pmd_ipu_link* link, uint32_t frames, bool wait_for_frames);
/**
 * Looks for the answer to the last give: one load if there is none. True: the host owns a
 * region again, now in `region`. Also restores the link, and the port, after the device came
 * back from power-on, without waiting for it. `now_cycles`: TSC.
 */
bool rte_pmd_ipu_link_poll(struct rte_pmd_ipu_link* link, uint64_t now_cycles,
                           struct rte_pmd_ipu_region* region);
/** Asks for the region back; poll says how that ended. False: the host owns one. */
bool rte_pmd_ipu_link_cancel(struct rte_pmd_ipu_link* link);

/** False while the device is gone, the wire has no carrier, or after a fault. Any thread;
 * control path: a device in another process is asked. */
bool rte_pmd_ipu_link_up(const struct rte_pmd_ipu_link* link);
/** Any thread; values that were true recently. */
void rte_pmd_ipu_link_stats_get(const struct rte_pmd_ipu_link* link,
                                struct rte_pmd_ipu_link_stats* stats);

/* --------------------------------------------------------------- endpoint */

/** A queue's endpoint: a pair of control lines with their overflow lines for what is received and
 * answered, and another pair for what the host sends by itself. */
struct rte_pmd_ipu_endpoint;

/** The shortest and the longest frame that an endpoint takes, bytes without FCS. */
#define RTE_PMD_IPU_ENDPOINT_MIN_FRAME 14
#define RTE_PMD_IPU_ENDPOINT_MAX_FRAME 9728
/** Frames that a line holds at most. */
#define RTE_PMD_IPU_ENDPOINT_MAX_FRAMES 127

/** 0 stands for the default. */
struct rte_pmd_ipu_endpoint_conf {
  uint32_t overflow_lines; /**< Of 128 bytes, behind each control line; default 512, at most 1024,
                            and enough for the longest frame with its headroom: 76 without. */
  uint32_t headroom_bytes; /**< Before each received frame: 0, 64, 128, 192 or 256. */
};

/** A frame in a line, lent to the host until it is answered. */
struct rte_pmd_ipu_line_frame {
  uint8_t* data;     /**< First byte of the Ethernet header. */
  uint32_t length;   /**< Bytes without FCS: sound, whatever the device wrote. */
  uint32_t headroom; /**< Writable bytes before data. */
  uint32_t tailroom; /**< Writable bytes behind data + length. */
};

/** What happened at an endpoint since it was opened. Sums over all that a port ever had are among
 * its extended statistics, as line_*, with the frames that closing lost. */
struct rte_pmd_ipu_endpoint_stats {
  uint64_t requests;  /**< Loads that were answered with frames. */
  uint64_t tryagains; /**< Loads that were answered TRYAGAIN. */
  uint64_t grants;    /**< Lines that the device gave to send frames in. */
  uint64_t resets;    /**< Times that the NIC came back from power-on. */
  uint64_t faults;    /**< 1 once an answer broke the protocol: the endpoint is down. */
};

/**
 * Opens the endpoint of `queue`; what rte_pmd_ipu_link_open says of a port without configuration,
 * of rings and of traffic goes for it as well. Its memory ends with this process.
 * @param conf null: defaults.
 * @return 0; -ENOTSUP: not a net_ipu port with a device of its own, or one whose device offers no
 *   endpoints; -EINVAL: sizes, or no such queue; -EBUSY: open already, a link, or rings in use;
 *   -ENOMEM; -EIO: the device refuses or is gone.
 */
int rte_pmd_ipu_endpoint_open(uint16_t port_id, uint16_t queue,
                              const struct rte_pmd_ipu_endpoint_conf* conf,
                              struct rte_pmd_ipu_endpoint** endpoint);
/**
 * Waits (up to 0.5 s) until the device has taken out what it was given, unless it was withdrawn,
 * stops the endpoint and frees it. No thread uses it any more. Null: no effect. Frames that the
 * application did not look at are lost, and counted. rte_eth_dev_close() closes every endpoint
 * that is still open. Control path, as open.
 */
void rte_pmd_ipu_endpoint_close(struct rte_pmd_ipu_endpoint* endpoint);

/* The rest is for one thread per endpoint. */

/**
 * Looks for the answer to the load that waits: one look if there is none. Returns the frames that
 * it brought, in the order in which they came, at most RTE_PMD_IPU_ENDPOINT_MAX_FRAMES; they are
 * the host's until answered, as those of the last wait were. After TRYAGAIN the other line is
 * loaded. Also restores the endpoint, and the port, after the device came back from power-on,
 * without waiting for it.
 */
uint32_t rte_pmd_ipu_endpoint_wait(struct rte_pmd_ipu_endpoint* endpoint,
                                   struct rte_pmd_ipu_line_frame* frames);
/**
 * Answers the frames of the last wait, all `count` of them, and loads the other line. `data` and
 * `length` of each say what leaves, within the room that the frame had; length 0: nothing does.
 * `frames` null: all leave from where they came, which is cheaper.
 */
void rte_pmd_ipu_endpoint_answer(struct rte_pmd_ipu_endpoint* endpoint,
                                 const struct rte_pmd_ipu_line_frame* frames, uint32_t count);
/** Before answer: room for what a frame became, of `length` bytes, if the frame's own is too small:
 * behind all that lies in the line. Null: there is none. */
uint8_t* rte_pmd_ipu_endpoint_grown_room(struct rte_pmd_ipu_endpoint* endpoint, uint32_t length);
/** It was written there: `data` and `length` of its frame say so. It leaves in the frame's turn. */
void rte_pmd_ipu_endpoint_take_grown(struct rte_pmd_ipu_endpoint* endpoint, uint32_t length);
/** Where the next frame to send, of `length` bytes, is written; null: the line is full, or is the
 * device's. */
uint8_t* rte_pmd_ipu_endpoint_room(struct rte_pmd_ipu_endpoint* endpoint, uint32_t length);
/** The frame was written there. It leaves with the next flush. */
void rte_pmd_ipu_endpoint_send(struct rte_pmd_ipu_endpoint* endpoint, uint32_t length);
/** Hands the frames over that were sent, by loading the other line. */
void rte_pmd_ipu_endpoint_flush(struct rte_pmd_ipu_endpoint* endpoint);
/** Frames answered or sent that the device has not taken out of the lines yet. */
void rte_pmd_ipu_endpoint_outstanding(struct rte_pmd_ipu_endpoint* endpoint, uint64_t* frames,
                                      uint64_t* bytes);
/** The device takes nothing more out: what is outstanding stays so. Only outstanding, memory and
 * close may follow. */
void rte_pmd_ipu_endpoint_withdraw(struct rte_pmd_ipu_endpoint* endpoint);
/** The memory of all lines. */
const uint8_t* rte_pmd_ipu_endpoint_memory(const struct rte_pmd_ipu_endpoint* endpoint,
                                           uint64_t* bytes);

/** As of a link. */
bool rte_pmd_ipu_endpoint_up(const struct rte_pmd_ipu_endpoint* endpoint);
/** Any thread; values that were true recently. */
void rte_pmd_ipu_endpoint_stats_get(const struct rte_pmd_ipu_endpoint* endpoint,
                                    struct rte_pmd_ipu_endpoint_stats* stats);

/* ----------------------------------------------------------------- window */

/** Capability bits of a window. A protocol checks for what it needs: swaps need
 * LINE_ATOMIC and NIC_STORES_HOST, Wave's queues WC and WT (and INTERRUPT). */
#define RTE_PMD_IPU_CAP_WC (1u << 0)              /**< A posted line leaves as one write. */
#define RTE_PMD_IPU_CAP_WT (1u << 1)              /**< Reads may be cached until flushed. */
#define RTE_PMD_IPU_CAP_LINE_ATOMIC (1u << 2)     /**< A line arrives whole or not at all. */
#define RTE_PMD_IPU_CAP_NIC_STORES_HOST (1u << 3) /**< NIC lines lie in host memory. */
#define RTE_PMD_IPU_CAP_INTERRUPT (1u << 4)       /**< interrupt() wakes the other side. */
#define RTE_PMD_IPU_CAP_COHERENT (1u << 5)        /**< One coherent memory. */
#define RTE_PMD_IPU_CAP_STALLED_LOAD (1u << 6)    /**< A load may wait at the device. */
#define RTE_PMD_IPU_CAP_MODELLED (1u << 7)        /**< Not hardware. */

enum rte_pmd_ipu_backend {
  RTE_PMD_IPU_SHM,     /**< Memory that two lcores, or two processes, share. A model. */
  RTE_PMD_IPU_BAR,     /**< A PCI device's BAR. */
  RTE_PMD_IPU_VIRTUAL, /**< A calibrated PCIe model in virtual time, in this process. */
};

struct rte_pmd_ipu_window;

struct rte_pmd_ipu_window_conf {
  enum rte_pmd_ipu_backend backend;
  uint32_t lines;  /**< Pairs of lines, 1 to 4096. */
  bool nic_side;   /**< Open the NIC's end: SHM and VIRTUAL. */
  int fd;          /**< SHM: a window that another process created, or -1. Stays the caller's. */
  const char* bar; /**< BAR: the file that maps it (a sysfs resourceN or resourceN_wc). */
  uint64_t offset; /**< BAR: of the window's first byte. */
};

/**
 * Opens one end of a port's window. The first end of SHM and VIRTUAL creates the window,
 * the second one finds it by port and backend, and asks for as many lines. It does not
 * matter whether the port is configured, or outlives the window. VIRTUAL: host lines are
 * written whole, NIC lines are pushed to host memory; both ends belong to one thread, and
 * virtual time passes with every look. BAR: this end is the host's; NIC lines follow the
 * host's in the BAR; every line carries a CRC. Control path.
 * @return 0; -ENOTSUP: not a net_ipu port, or this end cannot be opened here; -EINVAL;
 *   -EBUSY: that end is open; -ENOMEM; otherwise the error of opening the BAR.
 */
int rte_pmd_ipu_window_open(uint16_t port_id, const struct rte_pmd_ipu_window_conf* conf,
                            struct rte_pmd_ipu_window** window);
void rte_pmd_ipu_window_close(struct rte_pmd_ipu_window* window);
uint32_t rte_pmd_ipu_window_capabilities(const struct rte_pmd_ipu_window* window);
/** SHM: the memory's file, for another process; stays the window's. Else -1. */
int rte_pmd_ipu_window_fd(const struct rte_pmd_ipu_window* window);

/* One thread per line and direction. `line` is below conf.lines; a line is 8 words, 64-byte
 * aligned; bits 32..63 of word 7 belong to the window. */

/** Publishes this end's line; word 0 last. */
void rte_pmd_ipu_window_post(struct rte_pmd_ipu_window* window, uint32_t line,
                             const uint64_t words[8]);
/** Word 0 of the other end's line; all ones if the link is dead. */
uint64_t rte_pmd_ipu_window_peek(struct rte_pmd_ipu_window* window, uint32_t line);
/** The other end's line. False: torn or dead, look again. */
bool rte_pmd_ipu_window_poll(struct rte_pmd_ipu_window* window, uint32_t line, uint64_t words[8]);
/** One word past every cache: blocks for a round trip and pushes what was posted. */
uint64_t rte_pmd_ipu_window_read(struct rte_pmd_ipu_window* window, uint32_t line, uint32_t word);
/** Sends what was posted and discards what is cached. */
void rte_pmd_ipu_window_flush(struct rte_pmd_ipu_window* window);
/** Wakes the other end; no effect without CAP_INTERRUPT. */
void rte_pmd_ipu_window_interrupt(struct rte_pmd_ipu_window* window, uint32_t vector);

enum rte_pmd_ipu_operation {
  RTE_PMD_IPU_OP_POST,
  RTE_PMD_IPU_OP_PEEK,
  RTE_PMD_IPU_OP_POLL,
  RTE_PMD_IPU_OP_READ,
  RTE_PMD_IPU_OP_FLUSH,
  RTE_PMD_IPU_OP_INTERRUPT,
};

/** One operation of this end, with the bytes that it moves over PCIe where the window is
 * placed as on hardware (TLP headers and framing included). */
struct rte_pmd_ipu_trace_entry {
  enum rte_pmd_ipu_operation operation;
  uint32_t line;
  uint32_t bytes_down; /**< Host to NIC. */
  uint32_t bytes_up;   /**< NIC to host. */
  uint64_t time_ps;    /**< VIRTUAL: virtual time, picoseconds; else 0. */
};
/**
 * Records this end's operations from now on into `entries`, the newest `capacity` of them:
 * the i-th from now on, counted from 0, goes to i % capacity. Null stops. The array stays
 * the caller's. The number recorded ever, by all calls, is returned by trace_count. Called
 * by the end's thread.
 */
void rte_pmd_ipu_window_trace(struct rte_pmd_ipu_window* window,
                              struct rte_pmd_ipu_trace_entry* entries, uint32_t capacity);
uint64_t rte_pmd_ipu_window_trace_count(const struct rte_pmd_ipu_window* window);

#ifdef __cplusplus
}
#endif

#endif /* RTE_PMD_IPU_H */
