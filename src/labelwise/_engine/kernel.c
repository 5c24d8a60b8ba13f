/* Label-wise and joint uncertainty of ensembles, and label-wise uncertainty of Dirichlet distributions.
 *
 * Python-free: kernel.h is all that callers see, and module.c makes a Python module of it.
 * Do not compile with -ffast-math: it would change the floating-point mode of the whole process.
 *
 *     module.c                  the Python module _kernel: keywords, buffers, the interpreter lock
 *     kernel.c                  levels of instructions, and the functions that callers see
 *     |-- kernel.h              one struct for each kind of job
 *     |-- coefficients.h        polynomials and quadrature rules, written by .ci/make_coefficients.py
 *     |-- threads.h             the pool of threads that share a job
 *     `-- level.h               once for each level of instructions
 *         |-- type.h            ensembles, once for float and once for double
 *         |   |-- arithmetic.h        logarithms and terms that lose no digits
 *         |   |-- losses.h            TU, AU and EU of a tile of 256 labels, for each loss
 *         |   |-- sums_and_checks.h   sums over classes; whether values are probabilities
 *         |   |-- layouts.h           how arrays are cut into tiles: lw_split and lw_check
 *         |   `-- slopes.h            derivatives: lw_slopes
 *         `-- dirichlet.h       Dirichlet distributions and mixtures: lw_dirichlet
 *             |-- beta_functions.h    exponentials, logarithms, differences of digamma functions
 *             `-- beta_losses.h       TU, AU and EU of a tile of Beta laws, for each loss
 */
#include "kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coefficients.h"

#define TILE 256
#define BLOCK 4096
#define FEW 10    /* members up to which EU, under squared loss, is accurate enough to be added to AU */
#define NARROW 64 /* classes up to which rows are added up several at a time */

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define FMA __builtin_fma
#else
#define ALWAYS_INLINE inline
#define FMA fma
#define restrict
#endif

/* Whether the kernel is compiled for more levels of instructions than the least, baseline; which of them
 * the processor has is asked at run time. On Zen 4, v4 takes 14 to 27 % less time than v3 for log loss
 * and, within 3 %, no more for squared loss. */
#if !defined(LW_ONE_LEVEL) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(_WIN32) && __GNUC__ >= 11
#define HAS_LEVELS 1
#else
#define HAS_LEVELS 0
#endif

/* Vectors of 16 bytes, which every processor of these has, for sums over short rows: no compiler finds
 * them by itself. */
#if defined(__GNUC__)
#define HAS_VECTORS 1
#if defined(__clang__)
#define SHUFFLE(a, b, bits, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, bits, ...) __builtin_shuffle(a, b, (bits){__VA_ARGS__})
#endif
#define EVEN4(a, b) SHUFFLE(a, b, NAME(bit_vector), 0, 2, 4, 6)
#define ODD4(a, b) SHUFFLE(a, b, NAME(bit_vector), 1, 3, 5, 7)
#define EVEN2(a, b) SHUFFLE(a, b, NAME(bit_vector), 0, 2)
#define ODD2(a, b) SHUFFLE(a, b, NAME(bit_vector), 1, 3)
#else
#define HAS_VECTORS 0
#endif

/* A loop of fixed length; the arrays it touches never overlap. */
#if defined(__GNUC__) && !defined(__clang__)
#define EACH_OF(i, count) _Pragma("GCC ivdep") for (int i = 0; i < (count); i++)
#else
#define EACH_OF(i, count) for (int i = 0; i < (count); i++)
#endif
#define EACH(i) EACH_OF(i, TILE)

#include "threads.h"

static int lw_is_half(lw_type type)
{
    return type == LW_HALF || type == LW_BFLOAT16;
}

/* Rows of a block: if possible such that they fill whole tiles, because a part of one must be copied. */
static int64_t lw_rows_at_once(int64_t classes)
{
    int64_t rows = classes >= BLOCK ? 1 : BLOCK / classes;
    int64_t whole = TILE;
    while (whole > 1 && (whole / 2 * classes) % TILE == 0) whole /= 2;
    return rows < whole ? rows : rows / whole * whole;
}

