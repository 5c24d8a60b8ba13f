/* Label-wise uncertainty of Dirichlet distributions and their mixtures: every label and event has a Beta law.
 *
 * Python passes buffers (limited API, no NumPy headers); the work is done without the interpreter lock. All arithmetic is in double
 * precision, in tiles of a fixed length: the results do not depend on how the instances are divided among calls. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "coefficients.h"

#define TILE 128
#define NODES 48
#define CHEBYSHEV 22

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define FMA __builtin_fma
#else
#define ALWAYS_INLINE inline
#define FMA fma
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define EACH(i) _Pragma("GCC ivdep") for (int i = 0; i < TILE; i++)
#else
#define EACH(i) for (int i = 0; i < TILE; i++)
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(_WIN32) && __GNUC__ >= 11
#define HAS_LEVELS 1
#else
#define HAS_LEVELS 0
#endif

enum loss { LOG, SQUARED, SPHERICAL, COST };
enum { NO_MEMORY = 1 };

typedef struct {
    enum loss loss;
    double unit; /* of the log loss: 1 is a nat */
    const double *nodes, *weights; /* of the Gauss-Legendre rule on [0, 1] */
    const double *chebyshev;       /* even coefficients of 2 / (1 + |t|) */
} Constants;

typedef struct {
    double a[TILE], b[TILE], false_positive[TILE], false_negative[TILE], below[TILE], above[TILE];
    double mean[TILE], rest[TILE], disagreement[TILE], other[TILE];
    double total[TILE], aleatoric[TILE], epistemic[TILE];
    int sure[TILE];
} Tile;

typedef struct {
    Constants constants;
    const void *alpha; /* (members, instances, classes) */
    int single, mixture, own_weights;
    int64_t members, instances, classes, labels;
    const double *weights, *costs; /* costs: (4, labels) */
    const int64_t *offsets, *positions; /* of an event's classes, then of its complement's */
    void *out[3];
} Job;
typedef int Range(const Job *, int64_t, int64_t);

#define PASTE_(level, name) level##_##name
#define PASTE(level, name) PASTE_(level, name)

#define LEVEL_BODY "dirichlet_level.h"
#include "levels.h"

/* The code for a level that `_fused` has found this processor to have. */
static Range *find_level(const char *name)
{
#if HAS_LEVELS
    if (!strcmp(name, "v3")) return v3_run;
    if (!strcmp(name, "v4")) return v4_run;
#endif
    return baseline_run;
}

/* A contiguous buffer of doubles (or 8-byte integers), `length` of them; NULL with an exception set otherwise. */
static const void *numbers(PyObject *object, Py_buffer *view, int64_t length)
{
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS) < 0) return NULL;
    if (view->itemsize == 8 && (length < 0 || view->len == 8 * length) && (uintptr_t)view->buf % 8 == 0) return view->buf;
    PyErr_SetString(PyExc_ValueError, "an array of the kernel has the wrong size");
    return NULL;
}

/* Whether offsets and positions of events stay inside the classes. */
static int events_fit(Job *job, const Py_buffer *at, const Py_buffer *of)
{
    const int64_t count = at->len / 8, *o = at->buf, *k = of->buf;
    int good = count >= 3 && count % 2 == 1 && o[0] == 0 && o[count - 1] == of->len / 8;
    for (int64_t i = 0; good && i + 1 < count; i++) good = o[i] <= o[i + 1];
    for (int64_t i = 0; good && i < of->len / 8; i++) good = k[i] >= 0 && k[i] < job->classes;
    job->labels = count / 2;
    return good;
}

enum { ALPHA, RULE, SERIES, WEIGHTS, COSTS, OFFSETS, POSITIONS, OUT, VIEWS = OUT + 3 };

