/* C = A B, or a beginning + A B, of float32 matrices, the elements of A and B in any order of rows and columns.
 *
 * Columns of B are copied into panels, two vectors wide, that stay in the caches while the rows of A pass by, a few at
 * a time; a tile of C, as many rows high and a panel wide, is summed up in registers. Every number of C is one sum from
 * its first product to its last, whatever stands beside it.
 */
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define LANES 16   /* floats in a vector */
#define TALLEST 14 /* rows of a tile: with two vectors each, they fill the registers */
#elif defined(__AVX__)
#define LANES 8
#define TALLEST 6
#else
#define LANES 4
#define TALLEST 8
#endif
#define PANEL (2 * LANES)
#define DEEP 512  /* products that are summed up before the next panels are taken */
#define BROAD 384 /* columns whose panels are kept at a time: with that depth, three quarters of a megabyte */
#define LINE 16   /* floats in a line of the caches */
#define PAGE 1024 /* what lies a multiple of so many floats apart has the same few places in the first cache */

typedef float vector __attribute__((vector_size(4 * LANES)));
typedef float anywhere __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* Where it begins, and how many floats lie from one row, or column, to the next. */
typedef struct {
    const float *at;
    int64_t row, column;
} matrix;

static inline vector load(const float *from) { return *(const anywhere *)from; }
static inline void store(float *to, vector value) { *(anywhere *)to = value; }
static inline int64_t least(int64_t one, int64_t other) { return one < other ? one : other; }
static inline matrix from(matrix x, int64_t row, int64_t column) {
    return (matrix){x.at + row * x.row + column * x.column, x.row, x.column};
}

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

#define EMPTY(i) vector left##i = {0}, right##i = {0};
#define EXPECT(i) __builtin_prefetch(c + i * row, 1), __builtin_prefetch(c + i * row + PANEL - 1, 1);
#define BEGIN(i) left##i = load(begin + i * step), right##i = load(begin + i * step + LANES);
#define MULTIPLY(i) left##i += a.at[i * a.row] * b0, right##i += a.at[i * a.row] * b1;
#define STORE(i) store(c + i * row, left##i), store(c + i * row + LANES, right##i);

/* Some rows of A by a panel of B into C. The sums begin with `begin`, its rows `step` apart, or with nothing. */
typedef void tile(int64_t depth, matrix a, const float *b, const float *begin, int64_t step, float *c, int64_t row);
#define TILE(ROWS)                                                                                                    \
    static void tile_##ROWS(int64_t depth, matrix a, const float *b, const float *begin, int64_t step, float *c,      \
                            int64_t row) {                                                                            \
        EACH_##ROWS(EMPTY) EACH_##ROWS(EXPECT)                                                                        \
        if (begin) { EACH_##ROWS(BEGIN) }                                                                             \
        for (int64_t k = 0; k < depth; k++, a.at += a.column, b += PANEL) {                                           \
            vector b0 = load(b), b1 = load(b + LANES);                                                                \
            EACH_##ROWS(MULTIPLY)                                                                                     \
        }                                                                                                             \
        EACH_##ROWS(STORE)                                                                                            \
    }
TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6) TILE(7) TILE(8) TILE(9) TILE(10) TILE(11) TILE(12) TILE(13) TILE(14)
static tile *const TILES[] = {0,      tile_1, tile_2,  tile_3,  tile_4,  tile_5,  tile_6, tile_7,
                              tile_8, tile_9, tile_10, tile_11, tile_12, tile_13, tile_14};

/* The columns of B panel by panel, each row by row, and zeros where the last panel is not full. */
static void pack(int64_t depth, int64_t columns, matrix b, float *to) {
    for (int64_t n = 0; n < columns; n += PANEL, to += depth * PANEL, b = from(b, 0, PANEL)) {
        int64_t wide = least(columns - n, PANEL);
        if (wide < PANEL) memset(to, 0, depth * PANEL * sizeof(float));
        if (b.column == 1 && wide == PANEL) /* whose copy is a few instructions, as its size is known */
            for (int64_t k = 0; k < depth; k++) memcpy(to + k * PANEL, b.at + k * b.row, PANEL * sizeof(float));
        else
            for (int64_t top = 0; top < depth; top += LINE)
                for (int64_t j = 0; j < wide; j++)
                    for (int64_t k = top; k < least(top + LINE, depth); k++)
                        to[k * PANEL + j] = b.at[k * b.row + j * b.column];
    }
}

