/* The kernel for one floating-point type; included by fused_level.h once for float and once for double.
 *
 * All arithmetic happens in tiles of TILE elements (an element is one label of one instance, with its M members). Loops over a
 * tile have a fixed length and no branches, so that they vectorise and every element sees the same instructions wherever it
 * lies: results do not depend on how an array is cut up. The formulas are those of labelwise._special and labelwise.losses. */

typedef struct { int64_t members; const REAL *const *p; const REAL *weights, *element_weights, *reference; REAL unit; } NAME(Tile);
typedef struct { REAL *tu, *au, *eu, *jt, *ja, *je; } NAME(Parts);
#if HAS_VECTORS
typedef REAL NAME(Vector) __attribute__((vector_size(16)));
typedef UINT NAME(Bits) __attribute__((vector_size(16)));
#endif

static ALWAYS_INLINE REAL NAME(clamp)(REAL x) { return x > 0 ? x : 0; }

/* A prediction: above 1 only by rounding, as far as the tolerance goes. */
static ALWAYS_INLINE REAL NAME(clip)(REAL x) { return x < 1 ? x : 1; }

/* -log2(x) for TINY <= x <= 1/2 (where it is at least 1, so that absolute accuracy is relative accuracy). */
static ALWAYS_INLINE REAL NAME(neg_log2)(REAL x)
{
    union { REAL f; UINT i; } v, e;
    v.f = x;
    UINT bits = v.i + (ONE_BITS - ROOT_HALF_BITS);
    e.i = (bits >> MANTISSA) | MAGIC_BITS; /* the exponent as the low bits of a large float: no integer conversion needed */
    REAL exponent = (REAL)(MAGIC + EXPONENT_BIAS) - e.f;
    v.i = (bits & MANTISSA_MASK) + ROOT_HALF_BITS; /* mantissa in [sqrt(1/2), sqrt(2)) */
    REAL r = v.f - 1;
#if LOG2_BY_DIVISION
    REAL s = r / (r + 2), z = s * s, z2 = z * z, z4 = z2 * z2;
    return exponent - s * LOG2_POLYNOMIAL(z, z2, z4);
#else
    REAL r2 = r * r, r4 = r2 * r2;
    return exponent - r * LOG2_POLYNOMIAL(r, r2, r4);
#endif
}

/* -(1-u) log2(1-u) for 0 <= u <= 1/2, as u P(u). */
static ALWAYS_INLINE REAL NAME(complement_term)(REAL u)
{
    REAL u2 = u * u, u4 = u2 * u2;
    return u * COMPLEMENT_POLYNOMIAL(u, u2, u4);
}

/* x log2(x/m) - e with e = (x - m) log2(e) and s = (x - m) / (x + m); x_part = -x log2 x and log_m = -log2 m are known already. */
static ALWAYS_INLINE REAL NAME(kl_term)(REAL x, REAL e, REAL s, REAL z, REAL x_part, REAL log_m)
{
    REAL z2 = z * z, z4 = z2 * z2, close = e * s * (1 + (z + s) * ARTANH_POLYNOMIAL(z, z2, z4));
    REAL far = x * log_m - x_part - e;
    (void)z4;
    return z < (REAL)(1.0 / 9) ? close : far;
}

static ALWAYS_INLINE UINT NAME(bits)(REAL x)
{
    union { REAL f; UINT i; } v;
    v.f = x;
    return v.i;
}

/* Sums over `count` members (a constant, so that the loop over them is unrolled and the sums stay in registers), added to what is there.
 * This and the functions below return every bit that is set in any of the members' values, which tells of signs at next to no cost. */
static ALWAYS_INLINE UINT NAME(add_means)(const NAME(Tile) *in, int64_t first, const int count, int per_element, REAL *restrict mt, REAL *restrict mc, REAL *restrict shift)
{
    const REAL *restrict ref = in->reference;
    const REAL *p[8], *we[8];
    REAL w[8];
    UINT seen = 0;
    for (int j = 0; j < count; j++) {
        p[j] = in->p[first + j];
        we[j] = per_element ? in->element_weights + (first + j) * TILE : NULL;
        w[j] = in->weights ? in->weights[first + j] : 1;
    }
    EACH(i) {
        REAL t = mt[i], c = mc[i], s = shift[i], reference = NAME(clip)(ref[i]);
        for (int j = 0; j < count; j++) {
            REAL weight = per_element ? we[j][i] : w[j], x = NAME(clip)(p[j][i]);
            t += weight * x;
            c += weight * (1 - x);
            s += weight * (x - reference);
            seen |= NAME(bits)(p[j][i]);
        }
        mt[i] = t; mc[i] = c; shift[i] = s;
    }
    return seen;
}

