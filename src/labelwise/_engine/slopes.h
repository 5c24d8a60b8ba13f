/* Derivatives by the members' predictions; included by fused_level.h once for each type.
 *
 * With G' the slope of the entropy, m the mean and w the weight of a member that says p:
 *     dTU/dp = w G'(m), dAU/dp = w G'(p), dEU/dp = w [G'(m) - G'(p)],
 * the last without subtracting nearly equal numbers. At p = 0 and p = 1 they are those of the nearest number inside. */

/* -log2(x), subnormal x included; at 0 that of `floor`. SCALE_UP is 2^64 or 2^512. */
static ALWAYS_INLINE REAL NAME(any_log2)(REAL x, REAL floor)
{
    REAL y = x > 0 ? x : floor;
    int small = y < TINY;
    return NAME(neg_log2)(small ? y * SCALE_UP : y) + (small ? (REAL)(sizeof(REAL) == 4 ? 64 : 512) : 0);
}

/* log2(x/m) with d = x - m; log_x = -log2 x and log_m = -log2 m are known already. */
static ALWAYS_INLINE REAL NAME(log_ratio)(REAL x, REAL m, REAL d, REAL log_x, REAL log_m)
{
    REAL whole = x + m, up = whole < TINY ? SCALE_UP : 1, below = whole * up, s = NAME(cut)(d * up / (below > TINY ? below : TINY));
    REAL z = s * s, y = z > CUT_POWERS ? z : CUT_POWERS;
    return z < (REAL)(1.0 / 9) ? (REAL)(2 * LOG2_E) * s * (1 + y * ARTANH_POLYNOMIAL(y)) : log_m - log_x;
}

static ALWAYS_INLINE void NAME(slopes_body)(const NAME(Tile) *in, const enum loss loss, const int per_element, const REAL *const *given, REAL *const *out)
{
    const int pair = 0;
    const REAL unit = in->unit, *restrict tu = given[0], *restrict au = given[1], *restrict eu = given[2], *restrict ref = in->reference;
    const REAL scale = per_element || in->weights ? 1 : 1 / (REAL)in->members;
    REAL lt[TILE], lc[TILE];
    NAME(Means) mean;
    NAME(means)(in, per_element, pair, &mean);
    EACH(i) {
        REAL t = mean.mt[i], c = mean.mc[i];
        if (loss == LOG) { lt[i] = NAME(any_log2)(t, TINY); lc[i] = NAME(any_log2)(c, HALF_EPS); }
        if (loss == SPHERICAL) { REAL x = NAME(cut)(t), y = NAME(cut)(c); lt[i] = SQRT(x * x + y * y); lc[i] = (c - t) / lt[i]; }
        if (loss == COST) lc[i] = (t <= c ? t > in->cost[2][i] : c < in->cost[3][i]) ? -in->cost[0][i] : in->cost[1][i];
    }
    for (int64_t m = 0; m < in->members; m++) {
        const REAL *restrict p = in->p[m], *restrict we = per_element ? in->element_weights + m * TILE : NULL;
        const REAL w = in->weights ? in->weights[m] : 1;
        REAL *restrict to = out[m];
        EACH(i) {
            REAL x = NAME(clip)(p[i]), c = 1 - x, d = (x - NAME(clip)(ref[i])) - mean.shift[i], of_mean, own, between;
            if (loss == LOG) {
                REAL log_x = NAME(any_log2)(x, TINY), log_c = NAME(any_log2)(c, HALF_EPS);
                of_mean = (lt[i] - lc[i]) * unit;
                own = (log_x - log_c) * unit;
                between = (NAME(log_ratio)(x, mean.mt[i], d, log_x, lt[i]) - NAME(log_ratio)(c, mean.mc[i], -d, log_c, lc[i])) * unit;
            } else if (loss == SQUARED) {
                of_mean = mean.mc[i] - mean.mt[i];
                own = c - x;
                between = 2 * d;
            } else if (loss == SPHERICAL) {
                REAL a = NAME(cut)(x), b = NAME(cut)(c), norm = SQRT(a * a + b * b), tilt = c - x;
                of_mean = lc[i];
                own = tilt / norm;
                between = d / lt[i] * (2 - tilt * (tilt + (mean.mc[i] - mean.mt[i])) / ((norm + lt[i]) * norm));
            } else {
                of_mean = lc[i];
                own = (x <= c ? x > in->cost[2][i] : c < in->cost[3][i]) ? -in->cost[0][i] : in->cost[1][i];
                between = of_mean - own;
            }
            to[i] = (per_element ? we[i] : w * scale) * (tu[i] * of_mean + au[i] * own + eu[i] * between);
        }
    }
}

