/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The library around lwIP's TCP: lists of connections by bucket, the IP layer below TCP, and the
 * functions of library.h. */
#include "library.h"

/* `tick` needs tcp_timer_ctr, which is static, so lwIP's unchanged file is compiled here. */
#include "core/tcp.c"
#include "lwip/inet_chksum.h"
#include "lwip/ip.h"
#include "lwip/netif.h"
#include "lwip/pbuf.h"
#include "memory.h"

static struct tcp_upcalls upcalls;
static struct netif netif; /* The only one. lwIP uses its MTU, but no address. */
static u8_t argument_id;
uint32_t tcp_window_bytes = TCP_WINDOW_BYTES;

/* ---- Buckets. lwIP searches tcp_active_pcbs and tcp_tw_pcbs, the lists of one bucket. ---- */

struct bucket {
  struct tcp_pcb* active;
  struct tcp_pcb* time_wait;
  uint32_t position; /* Position in `used` if one of the lists is not empty. */
};
static struct bucket* buckets;
static uint32_t* used; /* Buckets with connections. */
static uint32_t used_count;

static int is_empty(const struct bucket* bucket) {
  return bucket->active == NULL && bucket->time_wait == NULL;
}

static void enter(uint32_t number) {
  tcp_active_pcbs = buckets[number].active;
  tcp_tw_pcbs = buckets[number].time_wait;
}

static void leave(uint32_t number) {
  struct bucket* bucket = &buckets[number];
  const int was_empty = is_empty(bucket);
  bucket->active = tcp_active_pcbs;
  bucket->time_wait = tcp_tw_pcbs;
  tcp_active_pcbs = tcp_tw_pcbs = NULL;
  if (was_empty && !is_empty(bucket)) {
    bucket->position = used_count;
    used[used_count++] = number;
  } else if (!was_empty && is_empty(bucket)) {
    used[bucket->position] = used[--used_count];
    buckets[used[bucket->position]].position = bucket->position;
  }
}

static void set_address(ip_addr_t* address, const uint8_t* bytes, int is_ipv6) {
  memset(address, 0, sizeof(*address));
  IP_SET_TYPE_VAL(*address, is_ipv6 ? IPADDR_TYPE_V6 : IPADDR_TYPE_V4);
  memcpy(&address->u_addr, bytes, is_ipv6 ? 16 : 4);
}

static int matches(const struct tcp_pcb* pcb, const struct tcp_tuple* tuple) {
  const size_t bytes = tuple->is_ipv6 ? 16 : 4;
  return pcb->remote_port == tuple->remote_port && pcb->local_port == tuple->local_port &&
         IP_IS_V6_VAL(pcb->remote_ip) == (tuple->is_ipv6 != 0) &&
         memcmp(&pcb->remote_ip.u_addr, tuple->remote, bytes) == 0 &&
         memcmp(&pcb->local_ip.u_addr, tuple->local, bytes) == 0;
}

static uint32_t slot_of(const struct tcp_pcb* pcb) {
  return (uint32_t)(uintptr_t)pcb->callback_arg;
}

static uint32_t find(const struct tcp_tuple* tuple) {
  const struct bucket* bucket = &buckets[tuple->bucket];
  const struct tcp_pcb* pcb;
  for (pcb = bucket->active; pcb != NULL; pcb = pcb->next) {
    if (matches(pcb, tuple)) return slot_of(pcb);
  }
  for (pcb = bucket->time_wait; pcb != NULL; pcb = pcb->next) {
    if (matches(pcb, tuple)) return slot_of(pcb);
  }
  return TCP_NO_SLOT;
}

/* ---- Callbacks from lwIP. They record events; Stack calls its user after lwIP returns. ---- */

static struct tcp_events* events; /* Events of the segment that is being processed. */
static enum tcp_end end;          /* The reason, if a connection is freed now. */

static err_t on_receive(void* slot, struct tcp_pcb* pcb, struct pbuf* data, err_t error) {
  struct pbuf** last = &events->data;
  (void)slot, (void)pcb, (void)error;
  if (data == NULL) {
    events->half_closed = 1;
    return ERR_OK;
  }
  while (*last != NULL) last = &(*last)->next;
  *last = data;
  return ERR_OK;
}

