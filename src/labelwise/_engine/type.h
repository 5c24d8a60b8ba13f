/* Ensembles for one level of instructions and one type of numbers; included by level.h once for each type. */

#include "arithmetic.h"
#include "losses.h"
#include "sums_and_checks.h"
#include "layouts.h"
#include "slopes.h"

#undef REAL
#undef NAME
#undef UINT
#undef WIDTH
#undef TINY
#undef CUT_SQUARE
#undef SCALE_UP
#undef CUT_POWERS
#undef SQRT
#undef HALF_EPS
#undef MANTISSA
#undef EXPONENT_BIAS
#undef MANTISSA_MASK
#undef ONE_BITS
#undef ROOT_HALF_BITS
#undef MAGIC
#undef MAGIC_BITS
#undef LOG2_BY_DIVISION
#undef LOG2_POLYNOMIAL
#undef COMPLEMENT_POLYNOMIAL
#undef ARTANH_POLYNOMIAL