/* First pass over a tile: mean of the members, of their complements, and of their distance from the reference member. */
static ALWAYS_INLINE UINT NAME(means)(const NAME(Tile) *in, int per_element, REAL *restrict mt, REAL *restrict mc, REAL *restrict shift)
{
    EACH(i) mt[i] = mc[i] = shift[i] = 0;
    int64_t m = 0;
    UINT seen = 0;
    for (; m + 5 <= in->members; m += 5) seen |= NAME(add_means)(in, m, 5, per_element, mt, mc, shift);
    for (; m + 2 <= in->members; m += 2) seen |= NAME(add_means)(in, m, 2, per_element, mt, mc, shift);
    for (; m < in->members; m++) seen |= NAME(add_means)(in, m, 1, per_element, mt, mc, shift);
    if (!per_element && !in->weights) {
        const REAL scale = 1 / (REAL)in->members;
        EACH(i) { mt[i] *= scale; mc[i] *= scale; shift[i] *= scale; }
    }
    return seen;
}

static ALWAYS_INLINE UINT NAME(log_body)(const NAME(Tile) *in, int per_element, const NAME(Parts) *out)
{
    REAL mt[TILE], mc[TILE], shift[TILE], lt[TILE], lc[TILE];
    REAL *restrict tu = out->tu, *restrict au = out->au, *restrict eu = out->eu;
    REAL *restrict jt = out->jt, *restrict ja = out->ja, *restrict je = out->je;
    const REAL unit = in->unit, *restrict ref = in->reference;
    const UINT seen = NAME(means)(in, per_element, mt, mc, shift);
    EACH(i) {
        int low = mt[i] <= mc[i];
        REAL u = low ? mt[i] : mc[i], log_u = NAME(neg_log2)(u > TINY ? u : TINY);
        REAL a = u * log_u, b = NAME(complement_term)(u), log_rest = b / (1 - u);
        lt[i] = low ? log_u : log_rest;
        lc[i] = low ? log_rest : log_u;
        tu[i] = (a + b) * unit;
        jt[i] = (low ? a : b) * unit;
        au[i] = eu[i] = ja[i] = je[i] = 0;
    }
    for (int64_t m = 0; m < in->members; m++) { /* of each sum, the half that belongs to the label goes to ja, je, the other to au, eu */
        const REAL *restrict p = in->p[m];
        const REAL *restrict we = per_element ? in->element_weights + m * TILE : NULL;
        const REAL w = in->weights ? in->weights[m] : 1;
        EACH(i) {
            REAL weight = per_element ? we[i] : w;
            REAL x = NAME(clip)(p[i]), c = 1 - x, u = x <= c ? x : c;
            REAL a = u * NAME(neg_log2)(u > TINY ? u : TINY), b = NAME(complement_term)(u);
            REAL x_part = x <= c ? a : b, c_part = x <= c ? b : a;
            REAL d = (x - NAME(clip)(ref[i])) - shift[i], e = d * (REAL)LOG2_E;
            REAL t_sum = x + mt[i], c_sum = c + mc[i], both = t_sum * c_sum; /* one division for d/t_sum and d/c_sum; the sums add up to 2 */
            REAL ratio = d / (both > TINY ? both : TINY);
            REAL st = ratio * c_sum, sc = ratio * t_sum;
            ja[i] += weight * x_part;
            au[i] += weight * c_part;
            je[i] += weight * NAME(kl_term)(x, e, st, st * st, x_part, lt[i]);
            eu[i] += weight * NAME(kl_term)(c, -e, -sc, sc * sc, c_part, lc[i]);
        }
    }
    const REAL scale = per_element || in->weights ? unit : unit / (REAL)in->members;
    EACH(i) {
        REAL et = NAME(clamp)(je[i]), ec = NAME(clamp)(eu[i]); /* below zero only where p is subnormal */
        au[i] = (au[i] + ja[i]) * scale;
        eu[i] = (et + ec) * scale;
        ja[i] *= scale;
        je[i] = et * scale;
    }
    return seen;
}

