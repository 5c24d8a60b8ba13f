/* How an array of predictions is cut into tiles: a function for each layout; included by type.h.
 *
 * Whole rows (all classes of an instance side by side), several at a time; very wide rows, a part of one at a
 * time; and planes (the instances of a class side by side), which also serve sums over classes: events. */

/* Copy n elements, stride bytes apart, into the arithmetic type. */
static void NAME(gather)(const char *restrict from, int64_t stride, int64_t n, lw_type type,
                         REAL *restrict to)
{
    if (!lw_is_half(type) && stride == (int64_t)sizeof(REAL)) {
        memcpy(to, from, (size_t)n * sizeof(REAL));
        return;
    }
    if (!lw_is_half(type)) {
        for (int64_t i = 0; i < n; i++) memcpy(&to[i], from + i * stride, sizeof(REAL));
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, from + i * stride, 2);
        union { float f; uint32_t i; } v;
        if (type == LW_BFLOAT16) {
            v.i = (uint32_t)h << 16;
        } else { /* shift the exponent into place by a multiplication, which is exact for subnormals too */
            v.i = (uint32_t)(h & 0x7fff) << 13;
            v.f *= 5.192296858534828e33f; /* 2^112 */
            v.i |= (uint32_t)(h & 0x8000) << 16;
        }
        to[i] = (REAL)v.f;
    }
}

/* Copy `len` predictions of a block of instances from the e0-th on, in runs of classes. */
static void NAME(gather_rows)(const lw_predictions *x, const char *base, int64_t e0, int64_t len, REAL *to)
{
    const int64_t end = e0 + len;
    for (int64_t e = e0; e < end;) {
        const int64_t k = e % x->classes, left = x->classes - k;
        const int64_t run = left < end - e ? left : end - e;
        const char *from = base + (e / x->classes) * x->stride_n + k * x->stride_k;
        NAME(gather)(from, x->stride_k, run, x->type, to);
        e += run;
        to += run;
    }
}

/* Whether numbers can be read where they are. */
static int NAME(is_aligned)(const lw_predictions *x)
{
    const uintptr_t strides = (uintptr_t)x->stride_m | (uintptr_t)x->stride_n | (uintptr_t)x->stride_k;
    return !lw_is_half(x->type) && ((uintptr_t)x->data | strides) % sizeof(REAL) == 0;
}

/* Whether rows lie side by side, and can be read where they are. */
static int NAME(has_plain_rows)(const lw_predictions *x)
{
    const int contiguous = x->stride_k == (int64_t)sizeof(REAL) && x->stride_n == x->stride_k * x->classes;
    return contiguous && NAME(is_aligned)(x);
}

/* Check rows of one member, in `space` for copies and `sums`. */
static int NAME(check_rows)(const lw_check_job *job, const char *base, int64_t rows, REAL *space, REAL *sums)
{
    const lw_predictions *p = &job->probs;
    const REAL *x = (const REAL *)base;
    if (!NAME(has_plain_rows)(p)) {
        NAME(gather_rows)(p, base, 0, rows * p->classes, space);
        x = space;
    }
    const REAL high = (REAL)(1 + job->tolerance);
    if (!job->sum_to_one) return NAME(in_range)(x, rows * p->classes, high);
    const UINT seen = NAME(row_sums)(x, rows, p->classes, sums);
    if (!NAME(below_two)(seen) && !NAME(in_range)(x, rows * p->classes, high)) return 0;
    return NAME(near_one)(sums, rows, (REAL)job->tolerance);
}

/* Check planes of one member. */
static int NAME(check_planes)(const lw_check_job *job, const char *base, int64_t rows, REAL *space,
                              REAL *sums)
{
    const lw_predictions *p = &job->probs;
    for (int64_t i = 0; i < rows; i++) sums[i] = 0;
    for (int64_t k = 0; k < p->classes; k++) {
        NAME(gather)(base + k * p->stride_k, p->stride_n, rows, p->type, space);
        if (!NAME(in_range)(space, rows, (REAL)(1 + job->tolerance))) return 0;
        NAME(add_to)(sums, space, rows);
    }
    return !job->sum_to_one || NAME(near_one)(sums, rows, (REAL)job->tolerance);
}

