/* Functions of one number, without branches, so that loops over them become vector instructions; included
 * by dirichlet.h.
 *
 * All are in double precision, whatever comes in and goes out. Relative errors are a few units in the last
 * place unless said otherwise. ln 2 is LN2_HIGH, which has few digits, and LN2_LOW. */

#define LN2_HIGH 6.93147180369123816490e-01
#define LN2_LOW 1.90821492927058770002e-10

static ALWAYS_INLINE double NAME(from_bits)(uint64_t i)
{
    union { double f; uint64_t i; } v;
    v.i = i;
    return v.f;
}

static ALWAYS_INLINE uint64_t NAME(bits)(double x)
{
    union { double f; uint64_t i; } v;
    v.f = x;
    return v.i;
}

static ALWAYS_INLINE double NAME(smaller)(double x, double y) { return x < y ? x : y; }
static ALWAYS_INLINE double NAME(larger)(double x, double y) { return x > y ? x : y; }

/* e^x for x <= 700; 0 below -700. */
static ALWAYS_INLINE double NAME(exp)(double x)
{
    const double inside = x > -700 ? x : -700;
    const double shifted = inside * LW_LOG2_E + 6755399441055744.0; /* 1.5 * 2^52: rounds to whole numbers */
    const double k = shifted - 6755399441055744.0;
    const double r = (inside - k * LN2_HIGH) - k * LN2_LOW;
    const double power_of_2 = NAME(from_bits)((NAME(bits)(shifted) + 1023) << 52);
    const double value = (1 + (r + r * r * LW_EXP_REST(r))) * power_of_2;
    return x > -700 ? value : 0;
}

