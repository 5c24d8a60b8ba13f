/* Total, aleatoric and epistemic uncertainty of the elements of a tile, for each loss; included by type.h.
 *
 * An element is one label (or event) of one instance, with its M members. Loops over a tile have a fixed
 * length and no branches, so that they vectorise and every element sees the same instructions wherever it
 * lies: results do not depend on how an array is cut up. The formulas are those of labelwise.losses. */

typedef struct {
    int64_t members;
    const REAL *const *p; /* of each member, TILE probabilities */
    const REAL *const *c; /* and of the complements, where they are not 1 - p: of events; or NULL */
    const REAL *weights, *element_weights; /* both NULL: all members weigh the same */
    const REAL *reference, *reference_c;   /* the heaviest member, from which distances are taken */
    const REAL *cost[4]; /* false positive, false negative, and the edges of the decision */
    REAL unit;
} NAME(tile);
typedef struct { REAL *tu, *au, *eu, *jt, *ja, *je; } NAME(parts);
typedef struct { REAL mt[TILE], mc[TILE], shift[TILE], shift_c[TILE]; } NAME(means);

/* Sums over `count` members (a constant, so that the loop over them is unrolled and the sums stay in
 * registers), added to what is there. */
static ALWAYS_INLINE void NAME(add_means)(const NAME(tile) *in, int64_t first, const int count,
                                          const int per_element, const int pair, NAME(means) *restrict mean)
{
    const REAL *restrict ref = in->reference, *restrict ref_c = in->reference_c;
    const REAL *p[5], *pc[5], *we[5];
    REAL w[5];
    for (int j = 0; j < count; j++) {
        p[j] = in->p[first + j];
        pc[j] = pair ? in->c[first + j] : NULL;
        we[j] = per_element ? in->element_weights + (first + j) * TILE : NULL;
        w[j] = in->weights ? in->weights[first + j] : 1;
    }
    EACH(i) {
        REAL t = mean->mt[i], c = mean->mc[i], s = mean->shift[i], s_c = pair ? mean->shift_c[i] : 0;
        REAL reference = NAME(clip)(ref[i]), reference_c = pair ? NAME(clip)(ref_c[i]) : 0;
        for (int j = 0; j < count; j++) {
            REAL weight = per_element ? we[j][i] : w[j];
            REAL x = NAME(clip)(p[j][i]);
            REAL rest = pair ? NAME(clip)(pc[j][i]) : 1 - x;
            t += weight * x;
            c += weight * rest;
            s += weight * (x - reference);
            if (pair) s_c += weight * (rest - reference_c);
        }
        mean->mt[i] = t;
        mean->mc[i] = c;
        mean->shift[i] = s;
        if (pair) mean->shift_c[i] = s_c;
    }
}

/* First pass over a tile: mean of the members, of their complements, and of their distance from the
 * reference member. */
static ALWAYS_INLINE void NAME(find_means)(const NAME(tile) *in, const int per_element, const int pair,
                                           NAME(means) *restrict mean)
{
    EACH(i) mean->mt[i] = mean->mc[i] = mean->shift[i] = 0;
    if (pair) EACH(i) mean->shift_c[i] = 0;
    int64_t m = 0;
    for (; m + 5 <= in->members; m += 5) NAME(add_means)(in, m, 5, per_element, pair, mean);
    for (; m + 2 <= in->members; m += 2) NAME(add_means)(in, m, 2, per_element, pair, mean);
    for (; m < in->members; m++) NAME(add_means)(in, m, 1, per_element, pair, mean);
    if (!per_element && !in->weights) {
        const REAL scale = 1 / (REAL)in->members;
        EACH(i) {
            mean->mt[i] *= scale;
            mean->mc[i] *= scale;
            mean->shift[i] *= scale;
        }
        if (pair) EACH(i) mean->shift_c[i] *= scale;
    }
}

/* What the second pass has of one element of one member: x, its complement c and its distance d from the
 * mean, exactly 0 where all agree; of an event the distance comes from the smaller side. Its weight is
 * `weight`. */
#define REFERENCES \
    const REAL *restrict ref = in->reference, *restrict ref_c = in->reference_c; \
    (void)ref; \
    (void)ref_c
#define MEMBER(m) \
    const REAL *restrict p = in->p[m], *restrict pc = pair ? in->c[m] : NULL; \
    const REAL *restrict we = per_element ? in->element_weights + (m) * TILE : NULL; \
    const REAL w = in->weights ? in->weights[m] : 1
#define ELEMENT(i) \
    REAL weight = per_element ? we[i] : w; \
    REAL x = NAME(clip)(p[i]), c = pair ? NAME(clip)(pc[i]) : 1 - x; \
    REAL d = (x - NAME(clip)(ref[i])) - mean.shift[i]; \
    if (pair) { \
        REAL d_c = (c - NAME(clip)(ref_c[i])) - mean.shift_c[i]; \
        d = mean.mt[i] <= mean.mc[i] ? d : -d_c; \
    }