/* The labels that a job asks for. */
static int64_t lw_label_count(const lw_events *events, int64_t classes)
{
    return events->offsets ? events->count : classes;
}

/* Each level has its functions under names of its own: lw_f32_v3_split and so on. */
#define PASTE_(kind, level, name) lw_##kind##_##level##_##name
#define PASTE(kind, level, name) PASTE_(kind, level, name)

#define LEVEL baseline
#include "level.h"
#undef LEVEL
#if HAS_LEVELS
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#define LEVEL v3
#include "level.h"
#undef LEVEL
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
#define LEVEL v4
#include "level.h"
#undef LEVEL
#pragma GCC pop_options
#endif

typedef struct {
    const char *name;
    lw_range *split[2], *slopes[2], *check[2]; /* of float and of double */
    lw_range *dirichlet;
} lw_level;

#define BOTH(level, name) {lw_f32_##level##_##name, lw_f64_##level##_##name}
#define ENTRY(level) \
    {#level, BOTH(level, split), BOTH(level, slopes), BOTH(level, check), \
     lw_beta_##level##_dirichlet}
static const lw_level lw_levels[] = {
    ENTRY(baseline),
#if HAS_LEVELS
    ENTRY(v3),
    ENTRY(v4),
#endif
};

int lw_level_count(void)
{
    int count = 1;
#if HAS_LEVELS
#define HAS(feature) (__builtin_cpu_supports(feature) != 0)
    __builtin_cpu_init();
    const int bits = HAS("bmi") && HAS("bmi2") && HAS("lzcnt") && HAS("movbe");
    const int v3 = bits && HAS("avx2") && HAS("f16c") && HAS("fma");
    const int avx512 = HAS("avx512f") && HAS("avx512bw") && HAS("avx512cd") && HAS("avx512dq");
    const int v4 = v3 && avx512 && HAS("avx512vl");
    count += v3 + v4;
#undef HAS
#endif
    return count;
}

const char *lw_level_name(int level)
{
    return lw_levels[level].name;
}

int lw_find_level(const char *name)
{
    for (int i = 0; i < lw_level_count(); i++)
        if (!strcmp(lw_levels[i].name, name)) return i;
    return -1;
}

int lw_has_threads(void)
{
    return HAS_THREADS;
}

static int lw_has_gradient(lw_loss loss)
{
    return loss == LW_LOG || loss == LW_SQUARED;
}

lw_status lw_split(const lw_run *run, const lw_split_job *job)
{
    if (job->probs.members < 1 || job->probs.classes < 1) return LW_REFUSED;
    lw_range *work = lw_levels[run->level].split[job->probs.type == LW_DOUBLE];
    return lw_share(run, work, job, job->probs.instances);
}

lw_status lw_slopes(const lw_run *run, const lw_slopes_job *job)
{
    if (job->probs.members < 1 || job->probs.classes < 1 || !lw_has_gradient(job->loss)) return LW_REFUSED;
    if (lw_is_half(job->probs.type)) return LW_REFUSED;
    lw_range *work = lw_levels[run->level].slopes[job->probs.type == LW_DOUBLE];
    return lw_share(run, work, job, job->probs.instances);
}

lw_status lw_check(const lw_run *run, const lw_check_job *job)
{
    if (job->probs.members < 1 || job->probs.classes < 1) return LW_REFUSED;
    lw_range *work = lw_levels[run->level].check[job->probs.type == LW_DOUBLE];
    return lw_share(run, work, job, job->probs.instances);
}

lw_status lw_dirichlet(const lw_run *run, const lw_dirichlet_job *job)
{
    if (job->members < 1 || job->classes < 1 || (job->members > 1 && !job->mixture)) return LW_REFUSED;
    return lw_share(run, lw_levels[run->level].dirichlet, job, job->instances);
}
