/* The kernel for one level of instructions, LEVEL; included by kernel.c once for each. */

#define REAL float
#define NAME(x) PASTE(f32, LEVEL, x)
#define UINT uint32_t
#define WIDTH 4
#define TINY 1.17549435e-38f
#define CUT_SQUARE 1.1e-19f
#define SCALE_UP 1.8446744073709552e19f
#define CUT_POWERS 1e-9f
#define SQRT sqrtf
#define HALF_EPS 5.9604645e-8f
#define MANTISSA 23
#define EXPONENT_BIAS 127
#define MANTISSA_MASK 0x007fffffu
#define ONE_BITS 0x3f800000u
#define ROOT_HALF_BITS 0x3f3504f3u
#define MAGIC 8388608.0f
#define MAGIC_BITS 0x4b000000u
#define LOG2_BY_DIVISION 0
#define LOG2_POLYNOMIAL LW_LOG2_F32
#define COMPLEMENT_POLYNOMIAL LW_COMPLEMENT_F32
#define ARTANH_POLYNOMIAL LW_ARTANH_F32
#include "type.h"

#define REAL double
#define NAME(x) PASTE(f64, LEVEL, x)
#define UINT uint64_t
#define WIDTH 2
#define TINY 2.2250738585072014e-308
#define CUT_SQUARE 1.5e-154
#define SCALE_UP 1.3407807929942597e154
#define CUT_POWERS 1e-17
#define SQRT sqrt
#define HALF_EPS 1.1102230246251565e-16
#define MANTISSA 52
#define EXPONENT_BIAS 1023
#define MANTISSA_MASK 0x000fffffffffffffull
#define ONE_BITS 0x3ff0000000000000ull
#define ROOT_HALF_BITS 0x3fe6a09e667f3bcdull
#define MAGIC 4503599627370496.0
#define MAGIC_BITS 0x4330000000000000ull
#define LOG2_BY_DIVISION 1
#define LOG2_POLYNOMIAL LW_LOG2_F64
#define COMPLEMENT_POLYNOMIAL LW_COMPLEMENT_F64
#define ARTANH_POLYNOMIAL LW_ARTANH_F64
#include "type.h"

#define NAME(x) PASTE(beta, LEVEL, x)
#include "dirichlet.h"
#undef NAME