/* The sums over `count` members that squared loss needs (a constant, as above), in the same way. `starting`: these are the first members;
 * `ending`: the last, after which the results are known. The means are added up only if there are `many` members. `weighted`: 0 not at
 * all, 1 by member, 2 by member and element. */
static ALWAYS_INLINE UINT NAME(add_squares)(const NAME(Tile) *in, int64_t first, const int count, const int weighted, const int many, const int starting, const int ending, REAL *restrict mc, REAL *restrict shift, const NAME(Parts) *out)
{
    const REAL *restrict ref = in->reference;
    REAL *restrict tu = out->tu, *restrict au = out->au, *restrict eu = out->eu;
    const REAL scale = weighted ? 1 : 1 / (REAL)in->members;
    const REAL *p[5], *we[5];
    REAL w[5];
    UINT seen = 0;
    for (int j = 0; j < count; j++) {
        p[j] = in->p[first + j];
        we[j] = weighted == 2 ? in->element_weights + (first + j) * TILE : NULL;
        w[j] = weighted == 1 ? in->weights[first + j] : 1;
    }
    EACH(i) {
        REAL reference = NAME(clip)(ref[i]), t = many && !starting ? tu[i] : 0, c = many && !starting ? mc[i] : 0;
        REAL s = starting ? 0 : shift[i], q = starting ? 0 : eu[i], a = starting ? 0 : au[i];
        for (int j = 0; j < count; j++) {
            REAL weight = weighted == 2 ? we[j][i] : w[j], x = NAME(clip)(p[j][i]), rest = 1 - x, d = x - reference;
            if (weighted) { t += weight * x; c += weight * rest; s += weight * d; q += weight * (d * d); a += weight * (x * rest); }
            else { t += x; c += rest; a += x * rest; if (j > 0 || !starting) { s += d; q += d * d; } } /* the first is the reference */
            seen |= NAME(bits)(p[j][i]);
        }
        if (ending) {
            REAL mean = s * scale;
            a *= scale;
            q = NAME(clamp)(q * scale - mean * mean);
            t = many ? (t * scale) * (c * scale) : a + q;
        }
        if (many || ending) tu[i] = t;
        if (!ending) { shift[i] = s; if (many) mc[i] = c; }
        eu[i] = q;
        au[i] = a;
    }
    return seen;
}

/* The variance is taken from the heaviest member: mean of squares less square of the mean, of which no more than a factor of M + 1
 * cancels, because that member's own part in the variance is at least 1/M of its squared distance. So with few members TU = AU + EU
 * is accurate, and the means need not be known. */
static ALWAYS_INLINE UINT NAME(squared_sums)(const NAME(Tile) *in, const int weighted, const int many, const NAME(Parts) *out)
{
    REAL mc[TILE], shift[TILE];
    UINT seen = 0;
    int64_t m = 0;
#define ADD(count, starting, ending) (seen |= NAME(add_squares)(in, m, count, weighted, many, starting, ending, mc, shift, out))
    if (weighted == 2) { /* rare: one by one */
        if (in->members == 1) return ADD(1, 1, 1);
        ADD(1, 1, 0);
        for (m = 1; m + 1 < in->members; m++) ADD(1, 0, 0);
        return ADD(1, 0, 1);
    }
    if (!many && in->members <= 5) {
        switch (in->members) {
        case 1: return ADD(1, 1, 1);
        case 2: return ADD(2, 1, 1);
        case 3: return ADD(3, 1, 1);
        case 4: return ADD(4, 1, 1);
        default: return ADD(5, 1, 1);
        }
    }
    ADD(5, 1, 0);
    for (m = 5; m + 5 < in->members; m += 5) ADD(5, 0, 0);
    switch (in->members - m) {
    case 1: return ADD(1, 0, 1);
    case 2: return ADD(2, 0, 1);
    case 3: return ADD(3, 0, 1);
    case 4: return ADD(4, 0, 1);
    default: return ADD(5, 0, 1);
    }
#undef ADD
}

