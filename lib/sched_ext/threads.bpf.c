/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The kernel's end of an agent for threads: a scheduler of sched_ext that enforces decisions. It
 * manages only threads of the class SCHED_EXT. It reports each event of a thread as an
 * offload::Item (engine/sched/abi.h), and checks each decision against the thread's state.
 *
 * A waiting thread is always in a queue of the kernel (DSQ). New and woken threads enter kWaitingDsq,
 * which is a FIFO. A decision moves its thread to the queue of the chosen CPU. dispatch() serves the
 * queue of its CPU; if there is no agent, or threads are overdue, it serves the others, too. So no
 * thread is lost without the agent, and when the program that loaded this scheduler ends, the
 * kernel takes all threads back.
 *
 * For one thread, the kernel calls the operations one at a time. Only decide() runs concurrently. */
#include "kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "layout.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL"; /* sched_ext requires the GPL. */

enum {
  kWaitingDsq = 1 << 16,
  kDecidedDsq = kWaitingDsq + 1, /* That of CPU 0; the others follow. */
};

struct bpf_state state SEC(".data.state") = {};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1); /* The loader sets it. */
  __type(key, __u32);
  __type(value, struct bpf_thread);
} threads SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 20);
} events SEC(".maps");

struct timer_slot {
  struct bpf_timer timer;
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct timer_slot);
} timers SEC(".maps");

#define COUNT(counter) __sync_fetch_and_add(&state.counter, 1)

static __always_inline __u64 WordOf(__u32 barrier, __u32 cpu, __u32 phase) {
  return (__u64)barrier << 32 | cpu << 8 | phase;
}
static __always_inline __u32 BarrierOf(__u64 word) { return word >> 32; }
static __always_inline __u32 CpuOf(__u64 word) { return word >> 8 & 0xffff; }
static __always_inline __u32 PhaseOf(__u64 word) { return word & 0xff; }

static __always_inline struct bpf_thread* Find(const struct task_struct* p) {
  const __u32 id = p->pid;
  return bpf_map_lookup_elem(&threads, &id);
}

/* Returns null for a CPU beyond kBpfMaxCpus. */
static __always_inline struct bpf_cpu* CpuAt(__u32 cpu) {
  if (cpu >= kBpfMaxCpus) return 0;
  barrier_var(cpu); /* Keeps the mask, from which the verifier derives the bounds. */
  return &state.cpu[cpu & (kBpfMaxCpus - 1)];
}

/* Changes the phase; `events` are added to the barrier. Returns the former word. */
static __always_inline __u64 Change(struct bpf_thread* t, __u32 cpu, __u32 phase, __u32 events) {
  const __u32 barrier = BarrierOf(t->word) + events; /* A decision does not change the barrier. */
  return __sync_lock_test_and_set(&t->word, WordOf(barrier, cpu, phase));
}

static __always_inline void LeaveCpu(struct bpf_thread* t, __u64 former, __u64 now) {
  struct bpf_cpu* c = CpuAt(CpuOf(former));
  if (PhaseOf(former) != kPhaseOnCpu || !c || c->current != t->gtid) return;
  c->current = 0;
  c->idle_since = now;
  ++c->seqnum;
}

static __always_inline void Send(__u32 type, const struct bpf_thread* t, __u32 cpu, __u32 flags) {
  const struct bpf_cpu* c = CpuAt(cpu);
  const struct bpf_item item = {
      .word = {type | (__u64)cpu << 16 | (__u64)BarrierOf(t->word) << 32, t->gtid, t->runtime,
               (c ? c->seqnum : 0) | (__u64)flags << 32 | (__u64)t->task_class << 40,
               t->affinity}};
  COUNT(events);
  if (bpf_ringbuf_output(&events, (void*)&item, sizeof(item), 0)) COUNT(events_lost);
}

/* Returns whether waiting threads are scheduled first come, first served. */
static __always_inline bool Alone(void) { return !state.attached || state.dry_run; }

/* The agent chooses the CPU later. */
SEC("struct_ops/select_cpu")
__s32 BPF_PROG(select_cpu, struct task_struct* p, __s32 prev_cpu, __u64 wake_flags) {
  return prev_cpu;
}