/* Values in [0, 1] and sums of 1 up to a tolerance, for an instance range. */
static lw_status NAME(check)(const void *given, int64_t start, int64_t stop)
{
    const lw_check_job *job = given;
    const lw_predictions *p = &job->probs;
    const int64_t block = job->class_major ? BLOCK : (p->classes >= BLOCK ? 1 : BLOCK / p->classes);
    const int64_t room = job->class_major ? block : block * p->classes;
    REAL *space = malloc((size_t)(room + block) * sizeof(REAL)), *sums = space + room;
    if (!space) return LW_NO_MEMORY;
    int fit = 1;
    for (int64_t m = 0; m < p->members && fit; m++)
        for (int64_t n0 = start; n0 < stop && fit; n0 += block) {
            const int64_t rows = stop - n0 < block ? stop - n0 : block;
            const char *base = p->data + m * p->stride_m + n0 * p->stride_n;
            if (job->class_major) fit = NAME(check_planes)(job, base, rows, space, sums);
            else fit = NAME(check_rows)(job, base, rows, space, sums);
        }
    free(space);
    return fit ? LW_OK : LW_INVALID;
}

/* What reads the members' predictions and weights of a tile, and the memory for those that must be copied. */
typedef struct {
    const lw_predictions *probs;
    const lw_weights *weights;
    int plain_rows, aligned;
    int64_t heaviest;    /* member, where it is the same for all instances */
    const REAL **p, **c; /* the predictions of a tile, and those of the complements of events */
    REAL *copies, *copies_c, *tile_weights, *reference, *reference_c;
} NAME(reader);

static int NAME(prepare_reader)(NAME(reader) *r, const lw_predictions *probs, const lw_weights *weights)
{
    const size_t members = (size_t)probs->members;
    char *memory = malloc(2 * members * sizeof(REAL *) + (3 * members + 2) * TILE * sizeof(REAL));
    r->p = (const REAL **)memory;
    if (!memory) return 0;
    r->c = r->p + members;
    r->copies = (REAL *)(r->c + members);
    r->copies_c = r->copies + members * TILE;
    r->tile_weights = r->copies_c + members * TILE;
    r->reference = r->tile_weights + members * TILE;
    r->reference_c = r->reference + TILE;
    r->probs = probs;
    r->weights = weights;
    r->plain_rows = NAME(has_plain_rows)(probs);
    r->aligned = NAME(is_aligned)(probs);
    r->heaviest = 0;
    const REAL *w = weights->per_instance ? NULL : (const REAL *)weights->data;
    for (int64_t m = 1; w && m < probs->members; m++)
        if (w[m] > w[r->heaviest]) r->heaviest = m;
    return 1;
}

static void NAME(free_reader)(NAME(reader) *r)
{
    free((void *)r->p);
}

/* The weights of a tile's elements, of which `width` belong to an instance, member after member; those
 * beyond its end as for the first. */
static void NAME(gather_weights)(NAME(reader) *r, int64_t n0, int64_t e0, int64_t len, int64_t width)
{
    const lw_weights *w = r->weights;
    for (int64_t m = 0; m < r->probs->members; m++)
        for (int64_t i = 0; i < TILE; i++) {
            const int64_t n = n0 + (e0 + (i < len ? i : 0)) / width;
            memcpy(&r->tile_weights[m * TILE + i], w->data + m * w->stride_m + n * w->stride_n, sizeof(REAL));
        }
}

/* For each element of a tile the prediction of the member with the largest weight. */
static void NAME(of_heaviest)(const REAL *weights, const REAL *const *p, int64_t members,
                              REAL *restrict reference)
{
    REAL heaviest[TILE];
    for (int i = 0; i < TILE; i++) {
        heaviest[i] = weights[i];
        reference[i] = p[0][i];
    }
    for (int64_t m = 1; m < members; m++)
        for (int i = 0; i < TILE; i++) {
            const int more = weights[m * TILE + i] > heaviest[i];
            heaviest[i] = more ? weights[m * TILE + i] : heaviest[i];
            reference[i] = more ? p[m][i] : reference[i];
        }
}

/* The tile that the losses see, from the predictions that have been loaded: elements e0 ... e0 + len of the
 * instances from n0 on. `pair`: complements have been loaded as well. */
