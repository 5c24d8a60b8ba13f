/* Label-wise and joint uncertainty of an ensemble in one pass over its predictions.
 *
 * Python passes buffers (limited API, no NumPy headers); the work is done without the interpreter lock, so that threads can share it.
 * Do not compile with -ffast-math: it would change the floating-point mode of the whole process. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__GNUC__) && !defined(_WIN32)
#include <sched.h>
#define HAS_CREW 1
#else
#define HAS_CREW 0
#endif
#include "coefficients.h"

#define TILE 256
#define BLOCK 4096
#define FEW 10    /* members up to which EU, under squared loss, is accurate enough to be added to AU */
#define NARROW 64 /* classes up to which rows are added up several at a time */
#define LOG2_E 1.4426950408889634074

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#define restrict
#endif

/* Whether the kernel is compiled for more levels of instructions than the least, baseline; which of them the processor has is asked at
 * run time. On Zen 4, v4 takes 14 to 27 % less time than v3 for log loss and, within 3 %, no more for squared loss. */
#if !defined(ONE_LEVEL) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(_WIN32) && __GNUC__ >= 11
#define HAS_LEVELS 1
#else
#define HAS_LEVELS 0
#endif

/* Vectors of 16 bytes, which every processor of these has, for sums over short rows: no compiler finds them by itself. */
#if defined(__GNUC__)
#define HAS_VECTORS 1
#if defined(__clang__)
#define SHUFFLE(a, b, bits, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, bits, ...) __builtin_shuffle(a, b, (bits){__VA_ARGS__})
#endif
#define EVEN4(a, b) SHUFFLE(a, b, NAME(Bits), 0, 2, 4, 6)
#define ODD4(a, b) SHUFFLE(a, b, NAME(Bits), 1, 3, 5, 7)
#define EVEN2(a, b) SHUFFLE(a, b, NAME(Bits), 0, 2)
#define ODD2(a, b) SHUFFLE(a, b, NAME(Bits), 1, 3)
#else
#define HAS_VECTORS 0
#endif

/* A loop over a tile; the arrays it touches never overlap. */
#if defined(__GNUC__) && !defined(__clang__)
#define EACH(i) _Pragma("GCC ivdep") for (int i = 0; i < TILE; i++)
#else
#define EACH(i) for (int i = 0; i < TILE; i++)
#endif

enum loss { LOG, SQUARED, SPHERICAL, COST, BETA };
enum { HEAD = 4, TERMS = 12 }; /* beta.h: numbers before the coefficients of a side; terms of the series for near numbers */
enum kind { NATIVE, FLOAT16, BFLOAT16 };
enum { INVALID = 1, NO_MEMORY = 2 };

typedef struct {
    enum loss loss;
    enum kind kind;
    const char *probs, *weights, *costs; /* costs: four numbers for each label */
    int64_t members, instances, classes, stride_m, stride_n, stride_k, weight_stride_m, weight_stride_n, heaviest;
    int64_t labels; /* classes, or events */
    const double *beta; /* the table of a beta loss */
    const int64_t *offsets, *positions; /* of an event's classes, then of its complement's; offsets has 2 labels + 1 entries */
    int aligned, class_major, element_weights, totals, results, added /* the sum of TU is that of AU and EU */, check, sum_to_one, events, given, fresh;
    double unit, tolerance;
    void *out[9]; /* TU, AU, EU label-wise; their sums; joint TU, AU, EU; of join, a state */
    const void *in[8]; /* of join: what the state takes in; of conclude: the state */
} Job;
enum { MEAN, MEAN_REST, COMPLEMENT, COMPLEMENT_REST, ENTROPY, ENTROPY_REST, SPREAD, OTHER, STATE }; /* the arrays of a state */
typedef int Range(const Job *, int64_t, int64_t); /* does a job for instances from ... to; gives its status */
#include "threads.h"

/* Rows of so many classes that make up a block: if possible whole tiles, because a part of one has to be copied. */
static int64_t rows_at_once(int64_t classes)
{
    int64_t rows = classes >= BLOCK ? 1 : BLOCK / classes, whole = TILE;
    while (whole > 1 && (whole / 2 * classes) % TILE == 0) whole /= 2;
    return rows < whole ? rows : rows / whole * whole;
}

/* Each level has the kernel for both types of numbers, under names of its own: f32_v3_split and so on. */
#define PASTE_(type, level, name) type##_##level##_##name
#define PASTE(type, level, name) PASTE_(type, level, name)

