/* Threads that take part in a job. They know nothing of Python.
 *
 * A caller never waits for a helper to wake up: it announces its task, works on it piece by piece, withdraws it, and then waits for those
 * that had begun a piece. A helper that has finished looks out for more work for a moment before it sleeps, so that a series of short calls
 * has it at hand; one that woke up on the caller's core, where it would only be in its way, goes to another. One caller at a time has the
 * helpers; others work alone. */

enum { CREW = 256, LOOKS = 4000 /* about 0.1 ms */ };

typedef struct {
    Range *run;
    const Job *job;
    Py_ssize_t pieces, next;
    int helpers, status, core; /* the caller's */
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

static int core(void)
{
#if defined(__linux__)
    return sched_getcpu();
#else
    return -1;
#endif
}

/* Move this thread to another core: a busy system wakes a thread where it slept, even if that is the caller's core and another is idle. */
static int step_aside(int from)
{
#if defined(__linux__)
    cpu_set_t all, rest;
    if (sched_getaffinity(0, sizeof all, &all)) return 0;
    rest = all;
    CPU_CLR(from, &rest);
    return CPU_COUNT(&rest) && !sched_setaffinity(0, sizeof rest, &rest) && !sched_setaffinity(0, sizeof all, &all);
#else
    (void)from;
    return 0;
#endif
}

static void wait_for_work(int me, Py_ssize_t seen, int looks)
{
    for (int look = 0; look < looks; look++) {
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
    for (int looks = LOOKS;;) {
        wait_for_work(me, seen, looks);
        seen = __atomic_load_n(&crew.round, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&crew.inside, 1, __ATOMIC_SEQ_CST); /* before the look at the task: a withdrawn one is not seen any more */
        Task *task = __atomic_load_n(&crew.task, __ATOMIC_SEQ_CST);
        const int callers = task ? task->core : -1, in_the_way = callers >= 0 && callers == core();
        if (task && me < task->helpers && !in_the_way) take_part(task);
        __atomic_fetch_sub(&crew.inside, 1, __ATOMIC_SEQ_CST);
        looks = in_the_way ? 0 : LOOKS;
        if (in_the_way && step_aside(callers)) seen--; /* and look again */
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
        task->core = core();
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
