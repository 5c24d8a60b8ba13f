/* Two sets of members joined, for the Accumulator: label by label the state of one takes in the other;
 * included by type.h. Log and squared loss only: other losses take the general code.
 *
 * With shares alpha + beta = 1 of the weight and delta the distance between the means,
 *     mean = mean_a + beta delta,  EU = alpha [EU_a + D(mean_a || mean)] + beta [EU_b + D(mean_b || mean)]
 * (labelwise/_engine/joining.py). Means are pairs, the rounded value and what rounding lost, so that delta
 * is as accurate as the smaller of two nearly equal numbers allows. The lighter set moves the mean of the
 * heavier. */

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
typedef struct { REAL x, c, log_x, log_c; } NAME(logs);

static ALWAYS_INLINE NAME(logs) NAME(logs_of)(REAL x, REAL c)
{
    const int low = x <= c;
    const REAL u = low ? x : c, log_u = NAME(neg_log2)(u > TINY ? u : TINY);
    const REAL a = u * log_u, b = NAME(complement_term)(u), rest = b / (1 - u);
    const NAME(logs) both = {low ? a : b, low ? b : a, low ? log_u : rest, low ? rest : log_u};
    return both;
}

/* KL in bits of a mean (x, c) at distance d from the new one (t, tc). */
static ALWAYS_INLINE REAL NAME(join_kl)(REAL x, REAL c, REAL d, REAL t, REAL tc, NAME(logs) own,
                                        NAME(logs) of_mean)
{
    /* one division for d/t_sum and d/c_sum */
    const REAL t_sum = x + t, c_sum = c + tc, e = d * (REAL)LW_LOG2_E, both = t_sum * c_sum;
    const REAL ratio = d / (both > TINY ? both : TINY);
    const REAL left = NAME(kl_term)(x, e, ratio * c_sum, own.x, of_mean.log_x, 1);
    const REAL right = NAME(kl_term)(c, -e, -(ratio * t_sum), own.c, of_mean.log_c, 1);
    return NAME(clamp)(left) + NAME(clamp)(right);
}

static ALWAYS_INLINE REAL NAME(join_square)(REAL d)
{
    /* what is cut here would add up from update to update */
    d = NAME(keep)(d, NAME(magnitude)(d), CUT_SQUARE * (REAL)1e-3);
    return d * d;
}

/* The arrays of a tile: the state s takes in `from`; of one member from[LW_MEAN] are its probabilities and
 * the rest NULL. */
typedef struct {
    REAL *s[LW_STATE];
    const REAL *from[LW_STATE];
    REAL alphas[TILE], betas[TILE], unit;
} NAME(join_tile);

static ALWAYS_INLINE void NAME(join_body)(const lw_loss loss, const int member, NAME(join_tile) *x)
{
    REAL *restrict mean = x->s[LW_MEAN], *restrict mean_rest = x->s[LW_MEAN_REST];
    REAL *restrict complement = x->s[LW_COMPLEMENT], *restrict complement_rest = x->s[LW_COMPLEMENT_REST];
    REAL *restrict entropy = x->s[LW_ENTROPY], *restrict entropy_rest = x->s[LW_ENTROPY_REST];
    REAL *restrict spread = x->s[LW_SPREAD];
    const REAL *const *from = x->from, *restrict p = from[LW_MEAN];
    const REAL *restrict alphas = x->alphas, *restrict betas = x->betas, unit = x->unit;
    EACH(i) {
        const REAL alpha = alphas[i], beta = betas[i];
        const REAL b_t = NAME(clip)(p[i]), b_t_low = member ? 0 : from[LW_MEAN_REST][i];
        const REAL b_c = member ? 1 - b_t : from[LW_COMPLEMENT][i];
        const REAL b_c_low = member ? (1 - b_c) - b_t : from[LW_COMPLEMENT_REST][i];
        const REAL a_t = mean[i], a_c = complement[i];
        REAL t = a_t, t_low = mean_rest[i], c = a_c, c_low = complement_rest[i];
        const REAL delta_t = NAME(move)(&t, &t_low, b_t, b_t_low, alpha, beta);
        const REAL delta_c = NAME(move)(&c, &c_low, b_c, b_c_low, alpha, beta);
        const REAL delta = t <= c ? delta_t : -delta_c;

        REAL own, away_a, away_b; /* entropy of a member; divergences of both means from the new one */
        if (loss == LW_LOG) {
            const NAME(logs) of_a = NAME(logs_of)(a_t, a_c), of_b = NAME(logs_of)(b_t, b_c);
            const NAME(logs) of_mean = NAME(logs_of)(t, c);
            own = (of_b.x + of_b.c) * unit;
            away_a = NAME(join_kl)(a_t, a_c, -beta * delta, t, c, of_a, of_mean) * unit;
            away_b = NAME(join_kl)(b_t, b_c, alpha * delta, t, c, of_b, of_mean) * unit;
        } else {
            own = b_t * b_c;
            away_a = NAME(join_square)(-beta * delta);
            away_b = NAME(join_square)(alpha * delta);
        }
        REAL h = entropy[i], h_low = entropy_rest[i];
        if (!member) own = from[LW_ENTROPY][i];
        NAME(move)(&h, &h_low, own, member ? 0 : from[LW_ENTROPY_REST][i], alpha, beta);

        mean[i] = t;
        mean_rest[i] = t_low;
        complement[i] = c;
        complement_rest[i] = c_low;
        entropy[i] = h;
        entropy_rest[i] = h_low;
        spread[i] = alpha * (spread[i] + away_a) + beta * ((member ? 0 : from[LW_SPREAD][i]) + away_b);
    }
}