#define LEVEL_BODY "fused_level.h"
#include "levels.h"

typedef struct { const char *name; Range *split[2], *check[2], *slopes[2], *join[2], *conclude[2]; /* of float and of double */ } Level;
#define BOTH(level, name) {f32_##level##_##name, f64_##level##_##name}
#define ENTRY(level) {#level, BOTH(level, split), BOTH(level, check), BOTH(level, slopes), BOTH(level, join), BOTH(level, conclude)}
static const Level levels[] = { /* from slow to fast */
    ENTRY(baseline),
#if HAS_LEVELS
    ENTRY(v3),
    ENTRY(v4),
#endif
};

/* How many of the levels this processor has. */
static int level_count(void)
{
    int count = 1;
#if HAS_LEVELS
#define HAS(feature) (__builtin_cpu_supports(feature) != 0)
    __builtin_cpu_init();
    const int v3 = HAS("avx2") && HAS("bmi") && HAS("bmi2") && HAS("f16c") && HAS("fma") && HAS("lzcnt") && HAS("movbe");
    const int v4 = v3 && HAS("avx512f") && HAS("avx512bw") && HAS("avx512cd") && HAS("avx512dq") && HAS("avx512vl");
    count += v3 + v4;
#undef HAS
#endif
    return count;
}

/* The level of this name, if the processor has it. */
static const Level *find_level(const char *name)
{
    for (int i = 0; i < level_count(); i++)
        if (!strcmp(levels[i].name, name)) return &levels[i];
    PyErr_Format(PyExc_ValueError, "the kernel has no level '%s' here", name);
    return NULL;
}

/* The buffers of a call; all are released together. */
typedef struct { Py_buffer view[20]; int count; } Views;

static void release(Views *views) { while (views->count > 0) PyBuffer_Release(&views->view[--views->count]); }

static Py_buffer *take(Views *views, PyObject *object, int flags)
{
    Py_buffer *view = &views->view[views->count];
    if (PyObject_GetBuffer(object, view, flags) < 0) return NULL;
    views->count++;
    return view;
}

/* Fill in the part of a job that describes the predictions: a 3-D buffer (members, instances, classes) of any strides. */
static int describe(Job *job, Views *views, PyObject *probs, int double_precision, int kind)
{
    Py_buffer *view = take(views, probs, PyBUF_STRIDES);
    if (!view) return -1;
    const Py_ssize_t size = kind == NATIVE ? (double_precision ? 8 : 4) : 2;
    if (view->ndim != 3 || view->itemsize != size) {
        PyErr_SetString(PyExc_ValueError, "the kernel takes a 3-D array of the stated type");
        return -1;
    }
    job->kind = (enum kind)kind;
    job->probs = view->buf;
    job->members = view->shape[0];
    job->instances = view->shape[1];
    job->classes = view->shape[2];
    job->stride_m = view->strides[0];
    job->stride_n = view->strides[1];
    job->stride_k = view->strides[2];
    job->aligned = !(((uintptr_t)view->buf | (uintptr_t)job->stride_m | (uintptr_t)job->stride_n | (uintptr_t)job->stride_k) % (uintptr_t)size);
    return 0;
}

/* Run a job in so many pieces, with so many helpers, without the interpreter lock, and give its status. */
static PyObject *done(Range *run, const Job *job, Py_ssize_t pieces, int helpers, Views *views)
{
#if HAS_CREW
    helpers = hire(helpers);
#endif
    Task task = {run, job, pieces, 0, helpers, 0};
    int status = -1;
    if (job->members >= 1 && job->classes >= 1) {
        Py_BEGIN_ALLOW_THREADS
        status = share(&task);
        Py_END_ALLOW_THREADS
    } else {
        PyErr_SetString(PyExc_ValueError, "the kernel needs a member and a class");
    }
    release(views);
    if (status == NO_MEMORY) return PyErr_NoMemory();
    return status < 0 ? NULL : PyLong_FromLong(status);
}

/* Fill in the weights, (members,) or (members, instances). */
static int weigh(Job *job, Views *views, PyObject *weights, Py_ssize_t size)
{
    if (weights == Py_None) return 0;
    Py_buffer *view = take(views, weights, PyBUF_STRIDES);
    if (!view) return -1;
    const int fits = view->itemsize == size && view->ndim <= 2 && view->shape[0] == job->members && (view->ndim < 2 || view->shape[1] == job->instances);
    if (!fits || (view->ndim == 1 && (view->strides[0] != size || (uintptr_t)view->buf % (uintptr_t)size))) {
        PyErr_SetString(PyExc_ValueError, "weights must fit, and those of members be contiguous and aligned");
        return -1;
    }
    job->weights = view->buf;
    job->element_weights = view->ndim == 2;
    job->weight_stride_m = view->strides[0];
    job->weight_stride_n = view->ndim == 2 ? view->strides[1] : 0;
    return 0;
}

