/* Two sets of members joined, for the Accumulator: label by label the state of one takes in the other; included once for each type.
 *
 * With shares alpha + beta = 1 of the weight and delta the distance between the means,
 *     mean = mean_a + beta delta,  EU = alpha [EU_a + D(mean_a || mean)] + beta [EU_b + D(mean_b || mean)]
 * (labelwise/accumulator.py). Means are pairs, the rounded value and what rounding lost, so that delta is as accurate as the smaller of
 * two nearly equal numbers allows. The lighter set moves the mean of the heavier. */

/* A mean of both sets (a pair), moved from the heavier one's; gives the distance of the means. */
static ALWAYS_INLINE REAL NAME(move)(REAL *high, REAL *low, REAL b, REAL b_low, REAL alpha, REAL beta)
{
    const REAL delta = (b - *high) + (b_low - *low), step = beta > alpha ? -alpha * delta : beta * delta;
    const REAL from = beta > alpha ? b : *high, rest = beta > alpha ? b_low : *low;
    const REAL sum = from + step, part = sum - from, lost = (from - (sum - part)) + (step - part) + rest;
    *high = sum + lost;
    *low = (sum - *high) + lost;
    return delta;
}

/* -x log2 x and -c log2 c of a probability and its complement, and -log2 of both. */
typedef struct { REAL x, c, log_x, log_c; } NAME(Logs);
static ALWAYS_INLINE NAME(Logs) NAME(logs)(REAL x, REAL c)
{
    const int low = x <= c;
    const REAL u = low ? x : c, log_u = NAME(neg_log2)(u > TINY ? u : TINY), a = u * log_u, b = NAME(complement_term)(u), rest = b / (1 - u);
    const NAME(Logs) both = {low ? a : b, low ? b : a, low ? log_u : rest, low ? rest : log_u};
    return both;
}

/* KL in bits of a mean (x, c) at distance d from the new one. */
static ALWAYS_INLINE REAL NAME(join_kl)(REAL x, REAL c, REAL d, REAL t, REAL tc, NAME(Logs) own, NAME(Logs) of_mean)
{
    const REAL t_sum = x + t, c_sum = c + tc, e = d * (REAL)LOG2_E, both = t_sum * c_sum; /* one division for d/t_sum and d/c_sum */
    const REAL ratio = d / (both > TINY ? both : TINY);
    const REAL left = NAME(kl_term)(x, e, ratio * c_sum, own.x, of_mean.log_x, 1), right = NAME(kl_term)(c, -e, -(ratio * t_sum), own.c, of_mean.log_c, 1);
    return NAME(clamp)(left) + NAME(clamp)(right);
}

static ALWAYS_INLINE REAL NAME(norm_of)(REAL x, REAL c)
{
    const REAL t = NAME(cut)(x), rest = NAME(cut)(c);
    return SQRT(t * t + rest * rest);
}

/* The divergence of a mean (x, c) at distance d from the new one (t, tc). */
static ALWAYS_INLINE REAL NAME(join_divergence)(const enum loss loss, REAL x, REAL c, REAL d, REAL t, REAL tc, NAME(Logs) own, NAME(Logs) of_mean, REAL unit)
{
    if (loss == LOG) return NAME(join_kl)(x, c, d, t, tc, own, of_mean) * unit;
    d = NAME(keep)(d, NAME(magnitude)(d), CUT_SQUARE * (REAL)1e-3); /* what is cut here would add up from update to update */
    if (loss == SQUARED) return d * d;
    const REAL norm = NAME(norm_of)(t, tc);
    return d * d / (norm * (NAME(norm_of)(x, c) * norm + NAME(cut)(x) * NAME(cut)(t) + NAME(cut)(c) * NAME(cut)(tc)));
}

