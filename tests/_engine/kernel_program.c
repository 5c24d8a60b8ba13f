/* The kernel as a C program uses it: test_kernel.py compares what this prints with the Python library. */
#include <stdio.h>

#include "kernel.h"

static void print_parts(double parts[3][3])
{
    for (int j = 0; j < 3; j++)
        for (int k = 0; k < 3; k++) printf("%.17g ", parts[j][k]);
    printf("\n");
}

int main(void)
{
    double probs[2][3] = {{0.7, 0.2, 0.1}, {0.5, 0.25, 0.25}}, parts[3][3];
    const lw_run run = {lw_find_level("baseline"), 1, 2}; /* two threads, two pieces */
    const lw_predictions of = {(const char *)probs, LW_DOUBLE, 2, 1, 3, sizeof probs[0], sizeof probs[0], 8};
    lw_split_job split = {.loss = LW_LOG, .unit = 1, .probs = of};
    for (int j = 0; j < 3; j++) split.labelwise[j] = parts[j];
    if (lw_split(&run, &split)) return 1;
    print_parts(parts);

    const double alpha[3] = {2, 3, 4};
    lw_dirichlet_job dirichlet = {.loss = LW_LOG, .unit = 1.4426950408889634, .type = LW_DOUBLE};
    dirichlet.alpha = alpha;
    dirichlet.members = dirichlet.instances = 1;
    dirichlet.classes = 3;
    for (int j = 0; j < 3; j++) dirichlet.labelwise[j] = parts[j];
    if (lw_dirichlet(&run, &dirichlet)) return 1;
    print_parts(parts);

    const lw_check_job check = {.probs = of, .sum_to_one = 1, .tolerance = 1e-6};
    if (lw_check(&run, &check)) return 1;
    probs[1][0] = 0.6;
    printf("%s\n", lw_check(&run, &check) == LW_INVALID ? "invalid" : "valid");
    return 0;
}
