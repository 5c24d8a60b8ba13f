/* Includes LEVEL_BODY once for each level of instructions, with LEVEL defined: baseline and, where the compiler can, x86-64-v3 and -v4. */
#define LEVEL baseline
#include LEVEL_BODY
#undef LEVEL
#if HAS_LEVELS
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#define LEVEL v3
#include LEVEL_BODY
#undef LEVEL
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
#define LEVEL v4
#include LEVEL_BODY
#undef LEVEL
#pragma GCC pop_options
#endif
#undef LEVEL_BODY
