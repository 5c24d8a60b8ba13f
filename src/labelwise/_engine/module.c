/* The Python module _kernel: keywords and buffers become the jobs of kernel.h.
 *
 * Limited API, no NumPy headers. The work is done without the interpreter lock. Sizes are checked here,
 * because a wrong one would read beyond an array; what values mean is checked in Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <string.h>

#include "kernel.h"

/* All that functions of this module can be told, by keyword. What is not given is 0 or NULL, as is None. */
typedef struct {
    const char *level;
    const char *loss;
    const char *dtype; /* of probs or alpha: a character of NumPy's; "H" are the bits of bfloat16 */
    PyObject *probs, *alpha, *weights;
    double unit;
    PyObject *costs, *offsets, *positions;
    int conditional, class_major, mixture, sum_to_one;
    double tolerance;
    PyObject *given, *labelwise, *sums, *joint, *result; /* tuples of arrays; result is one */
    int64_t pieces, workers;
} Arguments;

typedef struct {
    const char *name;
    enum { TEXT, WHOLE, NUMBER, TRUTH, OBJECT } kind;
    size_t offset;
} Keyword;

#define KEYWORD(name, kind) {#name, kind, offsetof(Arguments, name)}
static const Keyword keywords[] = {
    KEYWORD(level, TEXT), KEYWORD(loss, TEXT), KEYWORD(dtype, TEXT), KEYWORD(probs, OBJECT),
    KEYWORD(alpha, OBJECT), KEYWORD(weights, OBJECT), KEYWORD(unit, NUMBER), KEYWORD(costs, OBJECT),
    KEYWORD(offsets, OBJECT), KEYWORD(positions, OBJECT), KEYWORD(conditional, TRUTH),
    KEYWORD(class_major, TRUTH), KEYWORD(mixture, TRUTH), KEYWORD(sum_to_one, TRUTH),
    KEYWORD(tolerance, NUMBER), KEYWORD(given, OBJECT), KEYWORD(labelwise, OBJECT), KEYWORD(sums, OBJECT),
    KEYWORD(joint, OBJECT), KEYWORD(result, OBJECT), KEYWORD(pieces, WHOLE), KEYWORD(workers, WHOLE),
};
enum { KEYWORDS = sizeof keywords / sizeof *keywords };

static void convert(const Keyword *keyword, PyObject *value, Arguments *to)
{
    char *place = (char *)to + keyword->offset;
    if (value == Py_None) return;
    switch (keyword->kind) {
    case TEXT: *(const char **)place = PyUnicode_AsUTF8AndSize(value, NULL); break;
    case WHOLE: *(int64_t *)place = PyLong_AsLongLong(value); break;
    case NUMBER: *(double *)place = PyFloat_AsDouble(value); break;
    case TRUTH: *(int *)place = PyObject_IsTrue(value); break;
    case OBJECT: *(PyObject **)place = value; break;
    }
}

/* The arguments of a call; 0 with an exception set. Callers keep to the order of the table, so that each
 * keyword is found near the one before it. */
static int parse_arguments(PyObject *const *values, Py_ssize_t positional, PyObject *names, Arguments *to)
{
    memset(to, 0, sizeof *to);
    if (positional) {
        PyErr_SetString(PyExc_TypeError, "the kernel takes keywords only");
        return 0;
    }
    const Py_ssize_t count = names ? PyTuple_Size(names) : 0;
    int at = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        int left = KEYWORDS;
        while (left && PyUnicode_CompareWithASCIIString(name, keywords[at].name)) {
            at = (at + 1) % KEYWORDS;
            left--;
        }
        if (!left) {
            PyErr_Format(PyExc_TypeError, "the kernel has no keyword %R", name);
            return 0;
        }
        convert(&keywords[at], values[i], to);
        if (PyErr_Occurred()) return 0;
    }
    return 1;
}

/* The buffers of a call; all are released together. */
typedef struct {
    Py_buffer view[24];
    int count;
} Buffers;

static void release_buffers(Buffers *buffers)
{
    while (buffers->count > 0) PyBuffer_Release(&buffers->view[--buffers->count]);
}

static int refuse(const char *sentence)
{
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, sentence);
    return 0;
}