static ALWAYS_INLINE UINT NAME(squared_body)(const NAME(Tile) *in, const int weighted, const NAME(Parts) *out)
{
    return in->members > FEW ? NAME(squared_sums)(in, weighted, 1, out) : NAME(squared_sums)(in, weighted, 0, out);
}

static UINT NAME(log_tile)(const NAME(Tile) *in, const NAME(Parts) *out)
{
    return in->element_weights ? NAME(log_body)(in, 1, out) : NAME(log_body)(in, 0, out);
}

static UINT NAME(squared_tile)(const NAME(Tile) *in, const NAME(Parts) *out)
{
    if (in->element_weights) return NAME(squared_body)(in, 2, out);
    return in->weights ? NAME(squared_body)(in, 1, out) : NAME(squared_body)(in, 0, out);
}

/* The sum of n numbers added to `total`, in lanes; the same whether it is done at once or in pieces of a multiple of 512. */
static ALWAYS_INLINE double NAME(add_up)(const REAL *restrict x, int64_t n, double total)
{
    for (int64_t k = 0; k < n; k += 512) {
        const int64_t end = n - k < 512 ? n - k : 512;
        const REAL *restrict y = x + k;
        REAL lane[16] = {0};
        int64_t j = 0;
        for (; j + 16 <= end; j += 16)
            for (int l = 0; l < 16; l++) lane[l] += y[j + l];
        for (; j < end; j++) lane[j & 15] += y[j];
        for (int l = 0; l < 8; l++) lane[l] += lane[l + 8];
        for (int l = 0; l < 4; l++) lane[l] += lane[l + 4];
        total += (lane[0] + lane[1]) + (lane[2] + lane[3]);
    }
    return total;
}

static double NAME(add_row)(const REAL *x, int64_t n, double total) { return NAME(add_up)(x, n, total); }

#if HAS_VECTORS
/* A row in a vector: `whole` numbers, a multiple of WIDTH, and the few more that `rest` lets through. */
static ALWAYS_INLINE NAME(Vector) NAME(part)(const REAL *row, const int64_t whole, NAME(Bits) rest)
{
    NAME(Bits) last;
    memcpy(&last, row + whole, sizeof last);
    NAME(Vector) sum = (NAME(Vector))(last & rest), x;
    for (int64_t k = 0; k < whole; k += WIDTH) { memcpy(&x, row + k, sizeof x); sum += x; }
    return sum;
}

/* WIDTH vectors to the vector of their sums. */
static ALWAYS_INLINE NAME(Vector) NAME(fold)(const NAME(Vector) *p)
{
#if WIDTH == 4
    const NAME(Vector) a = EVEN4(p[0], p[1]) + ODD4(p[0], p[1]), b = EVEN4(p[2], p[3]) + ODD4(p[2], p[3]);
    return EVEN4(a, b) + ODD4(a, b);
#else
    return EVEN2(p[0], p[1]) + ODD2(p[0], p[1]);
#endif
}

static ALWAYS_INLINE void NAME(narrow_sums)(const REAL *restrict x, int64_t rows, int64_t classes, const int64_t whole, REAL *restrict out)
{
    NAME(Bits) rest;
    NAME(Vector) p[WIDTH];
    int64_t i = 0;
    for (int l = 0; l < WIDTH; l++) rest[l] = l < classes - whole ? ~(UINT)0 : 0;
    for (; (i + WIDTH) * classes + WIDTH <= rows * classes; i += WIDTH) { /* rows read beyond their end: the last ones from a copy */
        for (int r = 0; r < WIDTH; r++) p[r] = NAME(part)(x + (i + r) * classes, whole, rest);
        p[0] = NAME(fold)(p);
        memcpy(out + i, p, sizeof *p);
    }
    for (; i < rows; i += WIDTH) {
        REAL copy[WIDTH * NARROW + WIDTH];
        const int64_t count = rows - i < WIDTH ? rows - i : WIDTH;
        memcpy(copy, x + i * classes, (size_t)(count * classes) * sizeof(REAL));
        for (int r = 0; r < WIDTH; r++) p[r] = NAME(part)(copy + (r < count ? r : 0) * classes, whole, rest);
        p[0] = NAME(fold)(p);
        memcpy(out + i, p, (size_t)count * sizeof(REAL));
    }
}
#endif