static err_t on_sent(void* slot, struct tcp_pcb* pcb, u16_t bytes) {
  (void)slot, (void)pcb, (void)bytes;
  events->acknowledged = 1;
  return ERR_OK;
}

static err_t on_open(void* slot, struct tcp_pcb* pcb, err_t error) {
  (void)slot, (void)pcb, (void)error;
  events->opened = 1;
  return ERR_OK;
}

/* Called before the connection is freed if the peer ended it, otherwise afterwards. */
static void on_end(void* slot, err_t error) {
  (void)slot;
  if (error == ERR_RST) end = TCP_END_RESET;
  if (error == ERR_CLSD) end = TCP_END_FINISHED;
}

static void on_free(u8_t id, void* slot) {
  (void)id;
  upcalls.freed(upcalls.user, (uint32_t)(uintptr_t)slot, end);
}

/* lwIP does not notice if the peer of a half-closed connection has gone. This function probes that
 * peer as lwIP probes the peers of open connections. */
static err_t on_poll(void* slot, struct tcp_pcb* pcb) {
  if (pcb->state == FIN_WAIT_2) {
    const u32_t silence = (tcp_ticks - pcb->tmr) * TCP_SLOW_INTERVAL;
    if (silence > pcb->keep_idle + TCP_KEEP_DUR(pcb)) {
      tcp_abort(pcb);
      return ERR_ABRT;
    }
    if (silence > pcb->keep_idle + pcb->keep_cnt_sent * TCP_KEEP_INTVL(pcb) &&
        tcp_keepalive(pcb) == ERR_OK) {
      ++pcb->keep_cnt_sent;
    }
  }
  upcalls.poll(upcalls.user, (uint32_t)(uintptr_t)slot);
  return ERR_OK;
}

static const struct tcp_ext_arg_callbacks connection_callbacks = {on_free, NULL};

static void set_up(struct tcp_pcb* pcb, uint32_t slot) {
  void* const argument = (void*)(uintptr_t)slot;
  tcp_arg(pcb, argument);
  tcp_recv(pcb, on_receive);
  tcp_sent(pcb, on_sent);
  tcp_err(pcb, on_end);
  tcp_poll(pcb, on_poll, 1);
  tcp_nagle_disable(pcb);
  ip_set_option(pcb, SOF_KEEPALIVE);
  tcp_ext_arg_set(pcb, argument_id, argument);
  tcp_ext_arg_set_callbacks(pcb, argument_id, &connection_callbacks);
}

static err_t on_syn(u8_t id, struct tcp_pcb_listen* listener, struct tcp_pcb* pcb) {
  (void)id, (void)listener;
  set_up(pcb, upcalls.create(upcalls.user, pcb));
  return ERR_OK;
}

static const struct tcp_ext_arg_callbacks listener_callbacks = {NULL, on_syn};

/* ---- The IP layer, which replaces lwIP's. Stack writes and checks the headers. ---- */

static err_t output(struct pbuf* p, const void* source, const void* destination, int is_ipv6) {
  const struct tcp_hdr* header = p->payload;
  const struct tcp_pcb* pcb = NULL;
  uint32_t slot = TCP_NO_SLOT;
  int again = 0;
  if (netif.hints != NULL) {
    pcb = (const struct tcp_pcb*)((const uint8_t*)netif.hints -
                                  offsetof(struct tcp_pcb, netif_hints));
    if (pcb->state != LISTEN) {
      const int occupies = p->tot_len > TCPH_HDRLEN_BYTES(header) ||
                           (TCPH_FLAGS(header) & (TCP_SYN | TCP_FIN)) != 0;
      slot = slot_of(pcb);
      again = occupies && TCP_SEQ_LT(lwip_ntohl(header->seqno), pcb->snd_nxt);
    }
  }
  return upcalls.output(upcalls.user, slot, p->payload, p->tot_len, source, destination, is_ipv6,
                        again)
             ? ERR_OK
             : ERR_BUF;
}

