/* Sums over the classes, and the checks that values are probabilities; included by type.h. */

/* The sum of n numbers added to `total`, in lanes; the same at once or in pieces of a multiple of 512. */
static double NAME(add_up)(const REAL *restrict x, int64_t n, double total)
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

#if HAS_VECTORS
/* A row in a vector: `whole` numbers, a multiple of WIDTH, and the few more that `rest` lets through. All
 * bits are added to `seen`. */
static ALWAYS_INLINE NAME(vector) NAME(part)(const REAL *row, const int64_t whole, NAME(bit_vector) rest,
                                             NAME(bit_vector) *seen)
{
    NAME(bit_vector) x;
    memcpy(&x, row + whole, sizeof x);
    x &= rest;
    *seen |= x;
    NAME(vector) sum = (NAME(vector))x;
    for (int64_t k = 0; k < whole; k += WIDTH) {
        memcpy(&x, row + k, sizeof x);
        *seen |= x;
        sum += (NAME(vector))x;
    }
    return sum;
}

/* WIDTH vectors to the vector of their sums. */
static ALWAYS_INLINE NAME(vector) NAME(fold)(const NAME(vector) *p)
{
#if WIDTH == 4
    const NAME(vector) a = EVEN4(p[0], p[1]) + ODD4(p[0], p[1]);
    const NAME(vector) b = EVEN4(p[2], p[3]) + ODD4(p[2], p[3]);
    return EVEN4(a, b) + ODD4(a, b);
#else
    return EVEN2(p[0], p[1]) + ODD2(p[0], p[1]);
#endif
}

static ALWAYS_INLINE UINT NAME(narrow_sums)(const REAL *restrict x, int64_t rows, int64_t classes,
                                            const int64_t whole, REAL *restrict out)
{
    NAME(bit_vector) rest, seen = {0};
    NAME(vector) p[WIDTH];
    int64_t i = 0;
    for (int l = 0; l < WIDTH; l++) rest[l] = l < classes - whole ? ~(UINT)0 : 0;
    /* rows are read beyond their end: the last ones from a copy */
    for (; (i + WIDTH) * classes + WIDTH <= rows * classes; i += WIDTH) {
        for (int r = 0; r < WIDTH; r++) p[r] = NAME(part)(x + (i + r) * classes, whole, rest, &seen);
        p[0] = NAME(fold)(p);
        memcpy(out + i, p, sizeof *p);
    }
    for (; i < rows; i += WIDTH) {
        REAL copy[WIDTH * NARROW + WIDTH];
        const int64_t count = rows - i < WIDTH ? rows - i : WIDTH;
        memcpy(copy, x + i * classes, (size_t)(count * classes) * sizeof(REAL));
        for (int r = 0; r < WIDTH; r++) {
            const int64_t row = r < count ? r : 0;
            p[r] = NAME(part)(copy + row * classes, whole, rest, &seen);
        }
        p[0] = NAME(fold)(p);
        memcpy(out + i, p, (size_t)count * sizeof(REAL));
    }
    for (int l = 1; l < WIDTH; l++) seen[0] |= seen[l];
    return seen[0];
}
#endif

/* All bits of n numbers. */
static ALWAYS_INLINE UINT NAME(all_bits)(const REAL *restrict x, int64_t n)
{
    UINT seen = 0;
    for (int64_t i = 0; i < n; i++) seen |= NAME(bits)(x[i]);
    return seen;
}

/* out[i] = sum over k of x[i*K + k]; returns all bits of x. */
static UINT NAME(row_sums)(const REAL *restrict x, int64_t rows, int64_t classes, REAL *restrict out)
{
    UINT seen = 0;
    if (classes > NARROW) {
        for (int64_t i = 0; i < rows; i++) {
            out[i] = (REAL)NAME(add_up)(x + i * classes, classes, 0);
            seen |= NAME(all_bits)(x + i * classes, classes);
        }
        return seen;
    }
#if HAS_VECTORS
    switch (classes / WIDTH) {
#define CASE(n) case n: return NAME(narrow_sums)(x, rows, classes, n * WIDTH, out);
    CASE(0) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5)
#undef CASE
    default: return NAME(narrow_sums)(x, rows, classes, classes / WIDTH * WIDTH, out);
    }
#else
    for (int64_t i = 0; i < rows; i++) {
        REAL total = x[i * classes];
        for (int64_t k = 1; k < classes; k++) total += x[i * classes + k];
        out[i] = total;
    }
    return NAME(all_bits)(x, rows * classes);
#endif
}

/* Whether all of x lie in [0, high]. Compared as integers, because the file is compiled as if no number
 * were infinite or NaN: those, and negative numbers, are larger than any number in range; only -0 needs a
 * word of its own. */
static int NAME(in_range)(const REAL *restrict x, int64_t n, REAL high)
{
    const UINT largest = NAME(bits)(high), negative_zero = (UINT)1 << (8 * sizeof(UINT) - 1);
    UINT bad = 0;
    for (int64_t i = 0; i < n; i++) {
        const UINT value = NAME(bits)(x[i]);
        bad |= (UINT)((value > largest) & (value != negative_zero));
    }
    return !bad;
}

/* Whether these may be all bits of numbers in [0, 2): of those whose sum is near 1, none is above 1 then. */
static int NAME(below_two)(UINT seen) { return seen >> (8 * sizeof(UINT) - 2) == 0; }

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

/* sums[i] += x[i] */
static void NAME(add_to)(REAL *restrict sums, const REAL *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) sums[i] += x[i];
}
