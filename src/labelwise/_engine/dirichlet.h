/* Label-wise uncertainty of Dirichlet distributions and their mixtures: every label and event has a Beta law;
 * included by level.h.
 *
 * All arithmetic is in double precision, in tiles of a fixed length: the results do not depend on how the
 * instances are divided among threads. */

#define LAWS 128 /* in a tile */

typedef struct {
    double a[LAWS], b[LAWS], false_positive[LAWS], false_negative[LAWS], below[LAWS], above[LAWS];
    double mean[LAWS], rest[LAWS], disagreement[LAWS], other[LAWS];
    double total[LAWS], aleatoric[LAWS], epistemic[LAWS];
    int sure[LAWS];
    /* the tables of coefficients.h: seen as constants, they would make GCC unroll the wrong loops */
    const double *nodes, *weights, *chebyshev;
} NAME(laws);

#include "beta_functions.h"
#include "beta_losses.h"

/* The concentrations of rows first ... first + rows of one member: of each label, and of all others, added
 * up from both ends. */
static void NAME(add_up)(const lw_dirichlet_job *job, int64_t member, int64_t first, int64_t rows, double *a,
                         double *b)
{
    const int64_t classes = job->classes, labels = lw_label_count(&job->events, classes);
    const int64_t *offsets = job->events.offsets, *positions = job->events.positions;
    const int single = job->type == LW_FLOAT;
    for (int64_t r = 0; r < rows; r++, a += labels, b += labels) {
        const int64_t start = (member * job->instances + first + r) * classes;
        const double *wide = (const double *)job->alpha + start;
        const float *narrow = (const float *)job->alpha + start;
#define ALPHA(k) (single ? (double)narrow[k] : wide[k])
        if (offsets) {
            for (int64_t e = 0; e < 2 * labels; e++) {
                double sum = 0;
                for (int64_t j = offsets[e]; j < offsets[e + 1]; j++) sum += ALPHA(positions[j]);
                (e % 2 ? b : a)[e / 2] = sum;
            }
            continue;
        }
        double before = 0, after = 0;
        for (int64_t k = 0; k < classes; k++) {
            a[k] = ALPHA(k);
            b[k] = before;
            before += a[k];
        }
        for (int64_t k = classes - 1; k >= 0; k--) {
            b[k] += after;
            after += a[k];
        }
#undef ALPHA
    }
}

/* The tile of laws from `i` on; those that always happen (b = 0) are replaced, and the place behind the
 * last is filled. */
static void NAME(fill)(const lw_dirichlet_job *job, const double *a, const double *b, int64_t i,
                       int64_t count, NAME(laws) *x)
{
    const int64_t labels = lw_label_count(&job->events, job->classes);
    for (int j = 0; j < LAWS; j++) {
        const int64_t at = i + (i + j < count ? j : 0);
        x->sure[j] = !(b[at] > 0);
        x->a[j] = a[at];
        x->b[j] = x->sure[j] ? a[at] : b[at];
        if (job->loss != LW_COST) continue;
        const double *costs = job->costs + at % labels;
        x->false_positive[j] = costs[0];
        x->false_negative[j] = costs[labels];
        x->below[j] = costs[2 * labels];
        x->above[j] = costs[3 * labels];
    }
}

/* A tile of laws of one kind: its own uncertainty. */
static void NAME(split_tile)(const lw_dirichlet_job *job, NAME(laws) *x)
{
    switch (job->loss) {
    case LW_LOG: NAME(log_tile)(job, x); break;
    case LW_SQUARED: NAME(squared_tile)(x); break;
    case LW_SPHERICAL: NAME(spherical_tile)(x); break;
    case LW_COST: NAME(cost_tile)(x); break;
    }
    for (int j = 0; j < LAWS; j++)
        if (x->sure[j]) x->total[j] = x->aleatoric[j] = x->epistemic[j] = 0;
}

/* A tile of mixtures: the members' own uncertainty, and the disagreement of their means by Pythagoras'
 * theorem for Bregman divergences. Deviations from the mean are taken from the heaviest member, so that
 * they are 0 where all agree. */