static Py_buffer *acquire_buffer(Buffers *buffers, PyObject *object, int flags)
{
    Py_buffer *view = &buffers->view[buffers->count];
    if (!object) {
        refuse("an array of the kernel is missing");
        return NULL;
    }
    if (PyObject_GetBuffer(object, view, flags) < 0) return NULL;
    buffers->count++;
    return view;
}

/* A contiguous and aligned array of `count` numbers of `size` bytes, or any number of them if that is
 * negative. */
static void *acquire_array(Buffers *buffers, PyObject *object, int64_t count, int64_t size, int writable)
{
    const int flags = PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
    Py_buffer *view = acquire_buffer(buffers, object, flags);
    if (!view) return NULL;
    const int aligned = (uintptr_t)view->buf % (uintptr_t)size == 0;
    if (aligned && (count < 0 || view->len == count * size)) return view->buf;
    refuse("an array of the kernel has the wrong size");
    return NULL;
}

/* The arrays of a tuple, `count` of them, of `length` numbers each; 0 with an exception set. A tuple that
 * is not given leaves all NULL. */
static int acquire_arrays(Buffers *buffers, PyObject *tuple, int count, int64_t length, int64_t size,
                          int writable, void **to)
{
    if (!tuple) return 1;
    if (PyTuple_Size(tuple) != count) return refuse("arrays of the kernel are missing");
    for (int j = 0; j < count; j++) {
        to[j] = acquire_array(buffers, PyTuple_GetItem(tuple, j), length, size, writable);
        if (!to[j]) return 0;
    }
    return 1;
}

static int parse_run(const Arguments *a, lw_run *run)
{
    run->level = a->level ? lw_find_level(a->level) : -1;
    run->workers = (int)a->workers;
    run->pieces = a->pieces;
    if (run->level >= 0 && run->pieces >= 1) return 1;
    if (run->level >= 0) return refuse("a job of the kernel has at least one piece");
    PyErr_Format(PyExc_ValueError, "the kernel has no level '%s' here", a->level ? a->level : "");
    return 0;
}

static int parse_loss(const Arguments *a, lw_loss *loss)
{
    static const char *const names[] = {"log", "squared", "spherical", "cost"};
    for (int i = 0; a->loss && i < 4; i++)
        if (!strcmp(a->loss, names[i])) {
            *loss = (lw_loss)i;
            return 1;
        }
    return refuse("the kernel does not have this loss");
}

static int parse_type(const Arguments *a, lw_type *type)
{
    static const char characters[] = "fdeH"; /* in the order of lw_type */
    const char *found = a->dtype && *a->dtype ? strchr(characters, *a->dtype) : NULL;
    if (!found) return refuse("the kernel does not have this dtype");
    *type = (lw_type)(found - characters);
    return 1;
}

/* Bytes of a number that is computed in. */
static int64_t size_of(lw_type type)
{
    return type == LW_DOUBLE ? 8 : 4;
}

/* Predictions: a buffer (members, instances, classes) of any strides. */
static int parse_probs(const Arguments *a, Buffers *buffers, lw_predictions *to)
{
    if (!parse_type(a, &to->type)) return 0;
    Py_buffer *view = acquire_buffer(buffers, a->probs, PyBUF_STRIDES);
    if (!view) return 0;
    const Py_ssize_t size = to->type == LW_HALF || to->type == LW_BFLOAT16 ? 2 : size_of(to->type);
    if (view->ndim != 3 || view->itemsize != size)
        return refuse("the kernel takes a 3-D array of the stated type");
    to->data = view->buf;
    to->members = view->shape[0];
    to->instances = view->shape[1];
    to->classes = view->shape[2];
    to->stride_m = view->strides[0];
    to->stride_n = view->strides[1];
    to->stride_k = view->strides[2];
    if (a->class_major && to->stride_n != size) return refuse("class_major needs instances side by side");
    return 1;
}

/* Weights, (members,) or (members, instances). */
static int parse_weights(const Arguments *a, Buffers *buffers, const lw_predictions *probs, lw_weights *to)
{
    if (!a->weights) return 1;
    Py_buffer *view = acquire_buffer(buffers, a->weights, PyBUF_STRIDES);
    if (!view) return 0;
    const int64_t size = size_of(probs->type);
    const int dims = view->ndim;
    int fit = view->itemsize == size && (dims == 1 || dims == 2) && view->shape[0] == probs->members;
    if (fit && dims == 2) fit = view->shape[1] == probs->instances;
    if (fit && dims == 1) fit = view->strides[0] == size && (uintptr_t)view->buf % (uintptr_t)size == 0;
    if (!fit) return refuse("weights must fit, and those of members be contiguous and aligned");
    to->data = view->buf;
    to->per_instance = dims == 2;
    to->stride_m = view->strides[0];
    to->stride_n = dims == 2 ? view->strides[1] : 0;
    return 1;
}

