/* Dirichlet distributions and their mixtures for one level of instructions, LEVEL; included by dirichlet.c once for each. */

#define NAME(x) PASTE(LEVEL, x)
#include "beta_functions.h"
#include "beta_losses.h"

/* The concentrations of rows first ... first + rows of one member: of each label, and of all others, added up from both ends. */
static void NAME(add_up)(const Job *job, int64_t member, int64_t first, int64_t rows, double *a, double *b)
{
    const int64_t classes = job->classes, labels = job->labels;
    for (int64_t r = 0; r < rows; r++, a += labels, b += labels) {
        const int64_t start = (member * job->instances + first + r) * classes;
        const double *wide = (const double *)job->alpha + start;
        const float *narrow = (const float *)job->alpha + start;
#define ALPHA(k) (job->single ? (double)narrow[k] : wide[k])
        if (job->offsets) {
            for (int64_t e = 0; e < 2 * labels; e++) {
                double sum = 0;
                for (int64_t j = job->offsets[e]; j < job->offsets[e + 1]; j++) sum += ALPHA(job->positions[j]);
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

/* The tile of laws from `i` on; those that always happen (b = 0) are replaced, and the place behind the last is filled. */
static void NAME(fill)(const Job *job, const double *a, const double *b, int64_t i, int64_t count, Tile *x)
{
    for (int j = 0; j < TILE; j++) {
        const int64_t at = i + (i + j < count ? j : 0);
        x->sure[j] = !(b[at] > 0);
        x->a[j] = a[at];
        x->b[j] = x->sure[j] ? a[at] : b[at];
        if (job->constants.loss != COST) continue;
        const double *costs = job->costs + at % job->labels;
        x->false_positive[j] = costs[0];
        x->false_negative[j] = costs[job->labels];
        x->below[j] = costs[2 * job->labels];
        x->above[j] = costs[3 * job->labels];
    }
}

/* A tile of laws of one kind: its own uncertainty. */
static void NAME(split_tile)(const Job *job, Tile *x)
{
    switch (job->constants.loss) {
    case LOG: NAME(log_tile)(&job->constants, x); break;
    case SQUARED: NAME(squared_tile)(&job->constants, x); break;
    case SPHERICAL: NAME(spherical_tile)(&job->constants, x); break;
    case COST: NAME(cost_tile)(&job->constants, x); break;
    }
    for (int j = 0; j < TILE; j++)
        if (x->sure[j]) x->total[j] = x->aleatoric[j] = x->epistemic[j] = 0;
}

/* A tile of mixtures: the members' own uncertainty, and the disagreement of their means by Pythagoras' theorem for Bregman divergences.
 * Deviations from the mean are taken from the heaviest member, so that they are 0 where all agree. */
static void NAME(mix_tile)(const Job *job, const double *a, const double *b, int64_t i, int64_t count, int64_t first, Tile *x, double *space)
{
    const int64_t members = job->members, size = count;
    double *t = space, *c = t + members * TILE, *w = c + members * TILE, *d = w + members * TILE;
    double aleatoric[TILE] = {0}, epistemic[TILE] = {0}, shift_t[TILE] = {0}, shift_c[TILE] = {0};
    int64_t heaviest[TILE] = {0};
    for (int j = 0; j < TILE; j++) x->mean[j] = x->rest[j] = x->disagreement[j] = x->other[j] = 0;
    for (int64_t m = 0; m < members; m++) {
        NAME(fill)(job, a + m * size, b + m * size, i, count, x);
        NAME(split_tile)(job, x);
        for (int j = 0; j < TILE; j++) {
            const int64_t at = i + (i + j < count ? j : 0), row = first + at / job->labels;
            const double weight = !job->weights ? 1.0 / (double)members : job->weights[job->own_weights ? m * job->instances + row : m];
            const double s = a[m * size + at] + b[m * size + at];
            w[m * TILE + j] = weight;
            t[m * TILE + j] = a[m * size + at] / s;
            c[m * TILE + j] = b[m * size + at] / s;
            aleatoric[j] += weight * x->aleatoric[j];
            epistemic[j] += weight * x->epistemic[j];
            x->mean[j] += weight * t[m * TILE + j];
            x->rest[j] += weight * c[m * TILE + j];
            if (weight > w[heaviest[j] * TILE + j]) heaviest[j] = m;
        }
    }
    for (int64_t m = 0; m < members; m++)
        for (int j = 0; j < TILE; j++) {
            shift_t[j] += w[m * TILE + j] * (t[m * TILE + j] - t[heaviest[j] * TILE + j]);
            shift_c[j] += w[m * TILE + j] * (c[m * TILE + j] - c[heaviest[j] * TILE + j]);
        }
    for (int64_t m = 0; m < members; m++) {
        for (int j = 0; j < TILE; j++) {
            const int64_t h = heaviest[j] * TILE + j;
            d[j] = x->mean[j] <= x->rest[j] ? (t[m * TILE + j] - t[h]) - shift_t[j] : shift_c[j] - (c[m * TILE + j] - c[h]);
        }
        NAME(disagree_tile)(&job->constants, x, t + m * TILE, c + m * TILE, w + m * TILE, d);
    }
    NAME(entropy_tile)(&job->constants, x);
    for (int j = 0; j < TILE; j++) {
        x->aleatoric[j] = aleatoric[j];
        x->epistemic[j] = epistemic[j] + (job->constants.loss == COST ? NAME(smaller)(x->disagreement[j], x->other[j]) : x->disagreement[j]);
    }
}

/* Instances from ... to, in groups of rows that fill some tiles. */
static int NAME(run)(const Job *job, int64_t from, int64_t to)
{
    const int64_t labels = job->labels, members = job->members, most = labels < 1024 ? 1024 / labels : 1;
    double *space = malloc(sizeof(double) * (size_t)(members * (2 * most * labels + 3 * TILE) + TILE));
    Tile *x = space ? malloc(sizeof *x) : NULL;
    if (!x) {
        free(space);
        return NO_MEMORY;
    }
    for (int64_t first = from; first < to; first += most) {
        const int64_t rows = to - first < most ? to - first : most, count = rows * labels;
        double *a = space, *b = a + members * count, *rest = b + members * count;
        for (int64_t m = 0; m < members; m++) NAME(add_up)(job, m, first, rows, a + m * count, b + m * count);
        for (int64_t i = 0; i < count; i += TILE) {
            if (job->mixture) {
                NAME(mix_tile)(job, a, b, i, count, first, x, rest);
            } else {
                NAME(fill)(job, a, b, i, count, x);
                NAME(split_tile)(job, x);
            }
            const int64_t at = first * labels + i, n = count - i < TILE ? count - i : TILE;
            const double *parts[3] = {x->total, x->aleatoric, x->epistemic};
            for (int p = 0; p < 3; p++)
                for (int64_t j = 0; j < n; j++) {
                    if (job->single) ((float *)job->out[p])[at + j] = (float)parts[p][j];
                    else ((double *)job->out[p])[at + j] = parts[p][j];
                }
        }
    }
    free(x);
    free(space);
    return 0;
}
#undef NAME