static void NAME(mix_tile)(const lw_dirichlet_job *job, const double *a, const double *b, int64_t i,
                           int64_t count, int64_t first, NAME(laws) *x, double *space)
{
    const int64_t members = job->members, size = count, labels = lw_label_count(&job->events, job->classes);
    double *t = space, *c = t + members * LAWS, *w = c + members * LAWS, *d = w + members * LAWS;
    double aleatoric[LAWS] = {0}, epistemic[LAWS] = {0}, shift_t[LAWS] = {0}, shift_c[LAWS] = {0};
    int64_t heaviest[LAWS] = {0};
    for (int j = 0; j < LAWS; j++) x->mean[j] = x->rest[j] = x->disagreement[j] = x->other[j] = 0;
    for (int64_t m = 0; m < members; m++) {
        NAME(fill)(job, a + m * size, b + m * size, i, count, x);
        NAME(split_tile)(job, x);
        for (int j = 0; j < LAWS; j++) {
            const int64_t at = i + (i + j < count ? j : 0), row = first + at / labels;
            double weight = 1.0 / (double)members;
            if (job->weights) weight = job->weights[job->weights_per_instance ? m * job->instances + row : m];
            const double s = a[m * size + at] + b[m * size + at];
            w[m * LAWS + j] = weight;
            t[m * LAWS + j] = a[m * size + at] / s;
            c[m * LAWS + j] = b[m * size + at] / s;
            aleatoric[j] += weight * x->aleatoric[j];
            epistemic[j] += weight * x->epistemic[j];
            x->mean[j] += weight * t[m * LAWS + j];
            x->rest[j] += weight * c[m * LAWS + j];
            if (weight > w[heaviest[j] * LAWS + j]) heaviest[j] = m;
        }
    }
    for (int64_t m = 0; m < members; m++)
        for (int j = 0; j < LAWS; j++) {
            shift_t[j] += w[m * LAWS + j] * (t[m * LAWS + j] - t[heaviest[j] * LAWS + j]);
            shift_c[j] += w[m * LAWS + j] * (c[m * LAWS + j] - c[heaviest[j] * LAWS + j]);
        }
    for (int64_t m = 0; m < members; m++) {
        for (int j = 0; j < LAWS; j++) {
            const int64_t h = heaviest[j] * LAWS + j;
            if (x->mean[j] <= x->rest[j]) d[j] = (t[m * LAWS + j] - t[h]) - shift_t[j];
            else d[j] = shift_c[j] - (c[m * LAWS + j] - c[h]);
        }
        NAME(disagree_tile)(job, x, t + m * LAWS, c + m * LAWS, w + m * LAWS, d);
    }
    NAME(entropy_tile)(job, x);
    for (int j = 0; j < LAWS; j++) {
        double disagreement = x->disagreement[j];
        if (job->loss == LW_COST) disagreement = NAME(smaller)(disagreement, x->other[j]); /* regrets */
        x->aleatoric[j] = aleatoric[j];
        x->epistemic[j] = epistemic[j] + disagreement;
    }
}

/* An instance range of a job, in groups of rows that fill some tiles. */
static lw_status NAME(dirichlet)(const void *given, int64_t from, int64_t to)
{
    const lw_dirichlet_job *job = given;
    const int64_t labels = lw_label_count(&job->events, job->classes), members = job->members;
    const int64_t group = labels < 1024 ? 1024 / labels : 1; /* rows */
    double *space = malloc(sizeof(double) * (size_t)(members * (2 * group * labels + 3 * LAWS) + LAWS));
    NAME(laws) *x = space ? malloc(sizeof *x) : NULL;
    if (!x) {
        free(space);
        return LW_NO_MEMORY;
    }
    x->nodes = lw_gauss_nodes;
    x->weights = lw_gauss_weights;
    x->chebyshev = lw_chebyshev;
    for (int64_t first = from; first < to; first += group) {
        const int64_t rows = to - first < group ? to - first : group, count = rows * labels;
        double *a = space, *b = a + members * count, *rest = b + members * count;
        for (int64_t m = 0; m < members; m++) NAME(add_up)(job, m, first, rows, a + m * count, b + m * count);
        for (int64_t i = 0; i < count; i += LAWS) {
            if (job->mixture) {
                NAME(mix_tile)(job, a, b, i, count, first, x, rest);
            } else {
                NAME(fill)(job, a, b, i, count, x);
                NAME(split_tile)(job, x);
            }
            const int64_t at = first * labels + i, n = count - i < LAWS ? count - i : LAWS;
            const double *parts[3] = {x->total, x->aleatoric, x->epistemic};
            for (int p = 0; p < 3; p++)
                for (int64_t j = 0; j < n; j++) {
                    if (job->type == LW_FLOAT) ((float *)job->labelwise[p])[at + j] = (float)parts[p][j];
                    else ((double *)job->labelwise[p])[at + j] = parts[p][j];
                }
        }
    }
    free(x);
    free(space);
    return LW_OK;
}

#undef LAWS
