/* How an array of predictions is cut into tiles: a function for each layout; included by fused_level.h once for each type.
 *
 * Whole rows (all classes of an instance side by side), several at a time; very wide rows, a part of one at a time; and planes (the
 * instances of a class side by side), which also serve sums over classes: events. */

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

/* The memory that one thread works in. */
typedef struct {
    void *block;
    const REAL **p, **c; /* the members' predictions in a tile, and those of the complements of events */
    const REAL **planes; /* events: all classes of all members */
    REAL *copies, *copies_c, *all; /* for those that cannot be read where they are */
    REAL *weights, *reference, *reference_c, *costs[4], *results[6], *sums[6], *check, *members;
    double *totals;
} NAME(Work);

/* How far the costs reach: they are repeated for the rows of a block. */
static int64_t NAME(cost_length)(const Job *job, int64_t rows)
{
    if (job->loss != COST) return 0;
    return job->class_major || job->events ? TILE : TILE + rows * job->classes;
}

/* Memory for `count` instances: no more than a small job needs. */
static int NAME(prepare)(const Job *job, NAME(Work) *w, int64_t count)
{
    const int64_t m = job->members, k = job->classes, planes = job->class_major || job->events;
    const int64_t block = planes ? TILE : rows_at_once(k), rows = planes || count > block ? block : count, costs = NAME(cost_length)(job, rows);
    const int64_t room = (planes ? 0 : k >= BLOCK || rows * k >= BLOCK ? BLOCK : rows * k) + TILE;
    const size_t every = job->events ? (size_t)(m * k) : 0;
    const size_t pointers = 2 * (size_t)m + every, totals = 6 + (size_t)m;
    const size_t numbers = (size_t)(6 * room + 7 * rows + (4 * m + 2) * TILE + 4 * costs) + every * TILE;
    char *memory = malloc(pointers * sizeof(REAL *) + totals * sizeof(double) + numbers * sizeof(REAL));
    w->block = memory;
    if (!memory) return NO_MEMORY;
    w->totals = (double *)memory;
    w->p = (const REAL **)(w->totals + totals);
    w->c = w->p + m;
    w->planes = w->c + m;
    REAL *next = (REAL *)(w->planes + every);
#define TAKE(count) (next += (count), next - (count))
    for (int j = 0; j < 6; j++) { w->results[j] = TAKE(room); w->sums[j] = TAKE(rows); }
    w->check = TAKE(rows);
    w->copies = TAKE(m * TILE);
    w->copies_c = TAKE(m * TILE);
    w->weights = TAKE(m * TILE);
    w->members = TAKE(m * TILE);
    w->reference = TAKE(TILE);
    w->reference_c = TAKE(TILE);
    for (int j = 0; j < 4; j++) w->costs[j] = TAKE(costs);
    w->all = TAKE((int64_t)every * TILE);
#undef TAKE
    for (int j = 0; j < 4 && costs && !planes; j++)
        for (int64_t i = 0; i < costs; i += k) memcpy(w->costs[j] + i, (const REAL *)job->costs + j * k, (size_t)(costs - i < k ? costs - i : k) * sizeof(REAL));
    return 0;
}