/* out[i] = sum over k of x[i*K + k] */
static void NAME(row_sums)(const REAL *restrict x, int64_t rows, int64_t classes, REAL *restrict out)
{
    if (classes > NARROW) {
        for (int64_t i = 0; i < rows; i++) out[i] = (REAL)NAME(add_up)(x + i * classes, classes, 0);
        return;
    }
#if HAS_VECTORS
    switch (classes / WIDTH) {
#define CASE(n) case n: NAME(narrow_sums)(x, rows, classes, n * WIDTH, out); return;
    CASE(0) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5)
#undef CASE
    default: NAME(narrow_sums)(x, rows, classes, classes / WIDTH * WIDTH, out);
    }
#else
    for (int64_t i = 0; i < rows; i++) {
        REAL total = x[i * classes];
        for (int64_t k = 1; k < classes; k++) total += x[i * classes + k];
        out[i] = total;
    }
#endif
}

/* Whether all of x lie in [0, high]. Compared as integers, because the file is compiled as if no number were infinite or NaN:
 * those, and negative numbers, are larger than any number in range; only -0 needs a word of its own. */
static int NAME(in_range)(const REAL *restrict x, int64_t n, REAL high)
{
    union { REAL f; UINT i; } limit;
    limit.f = high;
    const UINT largest = limit.i, negative_zero = (UINT)1 << (8 * sizeof(UINT) - 1);
    UINT bad = 0;
    for (int64_t i = 0; i < n; i++) {
        union { REAL f; UINT i; } v;
        v.f = x[i];
        bad |= (UINT)((v.i > largest) & (v.i != negative_zero));
    }
    return !bad;
}

/* Every bit that is set in any of x. Four quarters at once: each waits for its last step. */
static UINT NAME(all_bits)(const REAL *restrict x, int64_t n)
{
    UINT seen[4] = {0};
    const int64_t quarter = n / 4;
    for (int64_t i = 0; i < quarter; i++) {
        seen[0] |= NAME(bits)(x[i]);
        seen[1] |= NAME(bits)(x[quarter + i]);
        seen[2] |= NAME(bits)(x[2 * quarter + i]);
        seen[3] |= NAME(bits)(x[3 * quarter + i]);
    }
    for (int64_t i = 4 * quarter; i < n; i++) seen[0] |= NAME(bits)(x[i]);
    return seen[0] | seen[1] | seen[2] | seen[3];
}

/* Whether all of x are within tolerance of 1; compared as integers, so that NaN and infinity are not. */
static int NAME(near_one)(const REAL *restrict x, int64_t n, REAL tolerance)
{
    union { REAL f; UINT i; } low, high;
    low.f = 1 - tolerance;
    high.f = 1 + tolerance;
    const UINT width = high.i - low.i;
    UINT bad = 0;
    for (int64_t i = 0; i < n; i++) {
        union { REAL f; UINT i; } v;
        v.f = x[i];
        bad |= (UINT)(v.i - low.i > width);
    }
    return !bad;
}

/* Whether n numbers, in which no other bits are set than those `seen`, may be probabilities: not negative; where their sums are not looked
 * at as well, also not larger than 1. */
static int NAME(may_be)(const REAL *x, int64_t n, const Job *job, UINT seen)
{
    return (job->sum_to_one && !(seen >> (8 * sizeof(UINT) - 1))) || NAME(in_range)(x, n, (REAL)(1 + job->tolerance));
}

/* Whole rows of one member: 0 or INVALID. */
static int NAME(check_rows)(const REAL *x, int64_t rows, const Job *job, UINT seen, REAL *sums)
{
    if (!NAME(may_be)(x, rows * job->classes, job, seen)) return INVALID;
    if (!job->sum_to_one) return 0;
    NAME(row_sums)(x, rows, job->classes, sums);
    return NAME(near_one)(sums, rows, (REAL)job->tolerance) ? 0 : INVALID;
}

/* sums[i] += x[i] */
static void NAME(add_to)(REAL *restrict sums, const REAL *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) sums[i] += x[i];
}