/* ln x for normal x > 0. */
static ALWAYS_INLINE double NAME(log)(double x)
{
    const uint64_t shifted = NAME(bits)(x) + (0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull);
    const double e = NAME(from_bits)((shifted >> 52) | 0x4330000000000000ull) - (4503599627370496.0 + 1023);
    /* 1 less than the mantissa, which is in [sqrt(1/2), sqrt(2)) */
    const double f = NAME(from_bits)((shifted & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull) - 1;
    const double s = f / (2 + f), z = s * s, half = 0.5 * f * f;
    const double p = LW_ARTANH_SERIES_11(z);
    return e * LN2_HIGH - ((half - (s * (half + p * z) + e * LN2_LOW)) - f);
}

/* With x + y = x 2^e (1 + s) / (1 - s), |s| < 0.2: ln((x + y) / x) = e ln 2 + 2s + t for x > 0, y >= 0;
 * up to about y = 0.4 x, e = 0. One division, and no loss where y is small. */
static ALWAYS_INLINE double NAME(reduce)(double x, double y, double *e, double *t)
{
    const double w = x + y, part = w - x, lost = (x - (w - part)) + (y - part);
    const uint64_t steps = (NAME(bits)(w) - NAME(bits)(x) + (1ull << 51)) >> 52;
    const double scaled = NAME(from_bits)(NAME(bits)(x) + (steps << 52));
    *e = NAME(from_bits)(steps | 0x4330000000000000ull) - 4503599627370496.0;
    const double s = (steps ? (w - scaled) + lost : y) / (w + scaled), z = s * s;
    *t = s * z * LW_ARTANH_SERIES_12(z);
    return s;
}

/* ln((x + y) / x) for x > 0, y >= 0. */
static ALWAYS_INLINE double NAME(log_quotient)(double x, double y)
{
    double e, t;
    const double s = NAME(reduce)(x, y, &e, &t);
    return e * LN2_HIGH + (2 * s + (t + e * LN2_LOW));
}

/* x - ln(1 + x) >= 0 for x >= 0. */
static ALWAYS_INLINE double NAME(log_gap)(double x)
{
    double e, t;
    const double s = NAME(reduce)(1, x, &e, &t);
    const double far = x - (e * LN2_HIGH + (2 * s + (t + e * LN2_LOW)));
    return e > 0 ? far : s * x - t;
}

/* x - ln(1 + x) >= 0 for -1/2 <= x <= 0, by the series of artanh(x / (2 + x)). */
static ALWAYS_INLINE double NAME(near_log_gap)(double x)
{
    const double s = x / (2 + x), z = s * s;
    return s * x - s * z * LW_ARTANH_SERIES_17(z);
}

/* v - 1 + e^-v >= 0 for v >= 0, given e^-v. */
static ALWAYS_INLINE double NAME(exp_gap)(double v, double e)
{
    const double u = v < 0.5 ? v : 0.5;
    return v < 0.5 ? LW_EXP_GAP(u) * u * u : v - 1 + e;
}

/* ln Gamma(x + 1) - [x ln x - x + ln(2 pi x) / 2], Stirling's error; to 1e-15. */
static ALWAYS_INLINE double NAME(stirling_error)(double x)
{
    const double z = x < 9 ? x + 9 : x, r = 1 / z, q = r * r;
    const double s = LW_STIRLING_ERROR(q) * r;
    const double u = x < 9 ? x : 1, v = u + 9, v2 = v * v, v4 = v2 * v2;
    const double below = (u + 1) * (u + 2) * (u + 3) * (u + 4) * ((u + 5) * (u + 6)) * ((u + 7) * (u + 8));
    const double small = s + (u + 0.5) * NAME(log_quotient)(u, 9) - 9 - NAME(log)(below / (v4 * v4));
    return x < 9 ? small : s;
}

/* For psi(w + 1) - psi(x + 1) and lambda(x) - lambda(w) with w = x + y, lambda(x) = psi(x + 1) - ln x:
 * nine steps of the recurrence for x < 9, then the asymptotic series, whose differences are divided
 * differences of its polynomial. `ln` is ln(w / x). */
static ALWAYS_INLINE void NAME(digamma_steps)(double x, double y, double *ln, double *psi, double *lambda)
{
    const int large = x >= 9;
    const double z = large ? x : x + 9, zw = z + y, rz = 1 / z, rw = 1 / zw;
    const double share = y * rw, p = rz * rz, q = rw * rw;
    /* the polynomial's Horner scheme at p and, of its divided difference, at q */
    double b, d;
#define FIRST(coefficient) b = d = (coefficient);
#define NEXT(coefficient) \
    b = b * p + (coefficient); \
    d = d * q + b;
    LW_DIGAMMA_SERIES(FIRST, NEXT)
#undef FIRST
#undef NEXT
    const double drop = share * rz * (0.5 - (rz + rw) * d);
    const double u = large ? 9 : x, step = y < 1e30 ? y : 1e30, w = u + step;
#define STEP(j) const double s##j = (u + j) * (w + j);
    STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7) STEP(8) STEP(9)
#undef STEP
#define UPPER(i, j, k) ((s##i + s##j) * s##k + s##i * s##j)
#define LOWER(i, j, k) (s##i * s##j * s##k)
    const double low = LOWER(1, 2, 3), mid = LOWER(4, 5, 6), high = LOWER(7, 8, 9);
    const double upper = (UPPER(1, 2, 3) * mid + UPPER(4, 5, 6) * low) * high + UPPER(7, 8, 9) * (low * mid);
    const double steps = step * upper / (low * mid * high); /* the sum of step / s1 ... s9 */
#undef UPPER
#undef LOWER
    /* ln(zw / z), and what it lacks of ln(w / x) */
    const double above = NAME(log_quotient)(z, y), below = NAME(log_quotient)(u * zw, 9 * y);
    *ln = large ? above : above + below;
    *psi = large ? above - drop : steps + (above - drop);
    *lambda = large ? drop : NAME(larger)((below - steps) + drop, 0);
}

#undef LN2_HIGH
#undef LN2_LOW