/* A tile: s is the state that takes in `from`, TILE numbers of each array; OTHER counts only under costs; of one member from[MEAN] are its probabilities and the rest NULL. */
static ALWAYS_INLINE void NAME(join_body)(const enum loss loss, const int member, REAL *const *s, const REAL *const *from, const REAL *restrict alphas, const REAL *restrict betas, const REAL *const *cost, REAL unit)
{
    REAL *restrict mean = s[MEAN], *restrict mean_rest = s[MEAN_REST], *restrict complement = s[COMPLEMENT], *restrict complement_rest = s[COMPLEMENT_REST];
    REAL *restrict entropy = s[ENTROPY], *restrict entropy_rest = s[ENTROPY_REST], *restrict spread = s[SPREAD], *restrict other = s[OTHER];
    const REAL *restrict p = from[MEAN];
    EACH(i) {
        const REAL alpha = alphas[i], beta = betas[i], x = NAME(clip)(p[i]), x_low = member ? 0 : from[MEAN_REST][i];
        const REAL c = member ? 1 - x : from[COMPLEMENT][i], c_low = member ? (1 - c) - x : from[COMPLEMENT_REST][i];
        const REAL old_t = mean[i], old_c = complement[i];
        REAL t = old_t, t_low = mean_rest[i], tc = old_c, tc_low = complement_rest[i], h = entropy[i], h_low = entropy_rest[i];
        REAL own = 0, regret = 0, other_regret = 0, spread_b = member ? 0 : from[SPREAD][i], other_b = member || loss != COST ? 0 : from[OTHER][i];
        const REAL delta_t = NAME(move)(&t, &t_low, x, x_low, alpha, beta), delta_c = NAME(move)(&tc, &tc_low, c, c_low, alpha, beta);
        const REAL delta = t <= tc ? delta_t : -delta_c;
        NAME(Logs) none = {0, 0, 0, 0}, of_b = none, of_old = none, of_mean = none;
        if (loss == LOG) { of_b = NAME(logs)(x, c); of_old = NAME(logs)(old_t, old_c); of_mean = NAME(logs)(t, tc); own = (of_b.x + of_b.c) * unit; }
        if (loss == SQUARED) own = x * c;
        if (loss == SPHERICAL) own = 2 * (x * c) / (1 + NAME(norm_of)(x, c));
        if (loss == COST) {
            const REAL yes = cost[1][i] * x, no = cost[0][i] * c;
            const int act = x <= c ? x > cost[2][i] : c < cost[3][i];
            own = NAME(smaller)(yes, no);
            regret = act ? 0 : NAME(clamp)(no - yes);
            other_regret = act ? NAME(clamp)(yes - no) : 0;
            if (member) { spread_b = regret; other_b = other_regret; }
        }
        if (!member) own = from[ENTROPY][i];
        NAME(move)(&h, &h_low, own, member ? 0 : from[ENTROPY_REST][i], alpha, beta);
        REAL first = spread[i], second = spread_b;
        if (loss != COST) {
            first += NAME(join_divergence)(loss, old_t, old_c, -beta * delta, t, tc, of_old, of_mean, unit);
            second += NAME(join_divergence)(loss, x, c, alpha * delta, t, tc, of_b, of_mean, unit);
        }
        mean[i] = t; mean_rest[i] = t_low; complement[i] = tc; complement_rest[i] = tc_low;
        entropy[i] = h; entropy_rest[i] = h_low;
        spread[i] = alpha * first + beta * second;
        if (loss == COST) other[i] = alpha * other[i] + beta * other_b;
    }
}