/* Fill in events: offsets and positions of their classes, which are checked. */
static int ask(Job *job, Views *views, PyObject *offsets, PyObject *positions)
{
    job->labels = job->classes;
    if (offsets == Py_None) return 0;
    Py_buffer *at = take(views, offsets, PyBUF_C_CONTIGUOUS), *of = at ? take(views, positions, PyBUF_C_CONTIGUOUS) : NULL;
    if (!of) return -1;
    const int64_t count = at->len / 8, *o = at->buf, *k = of->buf;
    int good = at->itemsize == 8 && of->itemsize == 8 && count >= 3 && count % 2 == 1 && o[0] == 0 && o[count - 1] == of->len / 8;
    for (int64_t i = 0; good && i + 1 < count; i++) good = o[i] <= o[i + 1];
    for (int64_t i = 0; good && i < of->len / 8; i++) good = k[i] >= 0 && k[i] < job->classes;
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "events do not fit");
        return -1;
    }
    job->events = 1;
    job->labels = count / 2;
    job->offsets = o;
    job->positions = k;
    return 0;
}

/* split(level, loss, double, kind, probs, weights, heaviest, unit, class_major, tolerance, sum_to_one, outputs, pieces, helpers,
 *       costs, offsets, positions, given) -> status */
static PyObject *split(PyObject *self, PyObject *args)
{
    (void)self;
    const char *name;
    int loss, double_precision, kind, helpers;
    Py_ssize_t pieces, heaviest;
    PyObject *probs, *weights, *outputs, *costs, *offsets, *positions;
    Job job;
    Views views;
    memset(&job, 0, sizeof job);
    views.count = 0;
    if (!PyArg_ParseTuple(args, "siiiOOndidiOniOOOi", &name, &loss, &double_precision, &kind, &probs, &weights, &heaviest, &job.unit, &job.class_major, &job.tolerance, &job.sum_to_one, &outputs, &pieces, &helpers, &costs, &offsets, &positions, &job.given))
        return NULL;
    const Level *level = find_level(name);
    if (!level) return NULL;
    const Py_ssize_t size = double_precision ? 8 : 4;
    const char *wrong = NULL;
    job.loss = (enum loss)loss;
    job.results = loss == LOG ? 6 : 3;
    job.added = loss == SQUARED;
    job.check = job.tolerance >= 0;
    job.heaviest = heaviest;
    if (describe(&job, &views, probs, double_precision, kind) < 0 || weigh(&job, &views, weights, size) < 0 || ask(&job, &views, offsets, positions) < 0) goto failed;
    if (job.class_major && job.stride_n != (kind == NATIVE ? size : 2)) wrong = "class_major needs instances side by side";
    if (heaviest < 0 || heaviest >= job.members || (weights == Py_None && heaviest > 0)) wrong = "no such member";
    if (PyTuple_Size(outputs) != 9) wrong = "nine outputs (or None) are expected";
    if (loss == COST) {
        Py_buffer *view = take(&views, costs, PyBUF_C_CONTIGUOUS);
        if (!view) goto failed;
        if (view->len != 4 * job.labels * size || (uintptr_t)view->buf % (uintptr_t)size) wrong = "four costs are needed for each label";
        job.costs = view->buf;
    }
    if (loss == BETA) {
        Py_buffer *view = take(&views, costs, PyBUF_C_CONTIGUOUS);
        if (!view) goto failed;
        const double *table = job.beta = view->buf;
        const Py_ssize_t n = view->len >= 2 * HEAD * 8 && table[3] >= 1 && table[3] <= 1000 ? (Py_ssize_t)table[3] : 0;
        if (view->len != (2 * HEAD + 4 * n) * 8 || !n || (uintptr_t)view->buf % 8) wrong = "the table of a beta loss does not fit";
    }
    for (int j = 0; j < 9 && !wrong; j++) {
        PyObject *item = PyTuple_GetItem(outputs, j);
        if (!item) goto failed;
        if (item == Py_None) continue;
        Py_buffer *view = take(&views, item, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS);
        if (!view) goto failed;
        if (view->len != size * job.instances * (j < 3 ? job.labels : 1)) wrong = "an output has the wrong size";
        job.out[j] = view->buf;
        if (j >= 3) job.totals = 1;
    }
    if (!wrong) return done(level->split[!!double_precision], &job, pieces, helpers, &views);
    PyErr_SetString(PyExc_ValueError, wrong);
failed:
    release(&views);
    return NULL;
}

