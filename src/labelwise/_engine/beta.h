/* The beta family of losses, in double precision; included by fused_level.h once for each type.
 *
 * Of a label with probability t let u be the smaller of t and 1 - t, (a, b) the parameters of the loss seen from that side, and
 *     unlikely = phi when what has probability u happens = C + int_u^(1/2) s^(a-1) ds - u^(a+1) P(u)    (a < 1/2)
 *                                                        = C - u^a P(u)                                 (else)
 *     likely   = phi when it does not                    = u^(a+1) Q(u).
 * P and Q are analytic on [0, 1/2]: polynomials in 4u - 1, whose coefficients come from labelwise.losses.beta, as does C. */

typedef struct { double u[TILE], unlikely[TILE], likely[TILE], power[TILE]; int below[TILE]; } NAME(BetaValues); /* power: u^(a+1) */

/* Polynomials in 4u - 1 with the coefficients of the side that each element is on. */
static ALWAYS_INLINE void NAME(polynomials)(const double *low, const double *high, const NAME(BetaValues) *v, const int n, double *restrict to)
{
    EACH(i) to[i] = 0;
    for (int j = n - 1; j >= 0; j--) {
        const double one = low[j], other = high[j];
        EACH(i) to[i] = to[i] * (4 * v->u[i] - 1) + (v->below[i] ? one : other);
    }
}

/* What is lost for probabilities t with complements c. */
static ALWAYS_INLINE void NAME(beta_values)(const double *table, const double *restrict t, const double *restrict c, NAME(BetaValues) *restrict v)
{
    const int n = (int)table[3];
    const double *side[2] = {table + HEAD + 2 * n, table}, half[2] = {exp2(-side[0][0]), exp2(-side[1][0])};
    EACH(i) { v->below[i] = t[i] <= c[i]; v->u[i] = v->below[i] ? t[i] : c[i]; }
    NAME(polynomials)(side[1] + HEAD, side[0] + HEAD, v, n, v->unlikely);
    NAME(polynomials)(side[1] + HEAD + n, side[0] + HEAD + n, v, n, v->likely);
    for (int i = 0; i < TILE; i++) {
        const int below = v->below[i];
        const double a = side[below][0], constant = side[below][2];
        const double x = v->u[i] > 2.3e-308 ? v->u[i] : v->u[i] > 0 ? 2.3e-308 : 0.5; /* of 0 nothing is used, and its powers would underflow */
        if (a < 0.5) {
            const double l = log(2 * x), change = a == 0 ? 0 : expm1(a * l); /* (2x)^a - 1 */
            v->power[i] = x * (1 + change) * half[below];
            v->unlikely[i] = constant - v->power[i] * v->unlikely[i] - (a == 0 ? l : change * half[below] / a);
        } else {
            const double part = a == 0.5 ? sqrt(x) : a == 1 ? x : pow(x, a);
            v->power[i] = part * x;
            v->unlikely[i] = constant - part * v->unlikely[i];
        }
        v->likely[i] *= v->power[i];
    }
}

/* int_0^1 (1-v) (1 + v up)^(a-1) (1 - v down)^(b-1) dv for small up and down, by the recurrence of its integrand's powers of v. */
static ALWAYS_INLINE double NAME(beta_near)(double a, double b, double up, double down)
{
    const double slope = (a - 1) * up - (b - 1) * down, both = up * down, sum = a + b - 2;
    double before = 0, now = 1, total = 0.5;
    for (int j = 0; j < TERMS; j++) {
        const double next = ((slope - (up - down) * j) * now - both * (sum - (j - 1)) * before) / (j + 1);
        before = now;
        now = next;
        total += now / ((j + 2) * (j + 3));
    }
    return total;
}

static ALWAYS_INLINE UINT NAME(beta_body)(const NAME(Tile) *in, const int per_element, const int pair, const NAME(Parts) *out)
{
    NAME(Means) mean;
    NAME(BetaValues) of, v; /* of the mean, and of a member */
    double t[TILE], rest[TILE], scale[TILE], sum_au[TILE], sum_eu[TILE];
    const double *table = in->beta, a = table[0], b = table[1];
    const double reach = 1 / (8 + (a > b ? a : b)); /* relative distance up to which a series is used */
    REFERENCES;
    const UINT seen = NAME(means)(in, per_element, pair, &mean);
    EACH(i) { t[i] = mean.mt[i]; rest[i] = mean.mc[i]; sum_au[i] = sum_eu[i] = 0; }
    NAME(beta_values)(table, t, rest, &of);
    for (int i = 0; i < TILE; i++) {
        const double u = of.u[i], other = of.below[i] ? rest[i] : t[i];
        out->tu[i] = (REAL)(u > 0 ? u * of.unlikely[i] + other * of.likely[i] : 0);
        scale[i] = of.power[i] * pow(1 - u, (of.below[i] ? b : a) - 1); /* u^2 times s^(a-1) (1-s)^(b-1) at the mean */
    }
    for (int64_t m = 0; m < in->members; m++) {
        MEMBER(m);
        EACH(i) { t[i] = NAME(clip)(p[i]); rest[i] = pair ? NAME(clip)(pc[i]) : 1 - NAME(clip)(p[i]); }
        NAME(beta_values)(table, t, rest, &v);
        for (int i = 0; i < TILE; i++) {
            ELEMENT(i);
            const double u = v.u[i], entropy = u > 0 ? u * v.unlikely[i] + (v.below[i] ? c : x) * v.likely[i] : 0;
            const double least = of.u[i], away = d / (least > 0 ? least : 1), less = away * least / (1 - least);
            double divergence;
            if (away > -reach && away < reach) {
                divergence = away * away * scale[i] * NAME(beta_near)(a, b, of.below[i] ? away : less, of.below[i] ? less : away);
            } else { /* x [phi(mean, 1) - phi(x, 1)] + c [phi(mean, 0) - phi(x, 0)]; phi(1, 1) = phi(0, 0) = 0 */
                const double one = of.below[i] ? of.unlikely[i] : of.likely[i], zero = of.below[i] ? of.likely[i] : of.unlikely[i];
                const double own_one = v.below[i] ? v.unlikely[i] : v.likely[i], own_zero = v.below[i] ? v.likely[i] : v.unlikely[i];
                divergence = (x > 0 ? x * (one - (c > 0 ? own_one : 0)) : 0) + (c > 0 ? c * (zero - (x > 0 ? own_zero : 0)) : 0);
            }
            sum_au[i] += weight * entropy;
            sum_eu[i] += weight * (divergence > 0 ? divergence : 0);
        }
    }
    const double share = SCALE(1.0);
    EACH(i) { out->au[i] = (REAL)(sum_au[i] * share); out->eu[i] = (REAL)(sum_eu[i] * share); }
    return seen;
}