/* Events, and whether their positions stay inside the classes. */
static int parse_events(const Arguments *a, Buffers *buffers, int64_t classes, lw_events *to)
{
    if (!a->offsets) return 1;
    to->offsets = acquire_array(buffers, a->offsets, -1, 8, 0);
    if (!to->offsets) return 0;
    const int64_t count = buffers->view[buffers->count - 1].len / 8;
    to->positions = acquire_array(buffers, a->positions, -1, 8, 0);
    if (!to->positions) return 0;
    const int64_t n = buffers->view[buffers->count - 1].len / 8;
    int fit = count >= 3 && count % 2 == 1 && to->offsets[0] == 0 && to->offsets[count - 1] == n;
    for (int64_t i = 0; fit && i + 1 < count; i++) fit = to->offsets[i] <= to->offsets[i + 1];
    for (int64_t i = 0; fit && i < n; i++) fit = to->positions[i] >= 0 && to->positions[i] < classes;
    to->count = count / 2;
    to->conditional = a->conditional;
    return fit ? 1 : refuse("events do not fit");
}

/* Four costs for each label, where the loss is one of costs; a function that is not told of any has none. */
static int parse_costs(const Arguments *a, Buffers *buffers, lw_loss loss, int64_t labels, int64_t size,
                       const void **to)
{
    if (loss != LW_COST) return 1;
    *to = acquire_array(buffers, a->costs, 4 * labels, size, 0);
    return *to != NULL;
}

/* What a call gives back. */
static PyObject *finish(Buffers *buffers, lw_status status)
{
    release_buffers(buffers);
    if (status == LW_NO_MEMORY) return PyErr_NoMemory();
    if (status == LW_REFUSED) {
        refuse("the kernel does not have this loss or type, or there is no member or class");
        return NULL;
    }
    return PyBool_FromLong(status == LW_OK);
}

static PyObject *fail(Buffers *buffers)
{
    release_buffers(buffers);
    return NULL;
}

/* Every function of the module begins with its arguments, and ends by running its job. */
#define BEGIN(kind) \
    (void)self; \
    Arguments a; \
    Buffers buffers; \
    lw_run run; \
    kind job; \
    buffers.count = 0; \
    memset(&job, 0, sizeof job); \
    if (!parse_arguments(values, positional, names, &a) || !parse_run(&a, &run)) return NULL
#define REQUIRE(parsed) \
    if (!(parsed)) return fail(&buffers)
#define RUN(function) \
    lw_status status; \
    Py_BEGIN_ALLOW_THREADS \
    status = function(&run, &job); \
    Py_END_ALLOW_THREADS \
    return finish(&buffers, status)
#define PARAMETERS PyObject *self, PyObject *const *values, Py_ssize_t positional, PyObject *names

static PyObject *split(PARAMETERS)
{
    BEGIN(lw_split_job);
    REQUIRE(parse_loss(&a, &job.loss));
    REQUIRE(parse_probs(&a, &buffers, &job.probs));
    REQUIRE(parse_weights(&a, &buffers, &job.probs, &job.weights));
    REQUIRE(parse_events(&a, &buffers, job.probs.classes, &job.events));
    const int64_t n = job.probs.instances, size = size_of(job.probs.type);
    const int64_t labels = job.events.offsets ? job.events.count : job.probs.classes;
    REQUIRE(parse_costs(&a, &buffers, job.loss, labels, size, &job.costs));
    REQUIRE(acquire_arrays(&buffers, a.labelwise, 3, n * labels, size, 1, job.labelwise));
    REQUIRE(acquire_arrays(&buffers, a.sums, 3, n, size, 1, job.sums));
    REQUIRE(acquire_arrays(&buffers, a.joint, 3, n, size, 1, job.joint));
    job.unit = a.unit;
    job.class_major = a.class_major;
    RUN(lw_split);
}

