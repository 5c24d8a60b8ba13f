/* Derivatives by the members' predictions, for training; included by type.h.
 *
 * With G' the slope of the entropy, m the mean and w the weight of a member that says p:
 *     dTU/dp = w G'(m), dAU/dp = w G'(p), dEU/dp = w [G'(m) - G'(p)],
 * the last without subtracting nearly equal numbers. At p = 0 and p = 1 they are those of the nearest number
 * inside. Log and squared loss only: of other losses the general code is differentiated. */

/* log2(u/v) with d = u - v known to all its digits, for normal u and v: 2 artanh(d / (u + v)) where they are
 * near. */
static ALWAYS_INLINE REAL NAME(log2_quotient)(REAL u, REAL v, REAL d)
{
    const REAL s = NAME(cut)(d / (u + v)), z = s * s, y = z > CUT_POWERS ? z : CUT_POWERS;
    const REAL near = (REAL)(2 * LW_LOG2_E) * s * (1 + y * ARTANH_POLYNOMIAL(y));
    /* the smaller side is scaled where their quotient might be subnormal */
    const REAL small = u < v ? u : v, large = u < v ? v : u;
    const int tiny = small < large * (1 / SCALE_UP);
    const REAL bits = tiny ? (REAL)(sizeof(REAL) == 4 ? 64 : 512) : 0;
    const REAL far = NAME(neg_log2)((tiny ? small * SCALE_UP : small) / large) + bits;
    return z < (REAL)(1.0 / 9) ? near : (u < v ? -far : far);
}

/* given: TILE derivatives by TU, AU and EU, or only by EU (`alone`); out: of each member, TILE derivatives.
 *
 * Under log loss G'(p) = log2(c/p) and G'(m) - G'(p) is the logarithm of p mc / (m c), whose two sides differ
 * by p - m. They are scaled, so that no product is subnormal: SCALE_UP is 2^64 or 2^512. */
static ALWAYS_INLINE void NAME(slopes_body)(const NAME(tile) *in, const lw_loss loss, const int per_element,
                                            const int alone, const REAL *const *given, REAL *const *out)
{
    const REAL unit = in->unit, *restrict tu = given[0], *restrict au = given[1], *restrict eu = given[2];
    const REAL *restrict ref = in->reference;
    const REAL scale = per_element || in->weights ? 1 : 1 / (REAL)in->members;
    REAL t[TILE], rest[TILE], of_mean[TILE];
    NAME(means) mean;
    NAME(find_means)(in, per_element, 0, &mean);
    EACH(i) {
        t[i] = (mean.mt[i] > 0 ? mean.mt[i] : TINY) * SCALE_UP;
        rest[i] = mean.mc[i] > 0 ? mean.mc[i] : HALF_EPS;
        of_mean[i] = mean.mc[i] - mean.mt[i];
        if (loss == LW_LOG && !alone) {
            const REAL up = rest[i] * SCALE_UP;
            of_mean[i] = NAME(log2_quotient)(up, t[i], up - t[i]) * unit;
        }
    }
    for (int64_t m = 0; m < in->members; m++) {
        const REAL *restrict p = in->p[m], *restrict we = per_element ? in->element_weights + m * TILE : NULL;
        const REAL w = in->weights ? in->weights[m] : 1;
        REAL *restrict to = out[m];
        EACH(i) {
            const REAL x = NAME(clip)(p[i]), d = (x - NAME(clip)(ref[i])) - mean.shift[i];
            REAL own = 1 - 2 * x, between = 2 * d;
            if (loss == LW_LOG) {
                const REAL c = x < 1 ? 1 - x : HALF_EPS, up = (x > 0 ? x : TINY) * SCALE_UP;
                between = NAME(log2_quotient)(up * rest[i], t[i] * c, d * SCALE_UP) * unit;
                if (!alone) own = NAME(log2_quotient)(c * SCALE_UP, up, c * SCALE_UP - up) * unit;
            }
            REAL slope = eu[i] * between;
            if (!alone) slope += tu[i] * of_mean[i] + au[i] * own;
            to[i] = (per_element ? we[i] : w * scale) * slope;
        }
    }
}

/* Of each loss, with weights of its own for every element or not, alone or not. */
static void NAME(slopes_tile)(lw_loss loss, const NAME(tile) *in, const REAL *const *given, REAL *const *out)
{
    const int kind = (loss == LW_SQUARED) * 4 + (in->element_weights != NULL) * 2 + !given[0];
    switch (kind) {
    case 0: NAME(slopes_body)(in, LW_LOG, 0, 0, given, out); break;
    case 1: NAME(slopes_body)(in, LW_LOG, 0, 1, given, out); break;
    case 2: NAME(slopes_body)(in, LW_LOG, 1, 0, given, out); break;
    case 3: NAME(slopes_body)(in, LW_LOG, 1, 1, given, out); break;
    case 4: NAME(slopes_body)(in, LW_SQUARED, 0, 0, given, out); break;
    case 5: NAME(slopes_body)(in, LW_SQUARED, 0, 1, given, out); break;
    case 6: NAME(slopes_body)(in, LW_SQUARED, 1, 0, given, out); break;
    default: NAME(slopes_body)(in, LW_SQUARED, 1, 1, given, out);
    }
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
        const REAL *from[3] = {NULL, NULL, NULL};
        for (int j = 0; j < 3; j++) {
            if (!job->given[j]) continue;
            from[j] = (const REAL *)job->given[j] + e0;
            if (len == TILE) continue;
            memset(above[j], 0, sizeof above[j]);
            from[j] = memcpy(above[j], from[j], bytes);
        }
        REAL *base = (REAL *)job->result + e0;
        for (int64_t m = 0; m < members; m++) out[m] = len == TILE ? base + m * of_member : copies + m * TILE;
        NAME(slopes_tile)(job->loss, &in, from, out);
        for (int64_t m = 0; m < members && len < TILE; m++) memcpy(base + m * of_member, out[m], bytes);
    }
    free(out);
    NAME(free_reader)(&reader);
    return LW_OK;
}