static void NAME(join_a_tile)(lw_loss loss, NAME(join_tile) *x)
{
    const int member = !x->from[LW_MEAN_REST];
    if (loss == LW_LOG && member) NAME(join_body)(LW_LOG, 1, x);
    else if (loss == LW_LOG) NAME(join_body)(LW_LOG, 0, x);
    else if (member) NAME(join_body)(LW_SQUARED, 1, x);
    else NAME(join_body)(LW_SQUARED, 0, x);
}

/* The shares of a tile's elements: those of their instance, or the same for all. */
static void NAME(load_shares)(const lw_join_job *job, int64_t e0, int64_t len, NAME(join_tile) *x)
{
    const REAL *alphas = job->shares;
    if (!job->shares_per_instance) {
        for (int i = 0; i < TILE; i++) {
            x->alphas[i] = alphas[0];
            x->betas[i] = alphas[1];
        }
        return;
    }
    const REAL *betas = alphas + job->instances;
    for (int64_t n = e0 / job->classes, k = e0 % job->classes, i = 0; i < len; n++, k = 0) {
        const int64_t stop = i + job->classes - k < len ? i + job->classes - k : len;
        for (; i < stop; i++) {
            x->alphas[i] = alphas[n];
            x->betas[i] = betas[n];
        }
    }
}

/* An instance range of a job. */
static lw_status NAME(join)(const void *given, int64_t start, int64_t stop)
{
    const lw_join_job *job = given;
    const int64_t end = stop * job->classes;
    REAL state_copies[LW_STATE][TILE], given_copies[LW_STATE][TILE]; /* for the last tile */
    NAME(join_tile) x;
    memset(state_copies, 0, sizeof state_copies);
    memset(given_copies, 0, sizeof given_copies);
    memset(&x, 0, sizeof x);
    x.unit = (REAL)job->unit;
    for (int64_t e0 = start * job->classes; e0 < end; e0 += TILE) {
        const int64_t len = end - e0 < TILE ? end - e0 : TILE;
        const size_t bytes = (size_t)len * sizeof(REAL);
        if (job->shares_per_instance || e0 == start * job->classes) NAME(load_shares)(job, e0, len, &x);
        for (int j = 0; j < LW_STATE; j++) {
            x.s[j] = (REAL *)job->state[j] + e0;
            x.from[j] = job->given[j] ? (const REAL *)job->given[j] + e0 : NULL;
            if (len == TILE) continue;
            if (!job->fresh) memcpy(state_copies[j], x.s[j], bytes);
            x.s[j] = state_copies[j];
            if (x.from[j]) x.from[j] = memcpy(given_copies[j], x.from[j], bytes);
        }
        if (job->fresh) { /* before any member: means 0 and, of the complements, 1 */
            for (int j = 0; j < LW_STATE; j++) memset(x.s[j], 0, bytes);
            for (int64_t i = 0; i < len; i++) x.s[LW_COMPLEMENT][i] = 1;
        }
        NAME(join_a_tile)(job->loss, &x);
        for (int j = 0; j < LW_STATE && len < TILE; j++)
            memcpy((REAL *)job->state[j] + e0, state_copies[j], bytes);
    }
    return LW_OK;
}

/* TU, AU and EU of a state and their sums, some rows at a time. */
static lw_status NAME(conclude)(const void *given, int64_t start, int64_t stop)
{
    const lw_conclude_job *job = given;
    const int64_t k = job->classes, block = lw_rows_at_once(k);
    const REAL *restrict t = job->state[LW_MEAN], *restrict c = job->state[LW_COMPLEMENT];
    const REAL *entropy = job->state[LW_ENTROPY], *spread = job->state[LW_SPREAD];
    REAL *restrict tu = job->labelwise[0], *restrict au = job->labelwise[1], *restrict eu = job->labelwise[2];
    const REAL unit = (REAL)job->unit;
    for (int64_t n0 = start; n0 < stop; n0 += block) {
        const int64_t rows = stop - n0 < block ? stop - n0 : block, first = n0 * k, end = first + rows * k;
        memcpy(au + first, entropy + first, (size_t)(rows * k) * sizeof(REAL));
        memcpy(eu + first, spread + first, (size_t)(rows * k) * sizeof(REAL));
        if (job->loss == LW_LOG)
            for (int64_t e = first; e < end; e++) {
                const NAME(logs) both = NAME(logs_of)(t[e], c[e]);
                tu[e] = (both.x + both.c) * unit;
            }
        else
            for (int64_t e = first; e < end; e++) tu[e] = t[e] * c[e];
        for (int j = 0; j < 3; j++) {
            const REAL *part = (const REAL *)job->labelwise[j] + first;
            NAME(row_sums)(part, rows, k, (REAL *)job->sums[j] + n0);
        }
    }
    return LW_OK;
}