err_t ip4_output_if(struct pbuf* p, const ip4_addr_t* source, const ip4_addr_t* destination,
                    u8_t ttl, u8_t tos, u8_t protocol, struct netif* interface) {
  (void)ttl, (void)tos, (void)protocol, (void)interface;
  return output(p, source, destination, 0);
}

err_t ip6_output_if(struct pbuf* p, const ip6_addr_t* source, const ip6_addr_t* destination,
                    u8_t ttl, u8_t tos, u8_t protocol, struct netif* interface) {
  (void)ttl, (void)tos, (void)protocol, (void)interface;
  return output(p, source, destination, 1);
}

struct netif* ip4_route(const ip4_addr_t* destination) {
  (void)destination;
  return &netif;
}

struct netif* ip6_route(const ip6_addr_t* source, const ip6_addr_t* destination) {
  (void)source, (void)destination;
  return &netif;
}

struct netif* netif_get_by_index(u8_t number) {
  (void)number;
  return &netif;
}

/* Never called, because connections have an address when they are opened. */
const ip_addr_t* ip6_select_source_address(struct netif* interface, const ip6_addr_t* destination) {
  (void)interface, (void)destination;
  return NULL;
}

u16_t nd6_get_destination_mtu(const ip6_addr_t* destination, struct netif* interface) {
  (void)destination;
  return interface->mtu;
}

void tcp_timer_needed(void) {}

uint32_t tcp_initial_sequence(const ip_addr_t* local, uint16_t local_port, const ip_addr_t* remote,
                              uint16_t remote_port) {
  return upcalls.initial_sequence(upcalls.user, (const uint8_t*)&local->u_addr,
                                  (const uint8_t*)&remote->u_addr, local_port, remote_port,
                                  IP_IS_V6(remote));
}

/* ---- Received segments. Headers are copied, because lwIP changes them; data is not. ---- */

struct inbound {
  struct pbuf_custom header; /* First pbuf: the header. */
  struct pbuf_custom data;   /* Second pbuf: the data, in the frame or in `copy`. */
  int parts;                 /* Number of pbufs in use. */
  void* copy;
  uint8_t bytes[64];
};
static struct inbound* in_frame; /* The segment whose data is still in the current frame. */

static void free_part(struct inbound* inbound) {
  if (--inbound->parts != 0) return;
  if (inbound->copy != NULL) tcp_memory_free(inbound->copy);
  tcp_memory_free(inbound);
}

static void free_header(struct pbuf* p) { free_part((struct inbound*)p); }

static void free_data(struct pbuf* p) {
  struct inbound* inbound = (struct inbound*)((uint8_t*)p - offsetof(struct inbound, data));
  if (inbound == in_frame) in_frame = NULL;
  free_part(inbound);
}

/* Corrects maximum segment size options that lwIP should not accept: tiny ones, and those that
 * arrive after the handshake. */
static void restrict_options(uint8_t* header, uint32_t header_bytes) {
  enum { kMinimum = 64 };
  const int is_syn = (header[13] & TCP_SYN) != 0;
  uint32_t at = TCP_HLEN;
  while (at < header_bytes && header[at] != LWIP_TCP_OPT_EOL) {
    uint32_t length = 1;
    if (header[at] != LWIP_TCP_OPT_NOP) {
      length = at + 1 < header_bytes ? header[at + 1] : 0;
      if (length < 2 || at + length > header_bytes) return;
      if (header[at] == LWIP_TCP_OPT_MSS && length == LWIP_TCP_OPT_LEN_MSS) {
        if (!is_syn) memset(header + at, LWIP_TCP_OPT_NOP, length);
        if (is_syn && header[at + 2] == 0 && header[at + 3] < kMinimum) header[at + 3] = kMinimum;
      }
    }
    at += length;
  }
}