SEC("struct_ops/enqueue")
void BPF_PROG(enqueue, struct task_struct* p, __u64 enq_flags) {
  struct bpf_thread* t = Find(p);
  if (!t) {
    COUNT(unmanaged);
    scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
    return;
  }
  const __u64 now = bpf_ktime_get_ns();
  const __u32 cpu = scx_bpf_task_cpu(p);
  t->since = now;
  const __u64 former = Change(t, cpu, kPhaseRunnable, 1);
  LeaveCpu(t, former, now);
  scx_bpf_dsq_insert(p, kWaitingDsq, SCX_SLICE_DFL, enq_flags);
  if (PhaseOf(former) == kPhaseWaiting) {
    Send(kBpfWakeup, t, cpu, 0);
  } else {
    Send(kBpfPreempt, t, cpu, PhaseOf(former) == kPhaseDecided ? kBpfWasLatched : 0);
  }
  if (!Alone()) return;
  const __s32 idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
  if (idle >= 0) scx_bpf_kick_cpu(idle, 0);
}

SEC("struct_ops/dispatch")
void BPF_PROG(dispatch, __s32 cpu, struct task_struct* prev) {
  if (cpu < 0 || cpu >= kBpfMaxCpus) return;
  if ((__u32)cpu < state.cpus && scx_bpf_dsq_move_to_local(kDecidedDsq + cpu)) return;
  if (Alone()) {
    if (scx_bpf_dsq_move_to_local(kWaitingDsq)) {
      COUNT(local_choices);
      return;
    }
  } else if (state.overdue && scx_bpf_dsq_move_to_local(kWaitingDsq)) {
    COUNT(fallbacks);
    return;
  }
  const __u64 overdue = state.decided_overdue;
  if (!overdue) return;
  for (__u32 other = 0; other < kBpfMaxCpus; ++other) {
    if (!(overdue >> other & 1)) continue;
    if (!scx_bpf_dsq_move_to_local(kDecidedDsq + other)) continue;
    COUNT(fallbacks);
    return;
  }
}

SEC("struct_ops/running")
void BPF_PROG(running, struct task_struct* p) {
  struct bpf_thread* t = Find(p);
  const __u32 cpu = scx_bpf_task_cpu(p);
  struct bpf_cpu* c = CpuAt(cpu);
  if (!t || !c) return;
  const __u64 now = bpf_ktime_get_ns();
  const __u64 word = t->word;
  const __u32 phase = PhaseOf(word);
  /* The agent chose the CPU, or the thread returns to it after a higher scheduling class. */
  const bool expected = (phase == kPhaseDecided || phase == kPhaseOnCpu) && CpuOf(word) == cpu;
  if (phase != kPhaseOnCpu) c->running_since = now;
  t->since = now;
  LeaveCpu(t, Change(t, cpu, kPhaseOnCpu, expected ? 0 : 1), now);
  c->current = t->gtid;
  ++c->seqnum;
  if (!expected) Send(kBpfOnCpu, t, cpu, 0);
}

/* If the thread keeps its CPU, running() follows; otherwise enqueue() or quiescent() does. */
SEC("struct_ops/stopping")
void BPF_PROG(stopping, struct task_struct* p, bool runnable) {
  struct bpf_thread* t = Find(p);
  if (!t) return;
  const __u64 now = bpf_ktime_get_ns();
  t->runtime += now - t->since;
  t->since = now;
}

/* The thread blocks, or one of its attributes changes; in this case it becomes runnable again. */
SEC("struct_ops/quiescent")
void BPF_PROG(quiescent, struct task_struct* p, __u64 deq_flags) {
  struct bpf_thread* t = Find(p);
  if (!t) return;
  const __u32 cpu = scx_bpf_task_cpu(p);
  const __u64 former = Change(t, cpu, kPhaseWaiting, 1);
  LeaveCpu(t, former, bpf_ktime_get_ns());
  Send(kBpfBlocked, t, cpu, PhaseOf(former) == kPhaseDecided ? kBpfWasLatched : 0);
}

SEC("struct_ops/set_cpumask")
void BPF_PROG(set_cpumask, struct task_struct* p, const struct cpumask* cpumask) {
  struct bpf_thread* t = Find(p);
  if (!t) return;
  t->affinity = cpumask->bits[0];
  const __u64 word = t->word;
  Change(t, CpuOf(word), PhaseOf(word), 1);
  Send(kBpfAffinityChanged, t, CpuOf(word), 0);
}

/* The thread enters the class. */
SEC("struct_ops/enable")
void BPF_PROG(enable, struct task_struct* p) {
  const __u32 id = p->pid;
  const __u64 number = __sync_fetch_and_add(&state.threads_created, 1) + 1;
  struct bpf_thread thread = {.gtid = number << kThreadIdBits | id,
                              .word = WordOf(1, 0, kPhaseWaiting),
                              .since = bpf_ktime_get_ns(),
                              .affinity = p->cpus_ptr->bits[0],
                              .task_class = p->static_prio > NICE_0_PRIO};
  if (bpf_map_update_elem(&threads, &id, &thread, 0 /* BPF_ANY */)) return;
  COUNT(threads);
  Send(kBpfNew, &thread, scx_bpf_task_cpu(p), 0);
}