#define SLOPES_OF(loss) \
    static void NAME(loss##_slopes)(const NAME(Tile) *in, const REAL *const *given, REAL *const *out) \
    { \
        if (in->element_weights) NAME(slopes_body)(in, loss, 1, given, out); \
        else NAME(slopes_body)(in, loss, 0, given, out); \
    }
SLOPES_OF(LOG)
SLOPES_OF(SQUARED)
SLOPES_OF(SPHERICAL)
SLOPES_OF(COST)
#undef SLOPES_OF

/* A tile of the derivatives: TILE numbers of each member and of what comes from above, in place or through a padded copy. */
static int NAME(slopes)(const Job *job, int64_t start, int64_t stop)
{
    const int64_t members = job->members, classes = job->classes, end = stop * classes;
    NAME(Work) work, *w = &work;
    if (NAME(prepare)(job, w, stop - start)) return NO_MEMORY;
    REAL *results = malloc((size_t)members * TILE * sizeof(REAL)), **out = malloc((size_t)members * sizeof(REAL *));
    if (!results || !out) { free(results); free(out); free(work.block); return NO_MEMORY; }
    for (int64_t e0 = start * classes; e0 < end; e0 += TILE) {
        const int64_t len = end - e0 < TILE ? end - e0 : TILE, n0 = e0 / classes, first = e0 - n0 * classes;
        const REAL *given[3];
        NAME(Tile) in;
        memset(&in, 0, sizeof in);
        in.members = members;
        in.unit = (REAL)job->unit;
        NAME(load_rows)(job, w, n0, first, len);
        in.p = w->p;
        if (job->element_weights) {
            NAME(gather_weights)(job, n0, first, len, classes, w->weights);
            NAME(of_heaviest)(w->weights, w->p, members, w->reference);
            in.element_weights = w->weights;
            in.reference = w->reference;
        } else {
            in.weights = (const REAL *)job->weights;
            in.reference = w->p[job->heaviest];
        }
        for (int j = 0; j < 4 && job->loss == COST; j++) {
            for (int64_t i = 0; i < TILE; i++) w->costs[j][i] = ((const REAL *)job->costs)[j * classes + (first + i) % classes];
            in.cost[j] = w->costs[j];
        }
        for (int j = 0; j < 3; j++) {
            given[j] = (const REAL *)job->out[j] + e0;
            if (len == TILE) continue;
            memset(w->results[j], 0, TILE * sizeof(REAL));
            memcpy(w->results[j], given[j], (size_t)len * sizeof(REAL));
            given[j] = w->results[j];
        }
        REAL *base = (REAL *)job->out[3] + e0;
        for (int64_t m = 0; m < members; m++) out[m] = len == TILE ? base + m * job->instances * classes : results + m * TILE;
        switch (job->loss) {
        case LOG: NAME(LOG_slopes)(&in, given, out); break;
        case SQUARED: NAME(SQUARED_slopes)(&in, given, out); break;
        case SPHERICAL: NAME(SPHERICAL_slopes)(&in, given, out); break;
        default: NAME(COST_slopes)(&in, given, out);
        }
        for (int64_t m = 0; m < members && len < TILE; m++) memcpy(base + m * job->instances * classes, out[m], (size_t)len * sizeof(REAL));
    }
    free(results);
    free(out);
    free(work.block);
    return 0;
}