/* Some rows of A, where they need not fight for the same places of a cache: beside each other. */
static matrix beside(int64_t rows, int64_t depth, matrix a, float *to) {
    if (a.column == 1) {
        for (int64_t i = 0; i < rows; i++) memcpy(to + i * (DEEP + LINE), a.at + i * a.row, depth * sizeof(float));
        return (matrix){to, DEEP + LINE, 1};
    }
    for (int64_t k = 0; k < depth; k++)
        if (rows == TALLEST) memcpy(to + k * TALLEST, a.at + k * a.column, TALLEST * sizeof(float));
        else memcpy(to + k * TALLEST, a.at + k * a.column, rows * sizeof(float));
    return (matrix){to, 1, TALLEST};
}

/* Ask for what the next tile reads of A, while this one is computed: its share of so many columns out of all. */
static void expect(matrix a, int64_t depth, int64_t done, int64_t columns) {
    for (int64_t i = 0; i < TALLEST; i++)
        for (int64_t k = done * depth / columns; k < least((done + PANEL) * depth / columns, depth); k += LINE)
            __builtin_prefetch(a.at + i * a.row + k);
}

/* A tile at the edge, where C has fewer columns than a panel. */
static void edge(int64_t rows, int64_t wide, int64_t depth, matrix a, const float *b, const float *begin, int64_t step,
                 float *c, int64_t row) {
    float whole[TALLEST * PANEL] = {0};
    if (begin)
        for (int64_t i = 0; i < rows; i++) memcpy(whole + i * PANEL, begin + i * step, wide * sizeof(float));
    TILES[rows](depth, a, b, whole, PANEL, whole, PANEL);
    for (int64_t i = 0; i < rows; i++) memcpy(c + i * row, whole + i * PANEL, wide * sizeof(float));
}

/* C (rows, columns) = begin + A (rows, depth) B (depth, columns). `begin` has rows so many floats apart: 0 for one that
 * is every row's; it may be C itself; without it the sums begin with 0. A's rows or its columns lie side by side. */
void multiply(int64_t rows, int64_t columns, int64_t depth, matrix a, matrix b, const float *begin, int64_t step,
              float *c, int64_t row) {
    static _Thread_local float panels[BROAD * DEEP], copies[TALLEST * (DEEP + LINE)]; /* stacks may be small */
    int crowded = a.column == 1 ? a.row % PAGE == 0 : a.column % (PAGE / 2) == 0;
    for (int64_t k = 0; k < depth; k += DEEP, begin = c, step = row) {
        int64_t deep = least(depth - k, DEEP);
        for (int64_t n = 0; n < columns; n += BROAD) {
            int64_t broad = least(columns - n, BROAD);
            pack(deep, broad, from(b, k, n), panels);
            for (int64_t m = 0; m < rows; m += TALLEST) {
                int64_t tall = least(rows - m, TALLEST);
                matrix own = crowded ? beside(tall, deep, from(a, m, k), copies) : from(a, m, k);
                for (int64_t j = 0; j < broad; j += PANEL) {
                    const float *first = begin ? begin + m * step + n + j : 0;
                    float *to = c + m * row + n + j;
                    if (a.column == 1 && m + 2 * TALLEST <= rows) expect(from(a, m + TALLEST, k), deep, j, broad);
                    if (broad - j < PANEL)
                        edge(tall, broad - j, deep, own, panels + j * deep, first, step, to, row);
                    else
                        TILES[tall](deep, own, panels + j * deep, first, step, to, row);
                }
            }
        }
    }
}