/* The thread leaves the class, or ends. */
SEC("struct_ops/disable")
void BPF_PROG(disable, struct task_struct* p) {
  struct bpf_thread* t = Find(p);
  if (!t) return;
  const __u32 id = p->pid;
  const __u64 former = Change(t, 0, kPhaseWaiting, 1);
  LeaveCpu(t, former, bpf_ktime_get_ns());
  Send(p->flags & PF_EXITING ? kBpfDead : kBpfDeparted, t, CpuOf(former), 0);
  bpf_map_delete_elem(&threads, &id);
  __sync_fetch_and_add(&state.threads, -1);
}

/* --- The fall-back ----------------------------------------------------------------------------- */

/* Returns the waiting thread that has waited longest, if it is overdue. */
static __always_inline struct bpf_thread* LongestWaiting(__u64 now) {
  struct bpf_iter_scx_dsq it;
  struct bpf_thread* found = 0;
  if (!bpf_iter_scx_dsq_new(&it, kWaitingDsq, 0)) {
    const struct task_struct* p = bpf_iter_scx_dsq_next(&it);
    if (p) found = Find(p);
  }
  bpf_iter_scx_dsq_destroy(&it);
  return found && now - found->since > state.fallback_ns ? found : 0;
}

/* Periodically finds overdue threads and makes CPUs call dispatch() for them. If a thread waits
 * although a CPU has no thread, the agent is considered dead. */
static int Watch(void* map, __u32* key, struct timer_slot* slot) {
  const __u64 now = bpf_ktime_get_ns(), limit = state.fallback_ns;
  const struct bpf_thread* t = LongestWaiting(now);
  for (__u32 cpu = 0; cpu < kBpfMaxCpus && cpu < state.cpus; ++cpu) {
    const struct bpf_cpu* c = CpuAt(cpu);
    if (!c) break;
    /* Memory, unlike a variable, gives the verifier no more states to follow. */
    if (now - c->decided_at > limit && scx_bpf_dsq_nr_queued(kDecidedDsq + cpu) > 0) {
      state.decided_overdue |= 1ULL << cpu;
    } else {
      state.decided_overdue &= ~(1ULL << cpu);
    }
  }
  state.overdue = t != 0;
  const bool late = state.decided_overdue != 0;
  const bool waits = t || (Alone() && scx_bpf_dsq_nr_queued(kWaitingDsq) > 0);
  for (__u32 cpu = 0; cpu < kBpfMaxCpus && cpu < state.cpus && (waits || late); ++cpu) {
    const struct bpf_cpu* c = CpuAt(cpu);
    if (!c) break;
    if (c->current) {
      if (now - c->running_since > limit) scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
      continue;
    }
    if (t && !Alone() && (t->affinity >> cpu & 1) && now - c->idle_since > limit &&
        now - state.attached > limit) {
      state.attached = 0;
      COUNT(abandoned);
    }
    scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
  }
  bpf_timer_start(&slot->timer, limit / 4, 0);
  return 0;
}

SEC("struct_ops/init") /* Sleepable: the loader sets the flag. */
__s32 BPF_PROG(init) {
  __s32 error = scx_bpf_create_dsq(kWaitingDsq, -1);
  for (__u32 cpu = 0; cpu < kBpfMaxCpus && cpu < state.cpus && !error; ++cpu) {
    error = scx_bpf_create_dsq(kDecidedDsq + cpu, -1);
  }
  const __u32 key = 0;
  struct timer_slot* slot = bpf_map_lookup_elem(&timers, &key);
  if (error || !slot) return error;
  bpf_timer_init(&slot->timer, &timers, 1 /* CLOCK_MONOTONIC */);
  bpf_timer_set_callback(&slot->timer, Watch);
  return bpf_timer_start(&slot->timer, state.fallback_ns / 4, 0);
}

SEC("struct_ops/exit")
void BPF_PROG(exit_scheduler, struct scx_exit_info* info) {
  bpf_probe_read_kernel_str(state.reason, sizeof(state.reason), info->reason);
  state.ended = 1;
}

/* --- Decisions --------------------------------------------------------------------------------- */