static void input(const struct tcp_segment* segment, struct tcp_events* result) {
  struct inbound* inbound = tcp_memory_allocate(sizeof(*inbound));
  struct pbuf* p;
  memset(result, 0, sizeof(*result));
  if (inbound == NULL) return;
  inbound->parts = 1;
  inbound->copy = NULL;
  memcpy(inbound->bytes, segment->bytes, segment->header_bytes);
  restrict_options(inbound->bytes, segment->header_bytes);
  inbound->header.custom_free_function = free_header;
  p = pbuf_alloced_custom(PBUF_RAW, (u16_t)segment->header_bytes, PBUF_REF, &inbound->header,
                          inbound->bytes, (u16_t)segment->header_bytes);
  if (segment->data_bytes != 0) {
    inbound->parts = 2;
    inbound->data.custom_free_function = free_data;
    pbuf_cat(p, pbuf_alloced_custom(PBUF_RAW, (u16_t)segment->data_bytes, PBUF_REF, &inbound->data,
                                    (void*)(uintptr_t)(segment->bytes + segment->header_bytes),
                                    (u16_t)segment->data_bytes));
    in_frame = inbound;
  }

  ip_data.current_netif = ip_data.current_input_netif = &netif;
  set_address(&ip_data.current_iphdr_src, segment->tuple.remote, segment->tuple.is_ipv6);
  set_address(&ip_data.current_iphdr_dest, segment->tuple.local, segment->tuple.is_ipv6);
  events = result;
  end = TCP_END_LOST;
  enter(segment->tuple.bucket);
  {
    struct tcp_pcb* const listeners = tcp_listen_pcbs.pcbs;
    if (segment->refuse_syn) tcp_listen_pcbs.pcbs = NULL;
    tcp_input(p, &netif);
    if (segment->refuse_syn) tcp_listen_pcbs.pcbs = listeners;
  }
  leave(segment->tuple.bucket);
}

static struct pbuf* part(struct pbuf* data, const uint8_t** bytes, uint32_t* size) {
  *bytes = data->payload;
  *size = data->len;
  return data->next;
}

static void release(struct pbuf* data) {
  if (data != NULL) pbuf_free(data);
}

static void end_input(struct tcp_pcb* pcb) {
  struct inbound* inbound = in_frame;
  struct pbuf* data;
  if (inbound == NULL) return;
  data = &inbound->data.pbuf;
  /* Segments after a gap must not use up the memory that other segments need. */
  if (!tcp_memory_is_short()) inbound->copy = tcp_memory_allocate(data->len);
  if (inbound->copy != NULL) {
    memcpy(inbound->copy, data->payload, data->len);
    data->payload = inbound->copy;
  } else if (pcb != NULL) {
    tcp_free_ooseq(pcb); /* The peer will send these bytes again. */
  }
  in_frame = NULL;
}

/* ---- The other functions of library.h. ---- */

static int start(const struct tcp_upcalls* calls, uint32_t max_connections, uint32_t count,
                 uint32_t window) {
  upcalls = *calls;
  tcp_window_bytes = window;
  netif.mtu = TCP_MTU;
  buckets = calloc(count, sizeof(*buckets));
  used = malloc(sizeof(*used) * (max_connections + 1));
  if (buckets == NULL || used == NULL ||
      !tcp_memory_start(max_connections, LWIP_MEM_ALIGN_SIZE(sizeof(struct tcp_pcb)))) {
    return 0;
  }
  argument_id = tcp_ext_arg_alloc_id();
  return 1;
}

static void stop(void) {
  tcp_memory_stop();
  free(buckets);
  free(used);
}

/* Runs the timers of all buckets for one tick. */
static void tick(void) {
  static int slow;
  const u8_t counter = tcp_timer_ctr;
  const u32_t ticks = tcp_ticks;
  uint32_t i;
  slow = !slow;
  end = TCP_END_LOST;
  /* A bucket that becomes empty is replaced with the last one, which was already processed. */
  for (i = used_count; i-- > 0;) {
    const uint32_t bucket = used[i];
    enter(bucket);
    tcp_timer_ctr = counter;
    tcp_ticks = ticks;
    tcp_fasttmr();
    if (slow) tcp_slowtmr();
    leave(bucket);
  }
  tcp_timer_ctr = (u8_t)(counter + 1 + slow);
  tcp_ticks = ticks + (u32_t)slow;
}

static int listen_on(uint16_t port) {
  struct tcp_pcb* pcb = tcp_new_ip_type(IPADDR_TYPE_ANY);
  struct tcp_pcb* listener;
  if (pcb == NULL) return 0;
  if (tcp_bind(pcb, IP_ANY_TYPE, port) != ERR_OK || (listener = tcp_listen(pcb)) == NULL) {
    tcp_close(pcb);
    return 0;
  }
  tcp_accept(listener, on_open);
  tcp_ext_arg_set_callbacks(listener, argument_id, &listener_callbacks);
  return 1;
}