static NAME(tile) NAME(loaded_tile)(NAME(reader) *r, int64_t n0, int64_t e0, int64_t len, int64_t width,
                                    int pair)
{
    NAME(tile) in;
    memset(&in, 0, sizeof in);
    in.members = r->probs->members;
    in.p = r->p;
    in.c = pair ? r->c : NULL;
    if (r->weights->per_instance) {
        NAME(gather_weights)(r, n0, e0, len, width);
        NAME(of_heaviest)(r->tile_weights, r->p, in.members, r->reference);
        if (pair) NAME(of_heaviest)(r->tile_weights, r->c, in.members, r->reference_c);
        in.element_weights = r->tile_weights;
        in.reference = r->reference;
        in.reference_c = r->reference_c;
    } else {
        in.weights = (const REAL *)r->weights->data;
        in.reference = r->p[r->heaviest];
        in.reference_c = pair ? r->c[r->heaviest] : NULL;
    }
    return in;
}

/* Load a tile of the rows from n0 on: the elements from e0 on, of all members. */
static void NAME(load_rows)(NAME(reader) *r, int64_t n0, int64_t e0, int64_t len)
{
    const lw_predictions *x = r->probs;
    /* a tile may read on into later rows */
    const int direct = r->plain_rows && e0 + TILE <= (x->instances - n0) * x->classes;
    const char *base = x->data + n0 * x->stride_n;
    for (int64_t m = 0; m < x->members; m++, base += x->stride_m) {
        REAL *copy = r->copies + m * TILE;
        r->p[m] = direct ? (const REAL *)base + e0 : copy;
        if (direct) continue;
        NAME(gather_rows)(x, base, e0, len, copy);
        for (int64_t i = len; i < TILE; i++) copy[i] = (REAL)0.5;
    }
}

/* Class k of member m for TILE instances from n0 on: where it lies, or a copy. */
static const REAL *NAME(plane)(const NAME(reader) *r, int64_t m, int64_t k, int64_t n0, int64_t len,
                               REAL *copy)
{
    const lw_predictions *x = r->probs;
    const char *base = x->data + m * x->stride_m + n0 * x->stride_n + k * x->stride_k;
    if (r->aligned && x->stride_n == (int64_t)sizeof(REAL) && len == TILE) return (const REAL *)base;
    NAME(gather)(base, x->stride_n, len, x->type, copy);
    for (int64_t i = len; i < TILE; i++) copy[i] = (REAL)0.5;
    return copy;
}

/* A split: how many results there are, and the memory that one thread works in. */
typedef struct {
    const lw_split_job *job;
    NAME(reader) reader;
    int64_t labels;
    int results;  /* 6 with the joint measures, which only log loss has */
    int added_up; /* the sum of TU is that of AU and EU: cheaper under squared loss */
    int wants_sums;
    REAL *costs[4], *partial[6], *sums[6];
    const REAL **planes; /* events: all classes of all members, and copies of them */
    REAL *plane_copies;
    void *memory;
} NAME(work);

/* Memory for `count` instances: no more than a small job needs. */
static int NAME(prepare)(NAME(work) *w, const lw_split_job *job, int64_t count)
{
    const int64_t m = job->probs.members, k = job->probs.classes;
    const int events = job->events.offsets != NULL, by_planes = job->class_major || events;
    const int64_t block = by_planes ? TILE : lw_rows_at_once(k);
    const int64_t rows = by_planes || count > block ? block : count;
    int64_t room = TILE; /* of each result */
    if (!by_planes) room += k >= BLOCK || rows * k >= BLOCK ? BLOCK : rows * k;
    int64_t costs = 0; /* they are repeated for the rows of a block */
    if (job->loss == LW_COST) costs = by_planes ? TILE : TILE + rows * k;
    const int64_t planes = events ? m * k : 0;

    const size_t pointers = (size_t)planes * sizeof(REAL *);
    const size_t numbers = (size_t)(6 * (room + rows) + 4 * costs + planes * TILE) * sizeof(REAL);
    if (!NAME(prepare_reader)(&w->reader, &job->probs, &job->weights)) return 0;
    char *memory = malloc(pointers + numbers);
    if (!memory) {
        NAME(free_reader)(&w->reader);
        return 0;
    }
    w->job = job;
    w->memory = memory;
    w->labels = lw_label_count(&job->events, k);
    w->results = job->loss == LW_LOG ? 6 : 3;
    w->added_up = job->loss == LW_SQUARED;
    w->wants_sums = 0;
    for (int j = 0; j < 3; j++) w->wants_sums |= job->sums[j] || job->joint[j];

    w->planes = (const REAL **)memory;
    REAL *next = (REAL *)(memory + pointers);
#define TAKE(count) (next += (count), next - (count))
    for (int j = 0; j < 6; j++) {
        w->partial[j] = TAKE(room);
        w->sums[j] = TAKE(rows);
    }
    for (int j = 0; j < 4; j++) w->costs[j] = TAKE(costs);
    w->plane_copies = next;
#undef TAKE
    for (int j = 0; j < 4 && costs && !by_planes; j++)
        for (int64_t i = 0; i < costs; i += k) {
            const int64_t length = costs - i < k ? costs - i : k;
            memcpy(w->costs[j] + i, (const REAL *)job->costs + j * k, (size_t)length * sizeof(REAL));
        }
    return 1;
}