/* Moves the thread `id`, whose word is `word`, from the waiting threads to the queue of `cpu`.
 *
 * The iterator remembers the time of its creation, and the kernel moves only a thread that has been
 * in the queue since then. Since the word is compared later, the thread that is moved is in the
 * state that the agent knew. */
static __always_inline __u32 MoveTo(__u32 cpu, __u32 id, struct bpf_thread* t, __u64 word) {
  const __u64 decided = WordOf(BarrierOf(word), cpu, kPhaseDecided);
  struct bpf_iter_scx_dsq it;
  bool moved = 0;
  bpf_rcu_read_lock();
  if (!bpf_iter_scx_dsq_new(&it, kWaitingDsq, 0) &&
      __sync_val_compare_and_swap(&t->word, word, decided) == word) {
    struct task_struct* p;
    while ((p = bpf_iter_scx_dsq_next(&it))) {
      if ((__u32)p->pid != id) continue;
      moved = scx_bpf_dsq_move(&it, p, kDecidedDsq + cpu, 0);
      break;
    }
    if (!moved) __sync_val_compare_and_swap(&t->word, decided, word);
  }
  bpf_iter_scx_dsq_destroy(&it);
  bpf_rcu_read_unlock();
  if (moved) return kBpfComplete;
  /* The thread changed, or it is on its way into the queue or out of it. */
  return BarrierOf(t->word) != BarrierOf(word) ? kBpfTargetStale : kBpfCpuUnavailable;
}

/* Checks in the order of engine::sched::Kernel::Check(). */
static __always_inline __u32 Check(const struct bpf_decision* d, const struct bpf_thread* t,
                                   const struct bpf_cpu* c) {
  if (!t) return kBpfTargetNotFound;
  if (BarrierOf(t->word) != d->barrier) return kBpfTargetStale;
  if (PhaseOf(t->word) == kPhaseWaiting) return kBpfTargetNotRunnable;
  if (PhaseOf(t->word) != kPhaseRunnable) return kBpfTargetOnCpu;
  if (!state.attached) return kBpfNoAgent;
  if (!(t->affinity >> d->cpu & 1)) return kBpfNotPermitted;
  if (state.dry_run || (d->do_not_preempt && c->current)) return kBpfCpuUnavailable;
  return kBpfComplete;
}

SEC("syscall")
int decide(struct bpf_decision* d) {
  const __u32 id = d->gtid & ((1u << kThreadIdBits) - 1), cpu = d->cpu;
  struct bpf_cpu* c = CpuAt(cpu);
  if (!c || cpu >= state.cpus) {
    d->status = kBpfInvalidCpu;
    return 0;
  }
  struct bpf_thread* t = bpf_map_lookup_elem(&threads, &id);
  if (t && t->gtid != d->gtid) t = 0;
  const __u64 word = t ? t->word : 0;
  const __u64 now = bpf_ktime_get_ns();
  d->time_ns = now;
  d->age_ns = t ? now - t->since : 0;
  d->status = Check(d, t, c);
  /* Read before the move, after which the thread may already be on the CPU. If the CPU changes its
   * thread in between, the wrong one is preempted; the agent then hears of that. */
  const __u64 kick = c->current ? SCX_KICK_PREEMPT : SCX_KICK_IDLE;
  if (t && d->status == kBpfComplete) {
    d->status = BarrierOf(word) == d->barrier && PhaseOf(word) == kPhaseRunnable
                    ? MoveTo(cpu, id, t, word)
                    : kBpfTargetStale;
    if (d->status == kBpfComplete) {
      c->decided_at = now;
      scx_bpf_kick_cpu(cpu, kick);
    }
  }
  /* An enforced decision may have run its thread meanwhile; report the state that it created. */
  d->word = d->status == kBpfComplete ? WordOf(d->barrier, cpu, kPhaseDecided) : t ? t->word : 0;
  d->current = c->current;
  d->cpu_seqnum = c->seqnum;
  return 0;
}

SEC(".struct_ops")
struct sched_ext_ops scheduler = {
    .select_cpu = (void*)select_cpu,
    .enqueue = (void*)enqueue,
    .dispatch = (void*)dispatch,
    .running = (void*)running,
    .stopping = (void*)stopping,
    .quiescent = (void*)quiescent,
    .set_cpumask = (void*)set_cpumask,
    .enable = (void*)enable,
    .disable = (void*)disable,
    .init = (void*)init,
    .exit = (void*)exit_scheduler,
    .flags = SCX_OPS_SWITCH_PARTIAL,
    .name = "sluice",
};