/* Copy n elements, stride bytes apart, into the arithmetic type. */
static void NAME(gather)(const char *restrict from, int64_t stride, int64_t n, enum kind kind, REAL *restrict to)
{
    if (kind == NATIVE && stride == (int64_t)sizeof(REAL)) { memcpy(to, from, (size_t)n * sizeof(REAL)); return; }
    if (kind == NATIVE) {
        for (int64_t i = 0; i < n; i++) memcpy(&to[i], from + i * stride, sizeof(REAL));
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, from + i * stride, 2);
        union { float f; uint32_t i; } v;
        if (kind == BFLOAT16) {
            v.i = (uint32_t)h << 16;
        } else { /* half precision: shift the exponent into place by a multiplication, which is exact for subnormals too */
            v.i = (uint32_t)(h & 0x7fff) << 13;
            v.f *= 5.192296858534828e33f; /* 2^112 */
            v.i |= (uint32_t)(h & 0x8000) << 16;
        }
        to[i] = (REAL)v.f;
    }
}

/* Copy `len` predictions of a block of instances from the e0-th on, in runs of classes. */
static void NAME(gather_rows)(const Job *job, const char *base, int64_t e0, int64_t len, REAL *to)
{
    for (int64_t e = e0, end = e0 + len; e < end;) {
        const int64_t k = e % job->classes, left = job->classes - k, run = left < end - e ? left : end - e;
        NAME(gather)(base + (e / job->classes) * job->stride_n + k * job->stride_k, job->stride_k, run, job->kind, to);
        e += run;
        to += run;
    }
}

/* The weights of a tile's elements, member after member; those beyond its `len` elements as for the first. */
static void NAME(gather_weights)(const Job *job, int64_t n0, int64_t e0, int64_t len, REAL *to)
{
    for (int64_t m = 0; m < job->members; m++)
        for (int64_t i = 0; i < TILE; i++) {
            const int64_t e = e0 + (i < len ? i : 0), n = n0 + (job->class_major ? e : e / job->classes);
            memcpy(&to[m * TILE + i], job->weights + m * job->weight_stride_m + n * job->weight_stride_n, sizeof(REAL));
        }
}

/* For each element of a tile the prediction of the member with the largest weight. */
static void NAME(of_heaviest)(const REAL *weights, const REAL *const *p, int64_t members, REAL *restrict reference)
{
    REAL heaviest[TILE];
    for (int i = 0; i < TILE; i++) { heaviest[i] = weights[i]; reference[i] = p[0][i]; }
    for (int64_t m = 1; m < members; m++)
        for (int i = 0; i < TILE; i++) {
            const int more = weights[m * TILE + i] > heaviest[i];
            heaviest[i] = more ? weights[m * TILE + i] : heaviest[i];
            reference[i] = more ? p[m][i] : reference[i];
        }
}

static int NAME(check)(const Job *job, int64_t start, int64_t stop);