static PyObject *slopes(PARAMETERS)
{
    BEGIN(lw_slopes_job);
    REQUIRE(parse_loss(&a, &job.loss));
    REQUIRE(parse_probs(&a, &buffers, &job.probs));
    REQUIRE(parse_weights(&a, &buffers, &job.probs, &job.weights));
    const int64_t numbers = job.probs.instances * job.probs.classes, size = size_of(job.probs.type);
    const int first = a.given && PyTuple_Size(a.given) == 1 ? 2 : 0; /* of one array: by EU alone */
    void *given[3] = {NULL, NULL, NULL};
    REQUIRE(acquire_arrays(&buffers, a.given, 3 - first, numbers, size, 0, given + first));
    for (int j = 0; j < 3; j++) job.given[j] = given[j];
    REQUIRE(given[2] || refuse("arrays of the kernel are missing"));
    job.result = acquire_array(&buffers, a.result, numbers * job.probs.members, size, 1);
    REQUIRE(job.result);
    job.unit = a.unit;
    RUN(lw_slopes);
}

static PyObject *check(PARAMETERS)
{
    BEGIN(lw_check_job);
    REQUIRE(parse_probs(&a, &buffers, &job.probs));
    job.class_major = a.class_major;
    job.sum_to_one = a.sum_to_one;
    job.tolerance = a.tolerance;
    RUN(lw_check);
}

static PyObject *dirichlet(PARAMETERS)
{
    BEGIN(lw_dirichlet_job);
    REQUIRE(parse_loss(&a, &job.loss));
    REQUIRE(parse_type(&a, &job.type));
    REQUIRE(job.type == LW_FLOAT || job.type == LW_DOUBLE || refuse("the kernel does not have this dtype"));
    const int64_t size = size_of(job.type);
    Py_buffer *alpha = acquire_buffer(&buffers, a.alpha, PyBUF_C_CONTIGUOUS);
    REQUIRE(alpha);
    REQUIRE((alpha->ndim == 3 && alpha->itemsize == size) || refuse("the kernel takes a 3-D array"));
    job.alpha = alpha->buf;
    job.members = alpha->shape[0];
    job.instances = alpha->shape[1];
    job.classes = alpha->shape[2];
    REQUIRE(parse_events(&a, &buffers, job.classes, &job.events));
    const int64_t labels = job.events.offsets ? job.events.count : job.classes;
    const void *costs = NULL;
    REQUIRE(parse_costs(&a, &buffers, job.loss, labels, 8, &costs));
    job.costs = costs;
    if (a.weights) {
        job.weights = acquire_array(&buffers, a.weights, -1, 8, 0);
        REQUIRE(job.weights);
        const Py_buffer *view = &buffers.view[buffers.count - 1];
        job.weights_per_instance = view->ndim > 1;
        const int64_t count = job.members * (job.weights_per_instance ? job.instances : 1);
        REQUIRE(view->len == 8 * count || refuse("an array of the kernel has the wrong size"));
    }
    REQUIRE(acquire_arrays(&buffers, a.labelwise, 3, job.instances * labels, size, 1, job.labelwise));
    REQUIRE(job.labelwise[0] || refuse("arrays of the kernel are missing"));
    job.unit = a.unit;
    job.mixture = a.mixture;
    RUN(lw_dirichlet);
}

static PyObject *threads(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyBool_FromLong(lw_has_threads());
}

static PyObject *levels(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    const int count = lw_level_count();
    PyObject *names = PyTuple_New(count);
    for (int i = 0; names && i < count; i++) {
        PyObject *name = PyUnicode_FromString(lw_level_name(i));
        if (!name || PyTuple_SetItem(names, i, name) < 0) Py_CLEAR(names);
    }
    return names;
}

#define METHOD(name, words) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL | METH_KEYWORDS, words}
static PyMethodDef methods[] = {
    METHOD(split, "Uncertainty of ensembles, written into the outputs."),
    METHOD(slopes, "Derivatives by the predictions, written into the result."),
    METHOD(check, "Whether an array holds probabilities."),
    METHOD(dirichlet, "Uncertainty of Dirichlet distributions, written into the outputs."),
    {"threads", threads, METH_NOARGS, "Whether jobs can be shared by threads here."},
    {"levels", levels, METH_NOARGS, "The levels of instructions that this processor has, from slow to fast."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_kernel", .m_methods = methods};

PyMODINIT_FUNC PyInit__kernel(void)
{
    return PyModuleDef_Init(&module);
}