/* The weights of a tile's elements, of which `width` belong to an instance, member after member; those beyond its end as for the first. */
static void NAME(gather_weights)(const Job *job, int64_t n0, int64_t e0, int64_t len, int64_t width, REAL *to)
{
    for (int64_t m = 0; m < job->members; m++)
        for (int64_t i = 0; i < TILE; i++) {
            const int64_t n = n0 + (e0 + (i < len ? i : 0)) / width;
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

/* One tile, from the members' predictions w->p (and w->c, if `pair`). Its results go to `place` in the outputs and, where they are not
 * wanted or do not fill a whole tile, to `own`; `target` says where they are. */
static UINT NAME(compute_tile)(const Job *job, NAME(Work) *w, int64_t n0, int64_t e0, int64_t len, int64_t width, int pair, int64_t place, int64_t own, REAL **target)
{
    for (int j = 0; j < 6; j++) target[j] = j < 3 && len == TILE && job->out[j] ? (REAL *)job->out[j] + place : w->results[j] + own;
    NAME(Tile) in;
    memset(&in, 0, sizeof in);
    in.members = job->members;
    in.p = w->p;
    in.c = pair ? w->c : NULL;
    in.unit = (REAL)job->unit;
    in.beta = job->beta;
    for (int j = 0; j < 4; j++) in.cost[j] = w->costs[j] + (width > 1 ? e0 : 0);
    if (job->element_weights) {
        NAME(gather_weights)(job, n0, e0, len, width, w->weights);
        NAME(of_heaviest)(w->weights, w->p, job->members, w->reference);
        if (pair) NAME(of_heaviest)(w->weights, w->c, job->members, w->reference_c);
        in.element_weights = w->weights;
        in.reference = w->reference;
        in.reference_c = w->reference_c;
    } else {
        in.weights = (const REAL *)job->weights;
        in.reference = w->p[job->heaviest];
        in.reference_c = pair ? w->c[job->heaviest] : NULL;
    }
    const NAME(Parts) out = {target[0], target[1], target[2], target[3], target[4], target[5]};
    const UINT seen = NAME(tile)(job->loss, &in, &out);
    for (int j = 0; j < 3; j++)
        if (job->out[j] && len < TILE) memcpy((REAL *)job->out[j] + place, target[j], (size_t)len * sizeof(REAL));
    return seen;
}

/* Whether rows can be read where they are. */
static int NAME(in_place)(const Job *job)
{
    return job->kind == NATIVE && job->aligned && job->stride_k == (int64_t)sizeof(REAL) && job->stride_n == job->stride_k * job->classes;
}

/* A tile of the rows from n0 on: the elements from e0 on, of all members. */
static void NAME(load_rows)(const Job *job, NAME(Work) *w, int64_t n0, int64_t e0, int64_t len)
{
    const int direct = NAME(in_place)(job) && e0 + TILE <= (job->instances - n0) * job->classes; /* a tile may read on into later rows */
    const char *base = job->probs + n0 * job->stride_n;
    for (int64_t m = 0; m < job->members; m++, base += job->stride_m) {
        REAL *copy = w->copies + m * TILE;
        w->p[m] = direct ? (const REAL *)base + e0 : copy;
        if (direct) continue;
        NAME(gather_rows)(job, base, e0, len, copy);
        for (int64_t i = len; i < TILE; i++) copy[i] = (REAL)0.5;
    }
}

/* The results j of a block or row, where they are. */
static const REAL *NAME(found)(const Job *job, const NAME(Work) *w, int j, int64_t place)
{
    return j < 3 && job->out[j] ? (const REAL *)job->out[j] + place : w->results[j];
}

static void NAME(store_sums)(const Job *job, const NAME(Work) *w, int64_t n0, int64_t rows)
{
    for (int64_t i = 0; job->added && i < rows; i++) w->sums[0][i] = w->sums[1][i] + w->sums[2][i];
    for (int j = 0; j < job->results; j++)
        if (job->out[3 + j]) memcpy((REAL *)job->out[3 + j] + n0, w->sums[j], (size_t)rows * sizeof(REAL));
}

static int NAME(split_rows)(const Job *job, NAME(Work) *w, int64_t start, int64_t stop)
{
    const int64_t classes = job->classes, block = rows_at_once(classes);
    const int check = job->check && NAME(in_place)(job);
    REAL *target[6];
    for (int64_t n0 = start; n0 < stop; n0 += block) {
        const int64_t rows = stop - n0 < block ? stop - n0 : block, length = rows * classes;
        UINT seen = 0;
        for (int64_t e0 = 0; e0 < length; e0 += TILE) {
            const int64_t len = length - e0 < TILE ? length - e0 : TILE;
            NAME(load_rows)(job, w, n0, e0, len);
            seen |= NAME(compute_tile)(job, w, n0, e0, len, classes, 0, n0 * classes + e0, e0, target);
        }
        for (int j = job->added; job->totals && j < job->results; j++) NAME(row_sums)(NAME(found)(job, w, j, n0 * classes), rows, classes, w->sums[j]);
        NAME(store_sums)(job, w, n0, rows);
        for (int64_t m = 0; check && m < job->members; m++) {
            const REAL *x = (const REAL *)(job->probs + m * job->stride_m + n0 * job->stride_n);
            if (NAME(check_rows)(x, rows, job, seen, w->check)) return INVALID;
        }
    }
    return job->check && !check ? NAME(check)(job, start, stop) : 0;
}

/* Rows of more than BLOCK classes: sums and checks of a part are done while it is in the cache. */
static int NAME(split_wide)(const Job *job, NAME(Work) *w, int64_t start, int64_t stop)
{
    const int64_t classes = job->classes;
    const int check = job->check && NAME(in_place)(job);
    REAL *target[6];
    for (int64_t n0 = start; n0 < stop; n0++) {
        for (int64_t j = 0; j < 6 + job->members; j++) w->totals[j] = 0;
        for (int64_t from = 0; from < classes; from += BLOCK) {
            const int64_t n = classes - from < BLOCK ? classes - from : BLOCK;
            UINT seen = 0;
            for (int64_t e = 0; e < n; e += TILE) {
                const int64_t len = n - e < TILE ? n - e : TILE;
                NAME(load_rows)(job, w, n0, from + e, len);
                seen |= NAME(compute_tile)(job, w, n0, from + e, len, classes, 0, n0 * classes + from + e, e, target);
            }
            for (int j = job->added; job->totals && j < job->results; j++)
                w->totals[j] = NAME(add_row)(NAME(found)(job, w, j, n0 * classes + from), n, w->totals[j]);
            for (int64_t m = 0; check && m < job->members; m++) {
                const REAL *x = (const REAL *)(job->probs + m * job->stride_m + n0 * job->stride_n) + from;
                if (!NAME(may_be)(x, n, job, seen)) return INVALID;
                if (job->sum_to_one) w->totals[6 + m] = NAME(add_row)(x, n, w->totals[6 + m]);
            }
        }
        for (int j = 0; j < job->results; j++) w->sums[j][0] = (REAL)w->totals[j];
        NAME(store_sums)(job, w, n0, 1);
        for (int64_t m = 0; check && job->sum_to_one && m < job->members; m++) {
            const REAL sum = (REAL)w->totals[6 + m];
            if (!NAME(near_one)(&sum, 1, (REAL)job->tolerance)) return INVALID;
        }
    }
    return job->check && !check ? NAME(check)(job, start, stop) : 0;
}

/* Class k of member m for TILE instances from n0 on: where it lies, or a copy. */
static const REAL *NAME(plane)(const Job *job, int64_t m, int64_t k, int64_t n0, int64_t len, REAL *copy)
{
    const char *base = job->probs + m * job->stride_m + n0 * job->stride_n + k * job->stride_k;
    if (job->kind == NATIVE && job->aligned && job->stride_n == (int64_t)sizeof(REAL) && len == TILE) return (const REAL *)base;
    NAME(gather)(base, job->stride_n, len, job->kind, copy);
    for (int64_t i = len; i < TILE; i++) copy[i] = (REAL)0.5;
    return copy;
}

/* Add a plane of member m to the sums that are checked: 0 or INVALID. */
static int NAME(check_plane)(const Job *job, NAME(Work) *w, const REAL *x, int64_t m, int64_t len, UINT seen)
{
    NAME(add_to)(w->members + m * TILE, x, len);
    return NAME(may_be)(x, len, job, seen) ? 0 : INVALID;
}

/* sum of the planes whose positions are given */
static void NAME(add_planes)(const REAL *const *planes, int64_t members, const int64_t *positions, int64_t count, REAL *restrict to)
{
    EACH(i) to[i] = 0;
    for (int64_t j = 0; j < count; j++) {
        const REAL *restrict x = planes[positions[j] * members];
        EACH(i) to[i] += x[i];
    }
}

/* The probability of an event and of its complement for every member: sums of classes; given others, their shares. */
static void NAME(load_event)(const Job *job, NAME(Work) *w, int64_t event)
{
    const int64_t *at = job->offsets + 2 * event;
    for (int64_t m = 0; m < job->members; m++) {
        REAL *restrict t = w->copies + m * TILE, *restrict c = w->copies_c + m * TILE;
        NAME(add_planes)(w->planes + m, job->members, job->positions + at[0], at[1] - at[0], t);
        NAME(add_planes)(w->planes + m, job->members, job->positions + at[1], at[2] - at[1], c);
        if (job->given)
            EACH(i) {
                REAL whole = t[i] + c[i], scale = whole > 0 ? whole : 1;
                t[i] = whole > 0 ? t[i] / scale : (REAL)0.5;
                c[i] = whole > 0 ? c[i] / scale : (REAL)0.5;
            }
        w->p[m] = t;
        w->c[m] = c;
    }
}

static int NAME(split_planes)(const Job *job, NAME(Work) *w, int64_t start, int64_t stop)
{
    const int64_t members = job->members;
    REAL *target[6];
    int status = 0;
    for (int64_t n0 = start; n0 < stop && !status; n0 += TILE) {
        const int64_t len = stop - n0 < TILE ? stop - n0 : TILE;
        for (int j = 0; j < 6; j++) memset(w->sums[j], 0, TILE * sizeof(REAL));
        memset(w->members, 0, (size_t)members * TILE * sizeof(REAL));
        for (int64_t k = 0; job->events && k < job->classes; k++)
            for (int64_t m = 0; m < members; m++) {
                const REAL *x = w->planes[k * members + m] = NAME(plane)(job, m, k, n0, len, w->all + (k * members + m) * TILE);
                if (job->check) status |= NAME(check_plane)(job, w, x, m, len, NAME(all_bits)(x, len));
            }
        for (int64_t label = 0; label < job->labels; label++) {
            if (job->events) NAME(load_event)(job, w, label);
            else for (int64_t m = 0; m < members; m++) w->p[m] = NAME(plane)(job, m, label, n0, len, w->copies + m * TILE);
            for (int j = 0; j < 4 && job->loss == COST; j++)
                for (int i = 0; i < TILE; i++) w->costs[j][i] = ((const REAL *)job->costs)[j * job->labels + label];
            const UINT seen = NAME(compute_tile)(job, w, n0, 0, len, 1, job->events, label * job->instances + n0, 0, target);
            for (int j = job->added; job->totals && j < job->results; j++) NAME(add_to)(w->sums[j], target[j], len);
            for (int64_t m = 0; job->check && !job->events && m < members; m++) status |= NAME(check_plane)(job, w, w->p[m], m, len, seen);
        }
        NAME(store_sums)(job, w, n0, len);
        for (int64_t m = 0; job->check && job->sum_to_one && m < members; m++)
            if (!NAME(near_one)(w->members + m * TILE, len, (REAL)job->tolerance)) status = INVALID;
    }
    return status;
}

/* One instance range of a job. Returns 0, INVALID or NO_MEMORY. */
static int NAME(split)(const Job *job, int64_t start, int64_t stop)
{
    NAME(Work) work;
    int status = NAME(prepare)(job, &work, stop - start);
    if (status) return status;
    if (job->class_major || job->events) status = NAME(split_planes)(job, &work, start, stop);
    else status = job->classes > BLOCK ? NAME(split_wide)(job, &work, start, stop) : NAME(split_rows)(job, &work, start, stop);
    free(work.block);
    return status;
}