/* slopes(level, loss, double, probs, weights, heaviest, unit, costs, given, result, pieces, helpers) -> status
 * Of rows that lie side by side: given are the derivatives by TU, AU and EU, the result is the one by the predictions. */
static PyObject *slopes(PyObject *self, PyObject *args)
{
    (void)self;
    const char *name;
    int loss, double_precision, helpers;
    Py_ssize_t pieces, heaviest;
    PyObject *probs, *weights, *costs, *objects[4];
    Job job;
    Views views;
    memset(&job, 0, sizeof job);
    views.count = 0;
    if (!PyArg_ParseTuple(args, "siiOOndO(OOO)Oni", &name, &loss, &double_precision, &probs, &weights, &heaviest, &job.unit, &costs, &objects[0], &objects[1], &objects[2], &objects[3], &pieces, &helpers))
        return NULL;
    const Level *level = find_level(name);
    if (!level) return NULL;
    const Py_ssize_t size = double_precision ? 8 : 4;
    const char *wrong = NULL;
    job.loss = (enum loss)loss;
    job.heaviest = heaviest;
    if (describe(&job, &views, probs, double_precision, NATIVE) < 0 || weigh(&job, &views, weights, size) < 0) goto failed;
    job.labels = job.classes;
    if (heaviest < 0 || heaviest >= job.members) wrong = "no such member";
    if (loss == COST) {
        Py_buffer *view = take(&views, costs, PyBUF_C_CONTIGUOUS);
        if (!view) goto failed;
        if (view->len != 4 * job.labels * size) wrong = "four costs are needed for each label";
        job.costs = view->buf;
    }
    for (int j = 0; j < 4 && !wrong; j++) {
        Py_buffer *view = take(&views, objects[j], j < 3 ? PyBUF_C_CONTIGUOUS : PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS);
        if (!view) goto failed;
        if (view->len != size * job.instances * job.classes * (j < 3 ? 1 : job.members)) wrong = "an array has the wrong size";
        job.out[j] = view->buf;
    }
    if (!wrong) return done(level->slopes[!!double_precision], &job, pieces, helpers, &views);
    PyErr_SetString(PyExc_ValueError, wrong);
failed:
    release(&views);
    return NULL;
}

/* Take `count` contiguous arrays of `length` bytes out of a tuple; None is NULL. */
static int take_all(Views *views, PyObject *tuple, int count, Py_ssize_t length, int writable, void **to)
{
    if (PyTuple_Size(tuple) != count) { if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "arrays are missing"); return -1; }
    for (int j = 0; j < count; j++) {
        PyObject *item = PyTuple_GetItem(tuple, j);
        if (item == Py_None) continue;
        Py_buffer *view = take(views, item, PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0));
        if (!view) return -1;
        if (view->len != length) { PyErr_SetString(PyExc_ValueError, "an array has the wrong size"); return -1; }
        to[j] = view->buf;
    }
    return 0;
}

/* join(level, loss, double, instances, classes, unit, costs, shares, fresh, state, sums, given, pieces, helpers): the state takes in what
 *     is given, eight arrays each (the last only of costs), or as the first of these a member's probabilities; shares (2, instances) or
 *     (2, 1) are those of the weight. A fresh state has not been written to.
 * With shares = None: state are TU, AU and EU, sums those over the classes; they are computed from the state that is given. */
