/* Derivatives by the members' predictions, for training; included by type.h.
 *
 * With G' the slope of the entropy, m the mean and w the weight of a member that says p:
 *     dTU/dp = w G'(m), dAU/dp = w G'(p), dEU/dp = w [G'(m) - G'(p)],
 * the last without subtracting nearly equal numbers. At p = 0 and p = 1 they are those of the nearest number
 * inside. Log and squared loss only: of other losses the general code is differentiated. */

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
    REAL whole = x + m, up = whole < TINY ? SCALE_UP : 1, below = whole * up;
    REAL s = NAME(cut)(d * up / (below > TINY ? below : TINY));
    REAL z = s * s, y = z > CUT_POWERS ? z : CUT_POWERS;
    REAL near = (REAL)(2 * LW_LOG2_E) * s * (1 + y * ARTANH_POLYNOMIAL(y));
    return z < (REAL)(1.0 / 9) ? near : log_m - log_x;
}

/* given: TILE derivatives by TU, AU and EU; out: of each member, TILE derivatives. */
static ALWAYS_INLINE void NAME(slopes_body)(const NAME(tile) *in, const lw_loss loss, const int per_element,
                                            const REAL *const *given, REAL *const *out)
{
    const REAL unit = in->unit, *restrict tu = given[0], *restrict au = given[1], *restrict eu = given[2];
    const REAL *restrict ref = in->reference;
    const REAL scale = per_element || in->weights ? 1 : 1 / (REAL)in->members;
    REAL lt[TILE], lc[TILE];
    NAME(means) mean;
    NAME(find_means)(in, per_element, 0, &mean);
    if (loss == LW_LOG)
        EACH(i) {
            lt[i] = NAME(any_log2)(mean.mt[i], TINY);
            lc[i] = NAME(any_log2)(mean.mc[i], HALF_EPS);
        }
    for (int64_t m = 0; m < in->members; m++) {
        const REAL *restrict p = in->p[m], *restrict we = per_element ? in->element_weights + m * TILE : NULL;
        const REAL w = in->weights ? in->weights[m] : 1;
        REAL *restrict to = out[m];
        EACH(i) {
            REAL x = NAME(clip)(p[i]), c = 1 - x, d = (x - NAME(clip)(ref[i])) - mean.shift[i];
            REAL of_mean = mean.mc[i] - mean.mt[i], own = c - x, between = 2 * d;
            if (loss == LW_LOG) {
                REAL log_x = NAME(any_log2)(x, TINY), log_c = NAME(any_log2)(c, HALF_EPS);
                REAL of_label = NAME(log_ratio)(x, mean.mt[i], d, log_x, lt[i]);
                REAL of_rest = NAME(log_ratio)(c, mean.mc[i], -d, log_c, lc[i]);
                of_mean = (lt[i] - lc[i]) * unit;
                own = (log_x - log_c) * unit;
                between = (of_label - of_rest) * unit;
            }
            REAL weight = per_element ? we[i] : w * scale;
            to[i] = weight * (tu[i] * of_mean + au[i] * own + eu[i] * between);
        }
    }
}

static void NAME(log_slopes)(const NAME(tile) *in, const REAL *const *given, REAL *const *out)
{
    if (in->element_weights) NAME(slopes_body)(in, LW_LOG, 1, given, out);
    else NAME(slopes_body)(in, LW_LOG, 0, given, out);
}

static void NAME(squared_slopes)(const NAME(tile) *in, const REAL *const *given, REAL *const *out)
{
    if (in->element_weights) NAME(slopes_body)(in, LW_SQUARED, 1, given, out);
    else NAME(slopes_body)(in, LW_SQUARED, 0, given, out);
}

/* An instance range of a job. A tile has TILE numbers, in place or, at the end, in padded copies. */
static lw_status NAME(slopes)(const void *given, int64_t start, int64_t stop)
{
    const lw_slopes_job *job = given;
    const int64_t members = job->probs.members, classes = job->probs.classes, end = stop * classes;
    const int64_t of_member = job->probs.instances * classes;
    REAL above[3][TILE];
    NAME(reader) reader;
    if (!NAME(prepare_reader)(&reader, &job->probs, &job->weights)) return LW_NO_MEMORY;
    REAL **out = malloc((size_t)members * (sizeof(REAL *) + TILE * sizeof(REAL)));
    REAL *copies = (REAL *)(out + members);
    if (!out) {
        NAME(free_reader)(&reader);
        return LW_NO_MEMORY;
    }
    for (int64_t e0 = start * classes; e0 < end; e0 += TILE) {
        const int64_t len = end - e0 < TILE ? end - e0 : TILE, n0 = e0 / classes, first = e0 - n0 * classes;
        const size_t bytes = (size_t)len * sizeof(REAL);
        NAME(load_rows)(&reader, n0, first, len);
        NAME(tile) in = NAME(loaded_tile)(&reader, n0, first, len, classes, 0);
        in.unit = (REAL)job->unit;
        const REAL *from[3];
        for (int j = 0; j < 3; j++) {
            from[j] = (const REAL *)job->given[j] + e0;
            if (len == TILE) continue;
            memset(above[j], 0, sizeof above[j]);
            from[j] = memcpy(above[j], from[j], bytes);
        }
        REAL *base = (REAL *)job->result + e0;
        for (int64_t m = 0; m < members; m++) out[m] = len == TILE ? base + m * of_member : copies + m * TILE;
        if (job->loss == LW_LOG) NAME(log_slopes)(&in, from, out);
        else NAME(squared_slopes)(&in, from, out);
        for (int64_t m = 0; m < members && len < TILE; m++) memcpy(base + m * of_member, out[m], bytes);
    }
    free(out);
    NAME(free_reader)(&reader);
    return LW_OK;
}