#define SCALE(unit) (per_element || in->weights ? (unit) : (unit) / (REAL)in->members)

/* Of each sum, the half that belongs to the label goes to ja, je, the other to au, eu. */
static ALWAYS_INLINE void NAME(log_body)(const NAME(tile) *in, const int per_element, const int pair,
                                         const NAME(parts) *out)
{
    NAME(means) mean;
    REAL lt[TILE], lc[TILE];
    REAL *restrict tu = out->tu, *restrict au = out->au, *restrict eu = out->eu;
    REAL *restrict jt = out->jt, *restrict ja = out->ja, *restrict je = out->je;
    const REAL unit = in->unit;
    REFERENCES;
    NAME(find_means)(in, per_element, pair, &mean);
    EACH(i) {
        int low = mean.mt[i] <= mean.mc[i];
        REAL u = low ? mean.mt[i] : mean.mc[i], log_u = NAME(neg_log2)(u > TINY ? u : TINY);
        REAL a = u * log_u, b = NAME(complement_term)(u), log_rest = b / (1 - u);
        lt[i] = low ? log_u : log_rest;
        lc[i] = low ? log_rest : log_u;
        tu[i] = (a + b) * unit;
        jt[i] = (low ? a : b) * unit;
        au[i] = eu[i] = ja[i] = je[i] = 0;
    }
    for (int64_t m = 0; m < in->members; m++) {
        MEMBER(m);
        EACH(i) {
            ELEMENT(i);
            REAL u = x <= c ? x : c;
            REAL a = u * NAME(neg_log2)(u > TINY ? u : TINY), b = NAME(complement_term)(u);
            REAL x_part = x <= c ? a : b, c_part = x <= c ? b : a, e = d * (REAL)LW_LOG2_E;
            /* one division for d/t_sum and d/c_sum */
            REAL t_sum = x + mean.mt[i], c_sum = c + mean.mc[i], both = t_sum * c_sum;
            REAL ratio = d / (both > TINY ? both : TINY);
            /* of a label d is 0 or not much below its last digit, so that d/t_sum is not small; d/c_sum
             * may be */
            ja[i] += weight * x_part;
            au[i] += weight * c_part;
            je[i] += weight * NAME(kl_term)(x, e, ratio * c_sum, x_part, lt[i], pair);
            eu[i] += NAME(weighed)(NAME(kl_term)(c, -e, -(ratio * t_sum), c_part, lc[i], 1), weight);
        }
    }
    const REAL scale = SCALE(unit);
    EACH(i) {
        REAL et = NAME(clamp)(je[i]), ec = NAME(clamp)(eu[i]); /* below zero only where p is subnormal */
        au[i] = (au[i] + ja[i]) * scale;
        eu[i] = (et + ec) * scale;
        ja[i] *= scale;
        je[i] = et * scale;
    }
}

/* Squared loss with few members, equally weighted: all of them in registers. TU is AU + EU, which is as
 * accurate as the product of the means as long as no more than FEW are added up. */
static ALWAYS_INLINE void NAME(squared_few)(const NAME(tile) *in, const int count, const NAME(parts) *out)
{
    REAL *restrict tu = out->tu, *restrict au = out->au, *restrict eu = out->eu;
    const REAL scale = 1 / (REAL)count;
    const REAL *p[FEW];
    for (int j = 0; j < count; j++) p[j] = in->p[j];
    EACH(i) {
        REAL d[FEW], first = NAME(clip)(p[0][i]), a = first * (1 - first), s = 0, q = 0;
        for (int j = 1; j < count; j++) {
            REAL x = NAME(clip)(p[j][i]);
            d[j] = x - first;
            s += d[j];
            a += x * (1 - x);
        }
        REAL shift = s * scale, away = NAME(cut)(shift);
        q = away * away;
        for (int j = 1; j < count; j++) {
            REAL rest = NAME(cut)(d[j] - shift);
            q += rest * rest;
        }
        a *= scale;
        q = NAME(weighed)(q, scale);
        tu[i] = a + q;
        au[i] = a;
        eu[i] = q;
    }
}

static ALWAYS_INLINE void NAME(squared_body)(const NAME(tile) *in, const int per_element, const int pair,
                                             const NAME(parts) *out)
{
    if (!per_element && !pair && !in->weights) {
        switch (in->members) {
        case 1: NAME(squared_few)(in, 1, out); return;
        case 2: NAME(squared_few)(in, 2, out); return;
        case 3: NAME(squared_few)(in, 3, out); return;
        case 4: NAME(squared_few)(in, 4, out); return;
        case 5: NAME(squared_few)(in, 5, out); return;
        case 8: NAME(squared_few)(in, 8, out); return;
        case 10: NAME(squared_few)(in, 10, out); return;
        }
    }
    NAME(means) mean;
    REAL *restrict tu = out->tu, *restrict au = out->au, *restrict eu = out->eu;
    REFERENCES;
    NAME(find_means)(in, per_element, pair, &mean);
    EACH(i) {
        tu[i] = mean.mt[i] * mean.mc[i];
        au[i] = eu[i] = 0;
    }
    for (int64_t m = 0; m < in->members; m++) {
        MEMBER(m);
        EACH(i) {
            ELEMENT(i);
            d = NAME(cut)(d);
            au[i] += weight * (x * c);
            eu[i] += weight * SCALE_UP * (d * d); /* so that no term is subnormal */
        }
    }
    const REAL scale = SCALE(1);
    EACH(i) {
        au[i] *= scale;
        eu[i] = NAME(weighed)(eu[i], scale / SCALE_UP);
    }
}