static struct tcp_pcb* connect_to(const struct tcp_tuple* tuple, uint32_t slot) {
  struct tcp_pcb* pcb = tcp_new();
  ip_addr_t remote;
  err_t error;
  if (pcb == NULL) return NULL;
  set_address(&remote, tuple->remote, tuple->is_ipv6);
  set_address(&pcb->local_ip, tuple->local, tuple->is_ipv6);
  pcb->local_port = tuple->local_port;
  tcp_arg(pcb, (void*)(uintptr_t)slot);
  enter(tuple->bucket);
  error = tcp_connect(pcb, &remote, tuple->remote_port, on_open);
  leave(tuple->bucket);
  if (error != ERR_OK) {
    tcp_free(pcb);
    return NULL;
  }
  set_up(pcb, slot);
  return pcb;
}

static int is_time_wait(const struct tcp_pcb* pcb) { return pcb->state == TIME_WAIT; }

static int is_newer(const struct tcp_pcb* pcb, uint32_t sequence) {
  return TCP_SEQ_GT(sequence, pcb->rcv_nxt);
}

/* Returns the number of data bytes in a full segment, as tcp_write computes it. */
static uint32_t segment_bytes(const struct tcp_pcb* pcb) {
  const u16_t half_window = TCPWND_MIN16(pcb->snd_wnd_max / 2);
  return half_window != 0 && half_window < pcb->mss ? half_window : pcb->mss;
}

static uint32_t room(const struct tcp_pcb* pcb) {
  size_t segments;
  uint32_t bytes;
  if ((pcb->state != ESTABLISHED && pcb->state != CLOSE_WAIT) ||
      pcb->snd_queuelen >= TCP_SND_QUEUELEN) {
    return 0;
  }
  segments = LWIP_MIN((size_t)(TCP_SND_QUEUELEN - pcb->snd_queuelen), tcp_memory_buffers());
  bytes = pcb->unsent_oversize + (uint32_t)segments * segment_bytes(pcb);
  return LWIP_MIN(bytes, pcb->snd_buf);
}

static int all_acknowledged(const struct tcp_pcb* pcb) { return pcb->snd_queuelen == 0; }

static int write_to(struct tcp_pcb* pcb, const uint8_t* data, uint32_t bytes) {
  while (bytes != 0) {
    const u16_t now = (u16_t)LWIP_MIN(bytes, 0xffffu);
    if (tcp_write(pcb, data, now, TCP_WRITE_FLAG_COPY) != ERR_OK) return 0;
    data += now;
    bytes -= now;
  }
  return 1;
}

static void flush(struct tcp_pcb* pcb) { tcp_output(pcb); }

static void consume(struct tcp_pcb* pcb, uint32_t bytes) {
  while (bytes != 0) {
    const u16_t now = (u16_t)LWIP_MIN(bytes, 0xffffu);
    tcp_recved(pcb, now);
    bytes -= now;
  }
}

static void finish(struct tcp_pcb* pcb) { tcp_shutdown(pcb, 0, 1); }

static void abort_with(struct tcp_pcb* pcb, uint32_t bucket, int reset) {
  end = TCP_END_LOST;
  enter(bucket);
  tcp_abandon(pcb, reset);
  leave(bucket);
}

static void abort_connection(struct tcp_pcb* pcb, uint32_t bucket) { abort_with(pcb, bucket, 1); }
static void forget(struct tcp_pcb* pcb, uint32_t bucket) { abort_with(pcb, bucket, 0); }

__attribute__((visibility("default"))) const struct tcp_library* sluice_tcp_library(void) {
  static const struct tcp_library library = {
      start,        stop,     tick, listen_on, connect_to, find,  input,   part,
      release,      end_input, is_time_wait, is_newer, room, all_acknowledged, write_to, flush,
      consume,      finish,   abort_connection, forget, tcp_memory_failures,
  };
  return &library;
}