/* One instance range of a job. Returns 0, INVALID or NO_MEMORY. */
static int NAME(split)(const Job *job, int64_t start, int64_t stop)
{
    const int64_t m_count = job->members, classes = job->classes;
    const int class_major = job->class_major, results = job->loss == LOG ? 6 : 3;
    const int first = job->loss == SQUARED && m_count <= FEW; /* then TU is AU + EU, and so are the totals */
    /* class_major: a tile is TILE instances of one class; otherwise whole instances, all classes side by side, or parts of a wide one */
    const int64_t block = class_major ? TILE : rows_at_once(classes);
    const int wide = !class_major && classes > BLOCK;
    const int64_t room = (class_major ? 0 : BLOCK) + TILE;
    const int direct = job->kind == NATIVE && job->aligned && (class_major || (job->stride_k == (int64_t)sizeof(REAL) && job->stride_n == job->stride_k * classes));
    const int check = job->check && (direct || class_major); /* otherwise it takes a pass of its own */
    const size_t member_sums = (size_t)m_count * TILE * (size_t)(check && class_major);
    REAL *space = malloc(((size_t)room * 6 + (size_t)(m_count * 2 + 1) * TILE + (size_t)block * 7 + member_sums) * sizeof(REAL));
    double *wide_sums = malloc((size_t)(6 + m_count) * sizeof(double));
    const REAL **pointers = malloc((size_t)m_count * sizeof(REAL *));
    int status = 0;
    if (!space || !pointers || !wide_sums) { free(space); free(pointers); free(wide_sums); return NO_MEMORY; }
    REAL *scratch[6];
    for (int j = 0; j < 6; j++) scratch[j] = space + j * room;
    REAL *gathered = space + 6 * room, *weights = gathered + m_count * TILE, *reference = weights + m_count * TILE;
    REAL *sums = reference + TILE; /* block * 7: six totals and a row for checks */
    REAL *of_members = sums + block * 7;

    for (int64_t n0 = start; n0 < stop && !status; n0 += block) {
        const int64_t rows = stop - n0 < block ? stop - n0 : block;
        const int64_t slices = class_major ? classes : 1, length = class_major ? rows : rows * classes;
        if (class_major) {
            memset(sums, 0, (size_t)block * 6 * sizeof(REAL));
            memset(of_members, 0, member_sums * sizeof(REAL));
        }
        for (int64_t j = 0; wide && j < 6 + m_count; j++) wide_sums[j] = 0;
        UINT seen = 0; /* in this block, or this part of a wide row */
        for (int64_t slice = 0; slice < slices; slice++) {
            for (int64_t e0 = 0; e0 < length; e0 += TILE) {
                const int64_t len = length - e0 < TILE ? length - e0 : TILE;
                const int64_t beyond = class_major ? rows : job->instances * classes - n0 * classes; /* how far a tile may read on */
                const char *base = job->probs + n0 * job->stride_n + slice * job->stride_k;
                for (int64_t m = 0; m < m_count; m++, base += job->stride_m) {
                    if (direct && e0 + TILE <= beyond) { pointers[m] = (const REAL *)base + e0; continue; }
                    pointers[m] = gathered + m * TILE;
                    if (class_major) NAME(gather)(base + e0 * job->stride_n, job->stride_n, len, job->kind, gathered + m * TILE);
                    else NAME(gather_rows)(job, base, e0, len, gathered + m * TILE);
                    for (int64_t i = len; i < TILE; i++) gathered[m * TILE + i] = (REAL)0.5;
                }
                NAME(Tile) in = {m_count, pointers, (const REAL *)job->weights, NULL, pointers[job->heaviest], (REAL)job->unit};
                if (job->element_weights) {
                    NAME(gather_weights)(job, n0, e0, len, weights);
                    NAME(of_heaviest)(weights, pointers, m_count, reference);
                    in.weights = NULL;
                    in.element_weights = weights;
                    in.reference = reference;
                }
                REAL *target[6]; /* straight into the result where a whole tile fits, else through the scratch space */
                const int64_t place = class_major ? slice * job->instances + n0 + e0 : n0 * classes + e0;
                for (int j = 0; j < 6; j++) {
                    REAL *own = scratch[j] + (class_major ? 0 : e0 % BLOCK);
                    target[j] = j < 3 && len == TILE && job->out[j] ? (REAL *)job->out[j] + place : own;
                }
                const NAME(Parts) out = {target[0], target[1], target[2], target[3], target[4], target[5]};
                const UINT in_tile = job->loss == LOG ? NAME(log_tile)(&in, &out) : NAME(squared_tile)(&in, &out);
                seen |= in_tile;
                for (int j = 0; j < 3; j++)
                    if (job->out[j] && len < TILE) memcpy((REAL *)job->out[j] + place, target[j], (size_t)len * sizeof(REAL));
                if (class_major) {
                    for (int j = first; job->totals && j < results; j++) NAME(add_to)(sums + j * block, target[j], len);
                    for (int64_t m = 0; check && m < m_count; m++) {
                        if (!NAME(may_be)(pointers[m], len, job, in_tile)) status = INVALID;
                        NAME(add_to)(of_members + m * TILE, pointers[m], len);
                    }
                } else if (wide && ((e0 + TILE) % BLOCK == 0 || e0 + len == length)) { /* a part of a wide row, while it is in the cache */
                    const int64_t from = e0 / BLOCK * BLOCK, n = e0 + len - from;
                    for (int j = first; job->totals && j < results; j++) {
                        const REAL *x = j < 3 && job->out[j] ? (REAL *)job->out[j] + n0 * classes + from : scratch[j];
                        wide_sums[j] = NAME(add_row)(x, n, wide_sums[j]);
                    }
                    for (int64_t m = 0; check && m < m_count; m++) {
                        const REAL *x = (const REAL *)(job->probs + m * job->stride_m + n0 * job->stride_n) + from;
                        if (!NAME(may_be)(x, n, job, seen)) status = INVALID;
                        if (job->sum_to_one) wide_sums[6 + m] = NAME(add_row)(x, n, wide_sums[6 + m]);
                    }
                    seen = 0;
                }
            }
        }
        for (int j = first; job->totals && j < results; j++) {
            const REAL *from = j < 3 && job->out[j] ? (REAL *)job->out[j] + n0 * classes : scratch[j];
            if (wide) sums[j * block] = (REAL)wide_sums[j];
            else if (!class_major) NAME(row_sums)(from, rows, classes, sums + j * block);
        }
        for (int64_t i = 0; first && i < rows; i++) sums[i] = sums[block + i] + sums[2 * block + i];
        for (int j = 0; j < results; j++)
            if (job->out[3 + j]) memcpy((REAL *)job->out[3 + j] + n0, sums + j * block, (size_t)rows * sizeof(REAL));
        for (int64_t m = 0; check && m < m_count && !status; m++) {
            REAL *own = class_major ? of_members + m * TILE : sums + 6 * block;
            if (wide) own[0] = (REAL)wide_sums[6 + m];
            if (class_major || wide) status = !job->sum_to_one || NAME(near_one)(own, rows, (REAL)job->tolerance) ? 0 : INVALID;
            else status = NAME(check_rows)((const REAL *)(job->probs + m * job->stride_m + n0 * job->stride_n), rows, job, seen, own);
        }
    }
    free(space);
    free(pointers);
    free(wide_sums);
    return status || !job->check || check ? status : NAME(check)(job, start, stop);
}