static ALWAYS_INLINE void NAME(spherical_body)(const NAME(tile) *in, const int per_element, const int pair,
                                               const NAME(parts) *out)
{
    NAME(means) mean;
    REAL norm[TILE];
    REAL *restrict tu = out->tu, *restrict au = out->au, *restrict eu = out->eu;
    REFERENCES;
    NAME(find_means)(in, per_element, pair, &mean);
    EACH(i) {
        REAL t = NAME(cut)(mean.mt[i]), c = NAME(cut)(mean.mc[i]);
        norm[i] = SQRT(t * t + c * c);
        tu[i] = 2 * (mean.mt[i] * mean.mc[i]) / (1 + norm[i]);
        au[i] = eu[i] = 0;
    }
    for (int64_t m = 0; m < in->members; m++) {
        MEMBER(m);
        EACH(i) {
            ELEMENT(i);
            REAL t = NAME(cut)(x), rest = NAME(cut)(c), own = SQRT(t * t + rest * rest);
            d = NAME(cut)(d);
            au[i] += weight * (2 * (x * c) / (1 + own)); /* G = 1 - own, without the subtraction */
            REAL inner = own * norm[i] + t * NAME(cut)(mean.mt[i]) + rest * NAME(cut)(mean.mc[i]);
            eu[i] += d * d * (weight * SCALE_UP / (norm[i] * inner));
        }
    }
    const REAL scale = SCALE(1);
    EACH(i) {
        au[i] *= scale;
        eu[i] = NAME(weighed)(eu[i], scale / SCALE_UP);
    }
}

/* EU is the smaller of the mean regrets of acting and of not acting: exactly 0 when all members are on one
 * side. Which side a member is on is decided without rounding: by the smaller of x and c against its exact
 * share of the costs. */
static ALWAYS_INLINE void NAME(cost_body)(const NAME(tile) *in, const int per_element, const int pair,
                                          const NAME(parts) *out)
{
    NAME(means) mean;
    REAL acting[TILE];
    REAL *restrict tu = out->tu, *restrict au = out->au, *restrict eu = out->eu;
    const REAL *restrict a = in->cost[0], *restrict b = in->cost[1];
    const REAL *restrict below = in->cost[2], *restrict above = in->cost[3];
    REFERENCES;
    NAME(find_means)(in, per_element, pair, &mean);
    EACH(i) {
        tu[i] = NAME(smaller)(b[i] * mean.mt[i], a[i] * mean.mc[i]);
        au[i] = eu[i] = acting[i] = 0;
    }
    for (int64_t m = 0; m < in->members; m++) {
        MEMBER(m);
        EACH(i) {
            ELEMENT(i);
            (void)d;
            REAL yes = b[i] * x, no = a[i] * c;
            REAL regret = NAME(clamp)(yes - no), other = NAME(clamp)(no - yes);
            int act = x <= c ? x > below[i] : c < above[i];
            au[i] += weight * NAME(smaller)(yes, no);
            eu[i] += weight * (act ? regret : 0);
            acting[i] += weight * (act ? 0 : other);
        }
    }
    const REAL scale = SCALE(1);
    EACH(i) {
        au[i] *= scale;
        eu[i] = NAME(smaller)(eu[i], acting[i]) * scale;
    }
}

#define TILE_OF(loss) \
    static void NAME(loss##_tile)(const NAME(tile) *in, const NAME(parts) *out) \
    { \
        if (in->c && in->element_weights) NAME(loss##_body)(in, 1, 1, out); \
        else if (in->c) NAME(loss##_body)(in, 0, 1, out); \
        else if (in->element_weights) NAME(loss##_body)(in, 1, 0, out); \
        else NAME(loss##_body)(in, 0, 0, out); \
    }
TILE_OF(log)
TILE_OF(squared)
TILE_OF(spherical)
TILE_OF(cost)
#undef TILE_OF
#undef REFERENCES
#undef MEMBER
#undef ELEMENT
#undef SCALE

static void NAME(split_tile)(lw_loss loss, const NAME(tile) *in, const NAME(parts) *out)
{
    switch (loss) {
    case LW_LOG: NAME(log_tile)(in, out); break;
    case LW_SQUARED: NAME(squared_tile)(in, out); break;
    case LW_SPHERICAL: NAME(spherical_tile)(in, out); break;
    case LW_COST: NAME(cost_tile)(in, out); break;
    }
}