/* Where a tile lies: elements e0 ... e0 + len of the instances from n0 on, `width` of each instance; its
 * results go to `place` in the outputs and, where they are not wanted or do not fill a whole tile, to
 * `own`. */
typedef struct { int64_t n0, e0, len, width, place, own; } NAME(spot);

/* One tile, from the predictions that have been loaded; `target` says where its results are. */
static void NAME(compute_tile)(NAME(work) *w, NAME(spot) at, int pair, REAL **target)
{
    void *const *labelwise = w->job->labelwise;
    for (int j = 0; j < 6; j++) {
        target[j] = w->partial[j] + at.own;
        if (j < 3 && at.len == TILE && labelwise[j]) target[j] = (REAL *)labelwise[j] + at.place;
    }
    NAME(tile) in = NAME(loaded_tile)(&w->reader, at.n0, at.e0, at.len, at.width, pair);
    in.unit = (REAL)w->job->unit;
    for (int j = 0; j < 4; j++) in.cost[j] = w->costs[j] + (at.width > 1 ? at.e0 : 0);
    const NAME(parts) out = {target[0], target[1], target[2], target[3], target[4], target[5]};
    NAME(split_tile)(w->job->loss, &in, &out);
    for (int j = 0; j < 3; j++)
        if (labelwise[j] && at.len < TILE)
            memcpy((REAL *)labelwise[j] + at.place, target[j], (size_t)at.len * sizeof(REAL));
}

/* The results j of a block or row that begins at `place`, where they are. */
static const REAL *NAME(results_of)(const NAME(work) *w, int j, int64_t place)
{
    return j < 3 && w->job->labelwise[j] ? (const REAL *)w->job->labelwise[j] + place : w->partial[j];
}

static void NAME(store_sums)(const NAME(work) *w, int64_t n0, int64_t rows)
{
    if (w->added_up)
        for (int64_t i = 0; i < rows; i++) w->sums[0][i] = w->sums[1][i] + w->sums[2][i];
    for (int j = 0; j < w->results; j++) {
        REAL *to = j < 3 ? w->job->sums[j] : w->job->joint[j - 3];
        if (to) memcpy(to + n0, w->sums[j], (size_t)rows * sizeof(REAL));
    }
}

static void NAME(split_rows)(NAME(work) *w, int64_t start, int64_t stop)
{
    const int64_t classes = w->job->probs.classes, block = lw_rows_at_once(classes);
    REAL *target[6];
    for (int64_t n0 = start; n0 < stop; n0 += block) {
        const int64_t rows = stop - n0 < block ? stop - n0 : block, length = rows * classes;
        for (int64_t e0 = 0; e0 < length; e0 += TILE) {
            const int64_t len = length - e0 < TILE ? length - e0 : TILE;
            const NAME(spot) at = {n0, e0, len, classes, n0 * classes + e0, e0};
            NAME(load_rows)(&w->reader, n0, e0, len);
            NAME(compute_tile)(w, at, 0, target);
        }
        for (int j = w->added_up; w->wants_sums && j < w->results; j++)
            NAME(row_sums)(NAME(results_of)(w, j, n0 * classes), rows, classes, w->sums[j]);
        NAME(store_sums)(w, n0, rows);
    }
}