/* Values in [0, 1] and sums of 1 up to a tolerance, for an instance range. */
static int NAME(check)(const Job *job, int64_t start, int64_t stop)
{
    const int64_t classes = job->classes;
    const int64_t block = job->class_major ? BLOCK : (classes >= BLOCK ? 1 : BLOCK / classes);
    const int rowwise = !job->class_major;
    const int contiguous = job->kind == NATIVE && job->aligned && rowwise && job->stride_k == (int64_t)sizeof(REAL) && job->stride_n == job->stride_k * classes;
    REAL *space = malloc(((size_t)block * (rowwise ? (size_t)classes : 1) + (size_t)block) * sizeof(REAL));
    if (!space) return NO_MEMORY;
    REAL *sums = space + block * (rowwise ? classes : 1);
    int status = 0;
    for (int64_t m = 0; m < job->members && !status; m++) {
        for (int64_t n0 = start; n0 < stop && !status; n0 += block) {
            const int64_t rows = stop - n0 < block ? stop - n0 : block;
            const char *base = job->probs + m * job->stride_m + n0 * job->stride_n;
            if (rowwise) {
                const REAL *x = (const REAL *)base;
                if (!contiguous) {
                    for (int64_t i = 0; i < rows; i++) NAME(gather)(base + i * job->stride_n, job->stride_k, classes, job->kind, space + i * classes);
                    x = space;
                }
                status = NAME(check_rows)(x, rows, job, NAME(all_bits)(x, rows * classes), sums);
            } else {
                for (int64_t i = 0; i < rows; i++) sums[i] = 0;
                for (int64_t k = 0; k < classes; k++) {
                    NAME(gather)(base + k * job->stride_k, job->stride_n, rows, job->kind, space);
                    if (!NAME(may_be)(space, rows, job, NAME(all_bits)(space, rows))) status = INVALID;
                    NAME(add_to)(sums, space, rows);
                }
                if (!status && job->sum_to_one && !NAME(near_one)(sums, rows, (REAL)job->tolerance)) status = INVALID;
            }
        }
    }
    free(space);
    return status;
}

#undef REAL
#undef NAME
#undef UINT
#undef WIDTH
#undef TINY
#undef MANTISSA
#undef EXPONENT_BIAS
#undef MANTISSA_MASK
#undef ONE_BITS
#undef ROOT_HALF_BITS
#undef MAGIC
#undef MAGIC_BITS
#undef LOG2_BY_DIVISION
#undef LOG2_POLYNOMIAL
#undef COMPLEMENT_POLYNOMIAL
#undef ARTANH_POLYNOMIAL
