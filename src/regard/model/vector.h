/* Vectors of floats, as wide as the processor has them, and how many of them it can hold at once. */
#include <stdint.h>

#if defined(__AVX512F__)
#define LANES 16   /* floats in a vector */
#define TALLEST 14 /* rows of a tile of a matrix: with two vectors each, they fill the registers */
#elif defined(__AVX__)
#define LANES 8
#define TALLEST 6
#else
#define LANES 4
#define TALLEST 8
#endif
#define LINE 16 /* floats in a line of the caches */

typedef float vector __attribute__((vector_size(4 * LANES)));
typedef int32_t whole __attribute__((vector_size(4 * LANES)));
typedef float anywhere __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

static inline vector load(const float *from) { return *(const anywhere *)from; }
static inline void store(float *to, vector value) { *(anywhere *)to = value; }
static inline vector all(float value) { return (vector){0} + value; }
static inline vector larger(vector one, vector other) {
    whole second = other > one;
    return (vector)(((whole)other & second) | ((whole)one & ~second));
}
static inline int64_t least(int64_t one, int64_t other) { return one < other ? one : other; }

/* eˣ for x ≤ 0, by 2ⁿ eʳ with |r| ≤ ln 2 / 2 and the series of eʳ; 0 where it would be less than the least float. */
static inline vector exponential(vector x) {
    whole told = (x > -87.0f) | (x != x);                                   /* what is not a number stays none */
    vector shifted = x * 1.44269504f + 12582912.0f, n = shifted - 12582912.0f; /* 1.5 · 2²³ leaves no fraction */
    vector r = x - n * 0.693359375f + n * 2.12194440e-4f;                   /* ln 2 in two parts */
    vector e = 1.9841270e-4f * r + 1.3888889e-3f;
    e = e * r + 8.3333333e-3f;
    e = e * r + 4.1666667e-2f;
    e = e * r + 0.16666667f;
    e = e * r + 0.5f;
    e = e * r * r + r + 1.0f;
    whole power = ((whole)shifted - 0x4B400000 + 127) << 23; /* n lies in the last bits of what was shifted */
    return (vector)((whole)(e * (vector)power) & told);
}

/* Some rows, as many as a vector has numbers or fewer, become columns, and missing ones zeros: every second number, then
 * every second pair, … of a row changes places with the one before it of the row that is as far below. */
#if LANES == 16
#define EACH_LANE(OF, s)                                                                                              \
    OF(0, s), OF(1, s), OF(2, s), OF(3, s), OF(4, s), OF(5, s), OF(6, s), OF(7, s), OF(8, s), OF(9, s), OF(10, s),    \
        OF(11, s), OF(12, s), OF(13, s), OF(14, s), OF(15, s)
#elif LANES == 8
#define EACH_LANE(OF, s) OF(0, s), OF(1, s), OF(2, s), OF(3, s), OF(4, s), OF(5, s), OF(6, s), OF(7, s)
#else
#define EACH_LANE(OF, s) OF(0, s), OF(1, s), OF(2, s), OF(3, s)
#endif
#define UPPER(i, s) ((i) & (s) ? LANES + (i) - (s) : (i))
#define LOWER(i, s) ((i) & (s) ? LANES + (i) : (i) + (s))
#if defined(__clang__)
#define PICK(one, other, OF, s) __builtin_shufflevector(one, other, EACH_LANE(OF, s))
#else
#define PICK(one, other, OF, s) __builtin_shuffle(one, other, (whole){EACH_LANE(OF, s)})
#endif
#define EXCHANGE(s)                                                                                                   \
    for (int i = 0; i < LANES; i++)                                                                                   \
        if (!(i & (s))) {                                                                                             \
            vector upper = x[i], lower = x[i + (s)];                                                                  \
            x[i] = PICK(upper, lower, UPPER, s), x[i + (s)] = PICK(upper, lower, LOWER, s);                           \
        }
static inline void turn(int64_t rows, const float *from, int64_t row, float *to, int64_t column) {
    vector x[LANES];
    for (int i = 0; i < LANES; i++) x[i] = i < rows ? load(from + i * row) : all(0.0f);
    EXCHANGE(1) EXCHANGE(2)
#if LANES > 4
    EXCHANGE(4)
#endif
#if LANES > 8
    EXCHANGE(8)
#endif
    for (int i = 0; i < LANES; i++) store(to + i * column, x[i]);
}

/* Something for each row of a tile. Rows with names of their own stay in registers; those of an array may not. */
#define EACH_1(DO) DO(0)
#define EACH_2(DO) EACH_1(DO) DO(1)
#define EACH_3(DO) EACH_2(DO) DO(2)
#define EACH_4(DO) EACH_3(DO) DO(3)
#define EACH_5(DO) EACH_4(DO) DO(4)
#define EACH_6(DO) EACH_5(DO) DO(5)
#define EACH_7(DO) EACH_6(DO) DO(6)
#define EACH_8(DO) EACH_7(DO) DO(7)
#define EACH_9(DO) EACH_8(DO) DO(8)
#define EACH_10(DO) EACH_9(DO) DO(9)
#define EACH_11(DO) EACH_10(DO) DO(10)
#define EACH_12(DO) EACH_11(DO) DO(11)
#define EACH_13(DO) EACH_12(DO) DO(12)
#define EACH_14(DO) EACH_13(DO) DO(13)
