/* Label-wise uncertainty in plain C11: what callers of kernel.c see. Nothing here knows of Python.
 *
 * A caller fills in the struct of a job, which only points to its arrays, and hands it to the function of the
 * same name. Callers are trusted: arrays must have the stated sizes (module.c checks those of Python). */
#ifndef LW_KERNEL_H
#define LW_KERNEL_H

#include <stdint.h>

typedef enum { LW_LOG, LW_SQUARED, LW_SPHERICAL, LW_COST } lw_loss;

/* How numbers are stored. Both half types are computed in float; results are float or double. */
typedef enum { LW_FLOAT, LW_DOUBLE, LW_HALF, LW_BFLOAT16 } lw_type;

typedef enum {
    LW_OK,
    LW_INVALID,   /* lw_check only: a value is no probability, or a sum is not 1 */
    LW_NO_MEMORY,
    LW_REFUSED,   /* the kernel does not have this loss for this job, or there is no member or class */
} lw_status;

/* How a job is run. */
typedef struct {
    int level;      /* of instructions: a number from lw_find_level */
    int workers;    /* threads besides the caller */
    int64_t pieces; /* into which the instances are cut; results do not depend on their number */
} lw_run;

/* Predictions of members for instances and classes; strides are in bytes, of any size and sign. */
typedef struct {
    const char *data;
    lw_type type;
    int64_t members, instances, classes;
    int64_t stride_m, stride_n, stride_k;
} lw_predictions;

/* Weights of the members, which sum to 1, in the type of the results. */
typedef struct {
    const char *data; /* NULL: all are equal */
    int per_instance; /* (members, instances) of any strides; else (members,), contiguous and aligned */
    int64_t stride_m, stride_n;
} lw_weights;

/* Events: positions of the classes of the first event, of its complement, of the second event, and so on. */
typedef struct {
    const int64_t *offsets; /* where each of these lists begins, and the end; NULL: classes are asked for */
    const int64_t *positions;
    int64_t count;
    int conditional; /* an event and its complement are not all classes: their shares are taken */
} lw_events;

/* Total, aleatoric and epistemic uncertainty of an ensemble: in that order in every array of three. Each may
 * be NULL if it is not wanted. */
typedef struct {
    lw_loss loss;
    double unit;       /* of log loss: what a bit is */
    const void *costs; /* of costs, (4, labels): false positive, false negative, the edges of the decision */
    lw_predictions probs;
    lw_weights weights;
    lw_events events;
    int class_major;    /* instances lie side by side, classes apart */
    void *labelwise[3]; /* (instances, classes); for events or class_major (labels, instances) */
    void *sums[3];      /* (instances,): over the labels */
    void *joint[3];     /* (instances,): of all classes at once, log loss only */
} lw_split_job;

/* Derivatives by the predictions of rows that lie side by side, under log or squared loss. */
typedef struct {
    lw_loss loss;
    double unit;
    lw_predictions probs;
    lw_weights weights;
    const void *given[3]; /* (instances, classes): derivatives by TU, AU and EU; the first two may be NULL */
    void *result;         /* (members, instances, classes) */
} lw_slopes_job;

/* Whether values lie in [0, 1] and, if that is asked, rows sum to 1. */
typedef struct {
    lw_predictions probs;
    int class_major, sum_to_one;
    double tolerance;
} lw_check_job;

/* Uncertainty of Dirichlet distributions or their mixtures, computed in double. */
typedef struct {
    lw_loss loss;
    double unit;           /* of log loss: what a nat is */
    lw_type type;          /* of alpha and the results: LW_FLOAT or LW_DOUBLE */
    const void *alpha;     /* (members, instances, classes); one member unless it is a mixture */
    int mixture;
    int64_t members, instances, classes;
    const double *weights; /* (members,) or (members, instances), or NULL */
    int weights_per_instance;
    const double *costs;   /* as for a split */
    lw_events events;      /* conditional or not: a Beta law has only the two sums of alpha */
    void *labelwise[3];    /* (instances, labels) */
} lw_dirichlet_job;

lw_status lw_split(const lw_run *run, const lw_split_job *job);
lw_status lw_slopes(const lw_run *run, const lw_slopes_job *job);
lw_status lw_check(const lw_run *run, const lw_check_job *job);
lw_status lw_dirichlet(const lw_run *run, const lw_dirichlet_job *job);

int lw_level_count(void);             /* levels of instructions that this processor has, from slow to fast */
const char *lw_level_name(int level);
int lw_find_level(const char *name);  /* -1 if the processor does not have it */
int lw_has_threads(void);             /* whether jobs can be shared by threads here */

#endif