/* Rows of more than BLOCK classes: a part is added up while it is in the cache. */
static void NAME(split_wide)(NAME(work) *w, int64_t start, int64_t stop)
{
    const int64_t classes = w->job->probs.classes;
    REAL *target[6];
    for (int64_t n0 = start; n0 < stop; n0++) {
        double totals[6] = {0};
        for (int64_t from = 0; from < classes; from += BLOCK) {
            const int64_t n = classes - from < BLOCK ? classes - from : BLOCK;
            for (int64_t e = 0; e < n; e += TILE) {
                const int64_t len = n - e < TILE ? n - e : TILE;
                const NAME(spot) at = {n0, from + e, len, classes, n0 * classes + from + e, e};
                NAME(load_rows)(&w->reader, n0, from + e, len);
                NAME(compute_tile)(w, at, 0, target);
            }
            for (int j = w->added_up; w->wants_sums && j < w->results; j++)
                totals[j] = NAME(add_up)(NAME(results_of)(w, j, n0 * classes + from), n, totals[j]);
        }
        for (int j = 0; j < w->results; j++) w->sums[j][0] = (REAL)totals[j];
        NAME(store_sums)(w, n0, 1);
    }
}

/* The sum of the planes whose positions are given. */
static void NAME(add_planes)(const REAL *const *planes, int64_t members, const int64_t *positions,
                             int64_t count, REAL *restrict to)
{
    EACH(i) to[i] = 0;
    for (int64_t j = 0; j < count; j++) {
        const REAL *restrict x = planes[positions[j] * members];
        EACH(i) to[i] += x[i];
    }
}

/* Load the probability of an event and of its complement for every member: sums of classes, or their
 * shares. */
static void NAME(load_event)(NAME(work) *w, int64_t event)
{
    const lw_events *events = &w->job->events;
    const int64_t *at = events->offsets + 2 * event, members = w->job->probs.members;
    for (int64_t m = 0; m < members; m++) {
        REAL *restrict t = w->reader.copies + m * TILE, *restrict c = w->reader.copies_c + m * TILE;
        NAME(add_planes)(w->planes + m, members, events->positions + at[0], at[1] - at[0], t);
        NAME(add_planes)(w->planes + m, members, events->positions + at[1], at[2] - at[1], c);
        if (events->conditional)
            EACH(i) {
                REAL whole = t[i] + c[i], scale = whole > 0 ? whole : 1;
                t[i] = whole > 0 ? t[i] / scale : (REAL)0.5;
                c[i] = whole > 0 ? c[i] / scale : (REAL)0.5;
            }
        w->reader.p[m] = t;
        w->reader.c[m] = c;
    }
}

static void NAME(split_planes)(NAME(work) *w, int64_t start, int64_t stop)
{
    const lw_split_job *job = w->job;
    const int64_t members = job->probs.members, classes = job->probs.classes;
    const int events = job->events.offsets != NULL;
    REAL *target[6];
    for (int64_t n0 = start; n0 < stop; n0 += TILE) {
        const int64_t len = stop - n0 < TILE ? stop - n0 : TILE;
        for (int j = 0; j < 6; j++) memset(w->sums[j], 0, TILE * sizeof(REAL));
        for (int64_t i = 0; events && i < classes * members; i++) {
            const int64_t k = i / members, m = i % members;
            w->planes[i] = NAME(plane)(&w->reader, m, k, n0, len, w->plane_copies + i * TILE);
        }
        for (int64_t label = 0; label < w->labels; label++) {
            if (events) NAME(load_event)(w, label);
            for (int64_t m = 0; !events && m < members; m++)
                w->reader.p[m] = NAME(plane)(&w->reader, m, label, n0, len, w->reader.copies + m * TILE);
            for (int j = 0; j < 4 && job->loss == LW_COST; j++) {
                const REAL cost = ((const REAL *)job->costs)[j * w->labels + label];
                for (int i = 0; i < TILE; i++) w->costs[j][i] = cost;
            }
            const NAME(spot) at = {n0, 0, len, 1, label * job->probs.instances + n0, 0};
            NAME(compute_tile)(w, at, events, target);
            for (int j = w->added_up; w->wants_sums && j < w->results; j++)
                NAME(add_to)(w->sums[j], target[j], len);
        }
        NAME(store_sums)(w, n0, len);
    }
}

/* An instance range of a job. */
static lw_status NAME(split)(const void *given, int64_t start, int64_t stop)
{
    const lw_split_job *job = given;
    NAME(work) work;
    if (!NAME(prepare)(&work, job, stop - start)) return LW_NO_MEMORY;
    if (job->class_major || job->events.offsets) NAME(split_planes)(&work, start, stop);
    else if (job->probs.classes > BLOCK) NAME(split_wide)(&work, start, stop);
    else NAME(split_rows)(&work, start, stop);
    free(work.memory);
    NAME(free_reader)(&work.reader);
    return LW_OK;
}
