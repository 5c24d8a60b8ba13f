/* Numbers of one floating-point type; included by type.h.
 *
 * No intermediate is subnormal where the result is not: some processors take 150 cycles for each of those,
 * and the predictions of confident networks are full of them. So small arguments are cut before they are
 * squared: below CUT_SQUARE the square would be subnormal, and results that are smaller than the smallest
 * normal number may become 0. */

#if HAS_VECTORS
typedef REAL NAME(vector) __attribute__((vector_size(16)));
typedef UINT NAME(bit_vector) __attribute__((vector_size(16)));
#endif

static ALWAYS_INLINE REAL NAME(clamp)(REAL x) { return x > 0 ? x : 0; }

/* A prediction: above 1 only by rounding, as far as the tolerance goes. */
static ALWAYS_INLINE REAL NAME(clip)(REAL x) { return x < 1 ? x : 1; }

static ALWAYS_INLINE REAL NAME(smaller)(REAL x, REAL y) { return x < y ? x : y; }

static ALWAYS_INLINE REAL NAME(magnitude)(REAL x) { return x < 0 ? -x : x; }

static ALWAYS_INLINE UINT NAME(bits)(REAL x)
{
    union { REAL f; UINT i; } v;
    v.f = x;
    return v.i;
}

/* x, or 0 unless `size` is above a limit. By the sign bit of their difference: where a compiler sees a choice
 * between two numbers it computes what follows, powers included, for both. */
static ALWAYS_INLINE REAL NAME(keep)(REAL x, REAL size, REAL limit)
{
    union { REAL f; UINT i; } v;
    v.f = x;
    v.i &= -(NAME(bits)(limit - size) >> (8 * sizeof(UINT) - 1));
    return v.f;
}

/* x, or 0 where its square would be subnormal. */
static ALWAYS_INLINE REAL NAME(cut)(REAL x) { return NAME(keep)(x, NAME(magnitude)(x), CUT_SQUARE); }

/* weight * x for x >= 0, or 0 where that would be subnormal. */
static ALWAYS_INLINE REAL NAME(weighed)(REAL x, REAL weight)
{
    return weight * NAME(keep)(x, x * (weight * SCALE_UP), TINY * SCALE_UP);
}

/* -log2(x) for TINY <= x <= 1/2 (where it is at least 1, so that absolute accuracy is relative accuracy). */
static ALWAYS_INLINE REAL NAME(neg_log2)(REAL x)
{
    union { REAL f; UINT i; } v, e;
    v.f = x;
    UINT bits = v.i + (ONE_BITS - ROOT_HALF_BITS);
    /* the exponent as the low bits of a large float: no integer conversion needed */
    e.i = (bits >> MANTISSA) | MAGIC_BITS;
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
    REAL v = u > CUT_POWERS ? u : CUT_POWERS, v2 = v * v, v4 = v2 * v2;
    return u * COMPLEMENT_POLYNOMIAL(v, v2, v4);
}

/* x log2(x/m) - e with e = (x - m) log2(e) and s = (x - m) / (x + m); x_part = -x log2 x and log_m =
 * -log2 m are known already. `small`: s may be so small that its square is subnormal. */
static ALWAYS_INLINE REAL NAME(kl_term)(REAL x, REAL e, REAL s, REAL x_part, REAL log_m, const int small)
{
    REAL v = small ? NAME(cut)(s) : s;
    REAL z = v * v;
    REAL y = z > CUT_POWERS ? z : CUT_POWERS;
    REAL close = e * v * (1 + (z + v) * ARTANH_POLYNOMIAL(y));
    REAL far = x * log_m - x_part - e;
    return z < (REAL)(1.0 / 9) ? close : far;
}