/* The rest of a job from the buffers of a call; -1 with an exception set. */
static int describe(Job *job, PyObject **given, Py_buffer *views)
{
    if (PyObject_GetBuffer(given[ALPHA], &views[ALPHA], PyBUF_C_CONTIGUOUS) < 0) return -1;
    const Py_ssize_t size = job->single ? 4 : 8;
    if (views[ALPHA].ndim != 3 || views[ALPHA].itemsize != size) goto wrong;
    job->alpha = views[ALPHA].buf;
    job->members = views[ALPHA].shape[0];
    job->instances = views[ALPHA].shape[1];
    job->labels = job->classes = views[ALPHA].shape[2];
    const double *rule = numbers(given[RULE], &views[RULE], 2 * NODES);
    if (!rule || !(job->constants.chebyshev = numbers(given[SERIES], &views[SERIES], CHEBYSHEV))) return -1;
    job->constants.nodes = rule;
    job->constants.weights = rule + NODES;
    if (given[OFFSETS] != Py_None) {
        if (!(job->offsets = numbers(given[OFFSETS], &views[OFFSETS], -1)) || !(job->positions = numbers(given[POSITIONS], &views[POSITIONS], -1))) return -1;
        if (!events_fit(job, &views[OFFSETS], &views[POSITIONS])) goto wrong;
    }
    if (given[WEIGHTS] != Py_None) {
        if (!(job->weights = numbers(given[WEIGHTS], &views[WEIGHTS], job->members * (job->own_weights ? job->instances : 1)))) return -1;
    }
    if (job->constants.loss == COST && !(job->costs = numbers(given[COSTS], &views[COSTS], 4 * job->labels))) return -1;
    for (int p = 0; p < 3; p++) {
        if (PyObject_GetBuffer(given[OUT + p], &views[OUT + p], PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0) return -1;
        if (views[OUT + p].itemsize != size || views[OUT + p].len != size * job->instances * job->labels) goto wrong;
        job->out[p] = views[OUT + p].buf;
    }
    if (job->members >= 1 && job->classes >= 1 && (job->mixture || job->members == 1)) return 0;
wrong:
    PyErr_SetString(PyExc_ValueError, "an array of the kernel has the wrong size");
    return -1;
}

/* split(level, loss, unit, single, mixture, own_weights, from, to,
 *       alpha, rule, series, weights, costs, offsets, positions, total, aleatoric, epistemic) */
static PyObject *split(PyObject *self, PyObject *args)
{
    (void)self;
    const char *level;
    int loss;
    Py_ssize_t from, to;
    PyObject *given[VIEWS], *result = NULL;
    Py_buffer views[VIEWS];
    Job job;
    memset(&job, 0, sizeof job);
    memset(views, 0, sizeof views);
    if (!PyArg_ParseTuple(args, "sidiiinnOOOOOOOOOO", &level, &loss, &job.constants.unit, &job.single, &job.mixture, &job.own_weights, &from, &to, &given[ALPHA], &given[RULE], &given[SERIES], &given[WEIGHTS], &given[COSTS], &given[OFFSETS], &given[POSITIONS], &given[OUT], &given[OUT + 1], &given[OUT + 2]))
        return NULL;
    job.constants.loss = (enum loss)loss;
    if (describe(&job, given, views) == 0) {
        if (from < 0 || from > to || to > job.instances || loss < LOG || loss > COST) {
            PyErr_SetString(PyExc_ValueError, "the kernel has no such loss or instances");
        } else {
            Range *run = find_level(level);
            int status;
            Py_BEGIN_ALLOW_THREADS
            status = run(&job, from, to);
            Py_END_ALLOW_THREADS
            if (status) PyErr_NoMemory();
            else result = Py_NewRef(Py_None);
        }
    }
    for (int i = 0; i < VIEWS; i++)
        if (views[i].obj) PyBuffer_Release(&views[i]);
    return result;
}

static PyMethodDef methods[] = {
    {"split", split, METH_VARARGS, "Uncertainty of some instances, written into the outputs."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_dirichlet", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__dirichlet(void) { return PyModuleDef_Init(&module); }
