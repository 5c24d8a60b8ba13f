/* Threads that take part in a job. They know nothing of Python.
 *
 * Why not a thread pool: a call on 10,000 instances takes a fraction of a millisecond, which is as long as waking up a sleeping thread and
 * waiting until it is done. Here the caller never waits for a helper to wake up:
 *   1. share() announces a task (crew.task, and crew.round goes up by one) and rings for the helpers that sleep.
 *   2. The caller works on it itself, piece by piece (take_part); whoever is there takes the next piece by counting task->next up.
 *   3. When no piece is left it withdraws the task and waits for those helpers that had begun a piece (crew.inside). A helper that wakes
 *      up too late finds no task: it counts itself in before it looks, so that the task, which lies on the caller's stack, is not gone.
 *   4. A helper that has finished looks out for the next round for a moment (LOOKS) before it sleeps on its lock (wait_for_work): a
 *      series of short calls has it at hand.
 * One caller at a time has the helpers (crew.taken); others work alone. Results do not depend on who works on which piece. */

enum { CREW = 256, LOOKS = 4000 /* about 0.1 ms */ };

typedef struct {
    Range *run;
    const Job *job;
    Py_ssize_t pieces, next;
    int helpers, status;
} Task;

static void take_part(Task *task)
{
    for (;;) {
#if HAS_CREW
        const Py_ssize_t i = __atomic_fetch_add(&task->next, 1, __ATOMIC_RELAXED);
#else
        const Py_ssize_t i = task->next++;
#endif
        if (i >= task->pieces) return;
        const int64_t n = task->job->instances;
        const int status = task->run(task->job, n * i / task->pieces, n * (i + 1) / task->pieces);
#if HAS_CREW
        if (status) __atomic_store_n(&task->status, status, __ATOMIC_RELAXED); /* any of them will do */
#else
        if (status) task->status = status;
#endif
    }
}

#if HAS_CREW
static struct {
    Task *task;      /* what is announced, or NULL */
    Py_ssize_t round; /* of announcements */
    int taken;       /* by a caller */
    int inside;      /* helpers that may be at work */
    int count;
    int asleep[CREW];
    PyThread_type_lock bell[CREW]; /* held, but for the moment in which a sleeper is woken */
} crew;

static void breathe(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void wait_for_work(int me, Py_ssize_t seen)
{
    for (int look = 0; look < LOOKS; look++) {
        if (__atomic_load_n(&crew.round, __ATOMIC_SEQ_CST) != seen) return;
        breathe();
    }
    __atomic_store_n(&crew.asleep[me], 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&crew.round, __ATOMIC_SEQ_CST) != seen && __atomic_exchange_n(&crew.asleep[me], 0, __ATOMIC_SEQ_CST)) return;
    PyThread_acquire_lock(crew.bell[me], WAIT_LOCK); /* whoever took `asleep` back to 0 rings */
}

static void help(void *number)
{
    const int me = (int)(Py_ssize_t)number;
    Py_ssize_t seen = 0;
    for (;;) {
        wait_for_work(me, seen);
        seen = __atomic_load_n(&crew.round, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&crew.inside, 1, __ATOMIC_SEQ_CST); /* before the look at the task: a withdrawn one is not seen any more */
        Task *task = __atomic_load_n(&crew.task, __ATOMIC_SEQ_CST);
        if (task && me < task->helpers) take_part(task);
        __atomic_fetch_sub(&crew.inside, 1, __ATOMIC_SEQ_CST);
    }
}

/* See to it that there are `wanted` helpers, or as many as can be had; the interpreter lock is held. */
static int hire(int wanted)
{
    while (crew.count < wanted && crew.count < CREW) {
        const int me = crew.count;
        PyThread_type_lock bell = PyThread_allocate_lock();
        if (!bell) break;
        PyThread_acquire_lock(bell, WAIT_LOCK);
        crew.bell[me] = bell;
        crew.asleep[me] = 0;
        if (PyThread_start_new_thread(help, (void *)(Py_ssize_t)me) == (unsigned long)-1) {
            PyThread_free_lock(bell);
            break;
        }
        __atomic_store_n(&crew.count, me + 1, __ATOMIC_SEQ_CST);
    }
    return crew.count < wanted ? crew.count : wanted;
}
#endif

/* All pieces of a task, with as many helpers as it asks for and there are. */
static int share(Task *task)
{
#if HAS_CREW
    if (task->helpers > 0 && task->pieces > 1 && !__atomic_exchange_n(&crew.taken, 1, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(&crew.task, task, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&crew.round, 1, __ATOMIC_SEQ_CST);
        const int count = __atomic_load_n(&crew.count, __ATOMIC_SEQ_CST);
        for (int i = 0; i < count && i < task->helpers; i++)
            if (__atomic_exchange_n(&crew.asleep[i], 0, __ATOMIC_SEQ_CST)) PyThread_release_lock(crew.bell[i]);
        take_part(task);
        __atomic_store_n(&crew.task, (Task *)NULL, __ATOMIC_SEQ_CST);
        for (int look = 0; __atomic_load_n(&crew.inside, __ATOMIC_SEQ_CST); look++) {
            if (look < LOOKS) breathe();
            else sched_yield();
        }
        __atomic_store_n(&crew.taken, 0, __ATOMIC_SEQ_CST);
        return task->status;
    }
#endif
    take_part(task);
    return task->status;
}