#define JOIN_OF(loss) \
    static void NAME(loss##_join)(const int member, REAL *const *s, const REAL *const *from, const REAL *alphas, const REAL *betas, const REAL *const *cost, REAL unit) \
    { \
        if (member) NAME(join_body)(loss, 1, s, from, alphas, betas, cost, unit); \
        else NAME(join_body)(loss, 0, s, from, alphas, betas, cost, unit); \
    }
JOIN_OF(LOG)
JOIN_OF(SQUARED)
JOIN_OF(SPHERICAL)
JOIN_OF(COST)
#undef JOIN_OF

/* The shares of a tile's elements and, of a cost, its numbers: those of an instance or class for each of them. */
static void NAME(spread_out)(const Job *job, int64_t e0, int64_t len, REAL *alphas, REAL *betas, REAL *const *costs)
{
    const int64_t classes = job->classes;
    const REAL *alpha = (const REAL *)job->weights, *beta = alpha + job->instances;
    for (int64_t n = e0 / classes, k = e0 % classes, i = 0; i < len; n++, k = 0) {
        const int64_t stop = i + classes - k < len ? i + classes - k : len;
        for (int j = 0; j < 4 && job->loss == COST; j++) memcpy(costs[j] + i, (const REAL *)job->costs + j * classes + k, (size_t)(stop - i) * sizeof(REAL));
        if (!job->element_weights) { i = stop; continue; }
        const REAL a = alpha[n], b = beta[n];
        for (; i < stop; i++) { alphas[i] = a; betas[i] = b; }
    }
}

/* A tile of a state before any member: means 0 and, of the complements, 1. */
static void NAME(begin)(REAL *const *state, size_t bytes)
{
    for (int j = 0; j < STATE; j++) memset(state[j], 0, bytes);
    for (size_t i = 0; i < bytes / sizeof(REAL); i++) state[COMPLEMENT][i] = 1;
}

/* Instances from ... to of a job: out[0..7] is the state, in[0..7] what it takes in. */
static int NAME(join)(const Job *job, int64_t start, int64_t stop)
{
    const int64_t end = stop * job->classes;
    const int member = !job->in[MEAN_REST];
    REAL space[STATE][TILE], given[STATE][TILE], alphas[TILE], betas[TILE], costs[4][TILE];
    REAL *state[STATE], *const cost[4] = {costs[0], costs[1], costs[2], costs[3]};
    const REAL *from[STATE], *const fixed[4] = {costs[0], costs[1], costs[2], costs[3]};
    memset(space, 0, sizeof space);
    memset(given, 0, sizeof given);
    memset(costs, 0, sizeof costs);
    for (int i = 0; i < TILE; i++) {
        alphas[i] = job->element_weights ? 1 : ((const REAL *)job->weights)[0];
        betas[i] = job->element_weights ? 0 : ((const REAL *)job->weights)[1];
    }
    for (int64_t e0 = start * job->classes; e0 < end; e0 += TILE) {
        const int64_t len = end - e0 < TILE ? end - e0 : TILE;
        const size_t bytes = (size_t)len * sizeof(REAL);
        if (job->element_weights || job->loss == COST) NAME(spread_out)(job, e0, len, alphas, betas, cost);
        for (int j = 0; j < STATE; j++) {
            REAL *place = job->out[j] ? (REAL *)job->out[j] + e0 : space[j];
            from[j] = job->in[j] ? (const REAL *)job->in[j] + e0 : NULL;
            state[j] = len < TILE ? space[j] : place;
            if (len < TILE && job->out[j] && !job->fresh) memcpy(space[j], place, bytes);
            if (len < TILE && from[j]) from[j] = memcpy(given[j], from[j], bytes);
        }
        if (job->fresh) NAME(begin)(state, bytes);
        switch (job->loss) {
        case LOG: NAME(LOG_join)(member, state, from, alphas, betas, fixed, (REAL)job->unit); break;
        case SQUARED: NAME(SQUARED_join)(member, state, from, alphas, betas, fixed, 1); break;
        case SPHERICAL: NAME(SPHERICAL_join)(member, state, from, alphas, betas, fixed, 1); break;
        default: NAME(COST_join)(member, state, from, alphas, betas, fixed, 1);
        }
        for (int j = 0; j < STATE && len < TILE; j++)
            if (job->out[j]) memcpy((REAL *)job->out[j] + e0, space[j], bytes);
    }
    return 0;
}

/* TU, AU and EU (out[0..2]) of a state (in[0..7]) and their sums (out[3..5]), some rows at a time. */
static int NAME(conclude)(const Job *job, int64_t start, int64_t stop)
{
    const int64_t k = job->classes, block = rows_at_once(k);
    const REAL *const *s = (const REAL *const *)job->in, *restrict t = s[MEAN], *restrict c = s[COMPLEMENT];
    REAL *restrict tu = job->out[0], *restrict au = job->out[1], *restrict eu = job->out[2];
    const REAL unit = (REAL)job->unit, *costs = (const REAL *)job->costs;
    for (int64_t n0 = start; n0 < stop; n0 += block) {
        const int64_t rows = stop - n0 < block ? stop - n0 : block, first = n0 * k, end = first + rows * k;
        memcpy(au + first, s[ENTROPY] + first, (size_t)(rows * k) * sizeof(REAL));
        memcpy(eu + first, s[SPREAD] + first, (size_t)(rows * k) * sizeof(REAL));
        if (job->loss == LOG) for (int64_t e = first; e < end; e++) { const NAME(Logs) both = NAME(logs)(t[e], c[e]); tu[e] = (both.x + both.c) * unit; }
        if (job->loss == SQUARED) for (int64_t e = first; e < end; e++) tu[e] = t[e] * c[e];
        if (job->loss == SPHERICAL) for (int64_t e = first; e < end; e++) tu[e] = 2 * (t[e] * c[e]) / (1 + NAME(norm_of)(t[e], c[e]));
        for (int64_t e = first, i = 0; job->loss == COST && e < end; e++, i = i + 1 == k ? 0 : i + 1) {
            tu[e] = NAME(smaller)(costs[k + i] * t[e], costs[i] * c[e]);
            eu[e] = NAME(smaller)(eu[e], s[OTHER][e]);
        }
        for (int j = 0; j < 3; j++) NAME(row_sums)((const REAL *)job->out[j] + first, rows, k, (REAL *)job->out[3 + j] + n0);
    }
    return 0;
}
