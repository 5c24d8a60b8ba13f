/* One pool of threads for all jobs; included by kernel.c once.
 *
 * A call on 10,000 instances takes a fraction of a millisecond, which is as long as waking up a sleeping
 * thread and waiting until it is done. So the caller never waits for a worker to wake up:
 *   1. lw_share announces a task (lw_pool.task, and lw_pool.round goes up) and wakes the workers that sleep.
 *   2. The caller works on it itself, piece by piece; whoever is there takes the next piece by counting up.
 *   3. When no piece is left it withdraws the task and waits for those workers that had begun a piece
 *      (lw_pool.active). A worker that wakes up too late finds no task: it counts itself in before it
 *      looks, so that the task, which lies on the caller's stack, is not gone.
 *   4. A worker that has finished spins for a moment before it sleeps: a series of short calls has it at
 *      hand.
 * One caller at a time has the workers (lw_pool.taken); others work alone. */

#if !defined(LW_NO_THREADS) && defined(__GNUC__) && !defined(_WIN32) && !defined(__wasm__)
#define HAS_THREADS 1
#include <pthread.h>
#include <sched.h>
#else
#define HAS_THREADS 0
#endif

/* Does a job for instances from `start` to `stop`. */
typedef lw_status lw_range(const void *job, int64_t start, int64_t stop);

typedef struct {
    lw_range *work;
    const void *job;
    int64_t instances, pieces, next;
    int workers;
    lw_status status;
} lw_task;

static void lw_take_part(lw_task *task)
{
    for (;;) {
#if HAS_THREADS
        const int64_t i = __atomic_fetch_add(&task->next, 1, __ATOMIC_RELAXED);
#else
        const int64_t i = task->next++;
#endif
        if (i >= task->pieces) return;
        const int64_t n = task->instances;
        const lw_status status = task->work(task->job, n * i / task->pieces, n * (i + 1) / task->pieces);
#if HAS_THREADS
        if (status) __atomic_store_n(&task->status, status, __ATOMIC_RELAXED); /* any of them will do */
#else
        if (status) task->status = status;
#endif
    }
}

#if HAS_THREADS
enum { MAX_WORKERS = 256, SPINS = 4000 /* about 0.1 ms */, STACK_BYTES = 1 << 20 };

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int asleep;
} lw_worker;

static struct {
    lw_task *task;   /* what is announced, or NULL */
    int64_t round;   /* of announcements */
    int taken;       /* by a caller */
    int active;      /* workers that may be inside a task */
    int count;       /* of workers */
    lw_worker workers[MAX_WORKERS];
} lw_pool;
static pthread_mutex_t lw_growing = PTHREAD_MUTEX_INITIALIZER;

/* Threads do not survive a fork: the child begins without any. */
static void lw_forget_workers(void)
{
    memset(&lw_pool, 0, sizeof lw_pool);
    pthread_mutex_init(&lw_growing, NULL);
}

static void lw_relax_processor(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t lw_current_round(void)
{
    return __atomic_load_n(&lw_pool.round, __ATOMIC_SEQ_CST);
}

static void lw_wait_for_round_after(lw_worker *me, int64_t seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (lw_current_round() != seen) return;
        lw_relax_processor();
    }
    pthread_mutex_lock(&me->lock);
    __atomic_store_n(&me->asleep, 1, __ATOMIC_SEQ_CST);
    /* a caller announces first and then looks for sleepers: it has seen this one, or its round is seen
     * here */
    if (lw_current_round() != seen) __atomic_store_n(&me->asleep, 0, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&me->asleep, __ATOMIC_SEQ_CST)) pthread_cond_wait(&me->wake, &me->lock);
    pthread_mutex_unlock(&me->lock);
}

static void *lw_work(void *given)
{
    lw_worker *me = given;
    int64_t seen = 0;
    for (;;) {
        lw_wait_for_round_after(me, seen);
        seen = lw_current_round();
        /* before the look at the task: see 3 above */
        __atomic_fetch_add(&lw_pool.active, 1, __ATOMIC_SEQ_CST);
        lw_task *task = __atomic_load_n(&lw_pool.task, __ATOMIC_SEQ_CST);
        if (task && me - lw_pool.workers < task->workers) lw_take_part(task);
        __atomic_fetch_sub(&lw_pool.active, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static int lw_start_worker(lw_worker *worker)
{
    pthread_t thread;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes)) return 0;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->wake, NULL);
    worker->asleep = 0;
    const int started = !pthread_create(&thread, &attributes, lw_work, worker);
    pthread_attr_destroy(&attributes);
    return started;
}

/* See to it that there are `wanted` workers, or as many as can be had. */
static int lw_grow_pool(int wanted)
{
    static int handles_forks = 0;
    int count = __atomic_load_n(&lw_pool.count, __ATOMIC_SEQ_CST);
    if (count >= wanted) return wanted;
    pthread_mutex_lock(&lw_growing);
    if (!handles_forks) handles_forks = !pthread_atfork(NULL, NULL, lw_forget_workers);
    for (count = lw_pool.count; count < wanted && count < MAX_WORKERS; count++) {
        if (!handles_forks || !lw_start_worker(&lw_pool.workers[count])) break;
        __atomic_store_n(&lw_pool.count, count + 1, __ATOMIC_SEQ_CST);
    }
    pthread_mutex_unlock(&lw_growing);
    return count < wanted ? count : wanted;
}

static void lw_wake_workers(int count)
{
    for (lw_worker *worker = lw_pool.workers; worker < lw_pool.workers + count; worker++) {
        if (!__atomic_load_n(&worker->asleep, __ATOMIC_SEQ_CST)) continue;
        /* one that is just falling asleep holds its lock: the caller does not wait even for that */
        if (pthread_mutex_trylock(&worker->lock)) continue;
        __atomic_store_n(&worker->asleep, 0, __ATOMIC_SEQ_CST);
        pthread_cond_signal(&worker->wake);
        pthread_mutex_unlock(&worker->lock);
    }
}

static void lw_take_part_with_workers(lw_task *task)
{
    __atomic_store_n(&lw_pool.task, task, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&lw_pool.round, 1, __ATOMIC_SEQ_CST);
    lw_wake_workers(task->workers);
    lw_take_part(task);
    __atomic_store_n(&lw_pool.task, (lw_task *)NULL, __ATOMIC_SEQ_CST);
    for (int i = 0; __atomic_load_n(&lw_pool.active, __ATOMIC_SEQ_CST); i++) {
        if (i < SPINS) lw_relax_processor();
        else sched_yield();
    }
    __atomic_store_n(&lw_pool.taken, 0, __ATOMIC_SEQ_CST);
}
#endif

/* All pieces of a job, with as many workers as it asks for and there are. */
static lw_status lw_share(const lw_run *run, lw_range *work, const void *job, int64_t instances)
{
    lw_task task = {work, job, instances, run->pieces, 0, run->workers, LW_OK};
#if HAS_THREADS
    if (task.workers > 0 && task.pieces > 1) task.workers = lw_grow_pool(task.workers);
    if (task.workers > 0 && task.pieces > 1 && !__atomic_exchange_n(&lw_pool.taken, 1, __ATOMIC_SEQ_CST)) {
        lw_take_part_with_workers(&task);
        return task.status;
    }
#endif
    lw_take_part(&task);
    return task.status;
}