static PyObject *join(PyObject *self, PyObject *args)
{
    (void)self;
    const char *name;
    int loss, double_precision, helpers;
    Py_ssize_t pieces, instances, classes;
    PyObject *costs, *shares, *state, *sums, *given;
    Job job;
    Views views;
    memset(&job, 0, sizeof job);
    views.count = 0;
    if (!PyArg_ParseTuple(args, "siinndOOiO!O!O!ni", &name, &loss, &double_precision, &instances, &classes, &job.unit, &costs, &shares, &job.fresh, &PyTuple_Type, &state, &PyTuple_Type, &sums, &PyTuple_Type, &given, &pieces, &helpers)) return NULL;
    const Level *level = find_level(name);
    if (!level) return NULL;
    const Py_ssize_t size = double_precision ? 8 : 4, length = instances * classes * size;
    const int finish = shares == Py_None, last = loss == COST ? STATE : OTHER;
    Py_buffer *of_costs = costs == Py_None ? NULL : take(&views, costs, PyBUF_C_CONTIGUOUS);
    Py_buffer *of_shares = finish || PyErr_Occurred() ? NULL : take(&views, shares, PyBUF_C_CONTIGUOUS);
    void *in[STATE] = {0};
    job.loss = (enum loss)loss;
    job.members = 1;
    job.instances = instances;
    job.labels = job.classes = classes;
    if (PyErr_Occurred() || take_all(&views, state, finish ? 3 : STATE, length, 1, job.out) || take_all(&views, sums, finish ? 3 : 0, instances * size, 1, job.out + 3) || take_all(&views, given, STATE, length, 0, in)) goto failed;
    int fits = in[MEAN] && (of_costs ? of_costs->len == 4 * classes * size : loss != COST);
    for (int j = 0; finish && j < 6; j++) fits = fits && job.out[j];
    if (!finish) fits = fits && (of_shares->len == 2 * size || of_shares->len == 2 * instances * size);
    for (int j = 0; j < last; j++) fits = fits && (finish || job.out[j]) && (in[j] || (!finish && !in[MEAN_REST]));
    if (!fits) { PyErr_SetString(PyExc_ValueError, "arrays are missing or have the wrong size"); goto failed; }
    for (int j = 0; j < STATE; j++) job.in[j] = in[j];
    job.costs = of_costs ? of_costs->buf : NULL;
    job.weights = of_shares ? of_shares->buf : NULL;
    job.element_weights = of_shares && of_shares->len > 2 * size;
    return done((finish ? level->conclude : level->join)[!!double_precision], &job, pieces, helpers, &views);
failed:
    release(&views);
    return NULL;
}

/* check(level, double, kind, probs, class_major, sum_to_one, tolerance, pieces, helpers) -> 0, or 1 if a value is outside [0, 1] or a sum is not 1 */
static PyObject *check(PyObject *self, PyObject *args)
{
    (void)self;
    const char *name;
    int double_precision, kind, class_major, sum_to_one, helpers;
    Py_ssize_t pieces;
    double tolerance;
    PyObject *probs;
    if (!PyArg_ParseTuple(args, "siiOiidni", &name, &double_precision, &kind, &probs, &class_major, &sum_to_one, &tolerance, &pieces, &helpers)) return NULL;
    const Level *level = find_level(name);
    if (!level) return NULL;
    Job job;
    memset(&job, 0, sizeof job);
    Views views;
    views.count = 0;
    job.class_major = class_major;
    job.tolerance = tolerance;
    job.sum_to_one = sum_to_one;
    if (describe(&job, &views, probs, double_precision, kind) < 0) { release(&views); return NULL; }
    return done(level->check[!!double_precision], &job, pieces, helpers, &views);
}

/* forget(): after a fork there are no helpers. */
static PyObject *forget(PyObject *self, PyObject *none)
{
    (void)self; (void)none;
#if HAS_CREW
    memset(&crew, 0, sizeof crew);
#endif
    Py_RETURN_NONE;
}

static PyObject *threads(PyObject *self, PyObject *none)
{
    (void)self; (void)none;
    return PyBool_FromLong(HAS_CREW);
}

static PyObject *levels_here(PyObject *self, PyObject *none)
{
    (void)self; (void)none;
    const int count = level_count();
    PyObject *names = PyTuple_New(count);
    for (int i = 0; names && i < count; i++) {
        PyObject *name = PyUnicode_FromString(levels[i].name);
        if (!name || PyTuple_SetItem(names, i, name) < 0) Py_CLEAR(names);
    }
    return names;
}

static PyMethodDef methods[] = {
    {"split", split, METH_VARARGS, "Uncertainty of all instances, written into the outputs."},
    {"slopes", slopes, METH_VARARGS, "Derivatives by the predictions, written into the result."},
    {"join", join, METH_VARARGS, "The state of an Accumulator takes in a member or another state."},
    {"check", check, METH_VARARGS, "Whether an array holds probabilities."},
    {"threads", threads, METH_NOARGS, "Whether jobs can be shared by threads here."},
    {"forget", forget, METH_NOARGS, "Forget the helpers, which a fork has left behind."},
    {"levels", levels_here, METH_NOARGS, "The levels of instructions that this processor has, from slow to fast."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_fused", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__fused(void) { return PyModuleDef_Init(&module); }
