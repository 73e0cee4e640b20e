/* C = A B, or a beginning + A B, of float32 matrices, the elements of A and B in any order of rows and columns.
 *
 * Columns of B are copied into panels, two vectors wide, that stay in the caches while the rows of A pass by, a few at
 * a time; a tile of C, as many rows high and a panel wide, is summed up in registers. The sum is the same whatever stands
 * beside it. Meanwhile the caches are asked for what comes next, a line with every step: all at once, these requests
 * would hold up what is read now.
 */
#include "vector.h"
#include <string.h>

#define PANEL (2 * LANES)
#define DEEP 512  /* products that are summed up before the next panels are taken */
#define BROAD 512 /* columns whose panels are kept at a time: with that depth, a megabyte */
#define PAGE 1024 /* what lies a multiple of so many floats apart has the same few places in the first cache */

/* Where it begins, and how many floats lie from one row, or column, to the next. */
typedef struct {
    const float *at;
    int64_t row, column;
} matrix;

/* C, what it is added to and its gate: `begin` has rows `step` floats apart, 0 if one is every row's, and may be C
 * itself; where the gate, of rows like C's, is not positive, C becomes 0. The gate may be C itself, as it would be
 * without one. Neither has to be there. */
typedef struct {
    float *at;
    int64_t row;
    const float *begin;
    int64_t step;
    const float *gate;
} result;

static inline vector where(vector positive, vector value) { return (vector)((whole)value & ~(positive <= 0.0f)); }
static inline matrix from(matrix x, int64_t row, int64_t column) {
    return (matrix){x.at + row * x.row + column * x.column, x.row, x.column};
}

#define EMPTY(i) vector left##i = {0}, right##i = {0};
#define MULTIPLY(i) left##i += a.at[i * a.row] * b0, right##i += a.at[i * a.row] * b1;
#define ADD(i) left##i += load(c.begin + i * c.step), right##i += load(c.begin + i * c.step + LANES);
#define STORE(i) store(c.at + i * c.row, left##i), store(c.at + i * c.row + LANES, right##i);
#define RECTIFY(i) left##i = where(left##i, left##i), right##i = where(right##i, right##i);
#define GATE(i)                                                                                                       \
    left##i = where(load(c.gate + i * c.row), left##i), right##i = where(load(c.gate + i * c.row + LANES), right##i);

/* Some rows of A by a panel of B into C. The caches are asked for the tile's own lines of C and of its gate, the first
 * and the last of each row in turns, and for columns of `soon`. */
typedef void tile(int64_t depth, matrix a, const float *b, result c, matrix soon);
#define TILE(ROWS)                                                                                                    \
    static void tile_##ROWS(int64_t depth, matrix a, const float *b, result c, matrix soon) {                         \
        EACH_##ROWS(EMPTY)                                                                                            \
        const float *gate = c.gate ? c.gate : c.at;                                                                   \
        for (int64_t k = 0, last = 0; k < depth; last = PANEL - 1 - last, soon.at += soon.column)                     \
            for (int64_t i = 0; i < ROWS && k < depth; i++, k++, a.at += a.column, b += PANEL) {                      \
                __builtin_prefetch(c.at + i * c.row + last, 1), __builtin_prefetch(gate + i * c.row + last);          \
                __builtin_prefetch(soon.at + i * soon.row);                                                           \
                vector b0 = load(b), b1 = load(b + LANES);                                                            \
                EACH_##ROWS(MULTIPLY)                                                                                 \
            }                                                                                                         \
        if (c.begin) { EACH_##ROWS(ADD) }                                                                             \
        if (c.gate == c.at) { EACH_##ROWS(RECTIFY) }                                                                  \
        else if (c.gate) { EACH_##ROWS(GATE) }                                                                        \
        EACH_##ROWS(STORE)                                                                                            \
    }
TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6) TILE(7) TILE(8) TILE(9) TILE(10) TILE(11) TILE(12) TILE(13) TILE(14)
static tile *const TILES[] = {0,      tile_1, tile_2,  tile_3,  tile_4,  tile_5,  tile_6, tile_7,
                              tile_8, tile_9, tile_10, tile_11, tile_12, tile_13, tile_14};

/* The columns of B panel by panel, each row by row, and zeros where the last panel is not full. */
static void pack(int64_t depth, int64_t columns, matrix b, float *to) {
    int64_t full = b.column == 1 ? columns / PANEL * PANEL : 0; /* columns whose rows can be copied whole */
    for (int64_t k = 0; k < depth; k++)
        for (int64_t n = 0; n < full; n += PANEL) /* a few instructions, as the size of the copy is known */
            memcpy(to + n * depth + k * PANEL, b.at + k * b.row + n, PANEL * sizeof(float));
    for (int64_t n = full; n < columns; n += PANEL) {
        int64_t wide = least(columns - n, PANEL), whole_rows = b.row == 1 ? depth / LANES * LANES : 0;
        float *panel = to + n * depth;
        for (int64_t j = 0; j < PANEL; j += LANES)
            for (int64_t k = 0; k < whole_rows; k += LANES)
                turn(wide - j, b.at + k + (n + j) * b.column, b.column, panel + k * PANEL + j, PANEL);
        for (int64_t k = whole_rows; k < depth; k++)
            for (int64_t j = 0; j < PANEL; j++)
                panel[k * PANEL + j] = j < wide ? b.at[k * b.row + (n + j) * b.column] : 0;
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

/* What a tile, here the next, will read of A from a column on: a line has some columns of a row, or rows of a column. */
static matrix lines(matrix a, int64_t column) {
    if (a.column == 1) return (matrix){a.at + column / LINE * LINE, a.row, LINE};
    return (matrix){a.at + column * a.column + TALLEST - 1, a.column, TALLEST * a.column};
}

/* The same of C from a row and a column on. */
static result part(result c, int64_t row, int64_t column) {
    return (result){c.at + row * c.row + column, c.row, c.begin ? c.begin + row * c.step + column : 0, c.step,
                    c.gate ? c.gate + row * c.row + column : 0};
}

/* A tile at the edge, where C has fewer columns than a panel. */
static void edge(int64_t rows, int64_t wide, int64_t depth, matrix a, const float *b, result c, matrix soon) {
    float sums[TALLEST * PANEL] = {0}, gates[TALLEST * PANEL] = {0};
    for (int64_t i = 0; i < rows; i++) {
        if (c.begin) memcpy(sums + i * PANEL, c.begin + i * c.step, wide * sizeof(float));
        if (c.gate) memcpy(gates + i * PANEL, c.gate + i * c.row, wide * sizeof(float));
    }
    const float *gate = c.gate == c.at ? sums : c.gate ? gates : 0;
    TILES[rows](depth, a, b, (result){sums, PANEL, sums, PANEL, gate}, soon);
    for (int64_t i = 0; i < rows; i++) memcpy(c.at + i * c.row, sums + i * PANEL, wide * sizeof(float));
}

/* C (rows, columns) = begin + A (rows, depth) B (depth, columns), gated. A's rows or its columns lie side by side. */
void multiply(int64_t rows, int64_t columns, int64_t depth, matrix a, matrix b, result c) {
    static _Thread_local _Alignas(64) float panels[BROAD * DEEP]; /* a stack may be small */
    static _Thread_local _Alignas(64) float copies[TALLEST * (DEEP + LINE)];
    int crowded = a.column == 1 ? a.row % PAGE == 0 : a.column % (PAGE / 2) == 0;
    for (int64_t k = 0; k < depth; k += DEEP, c.begin = c.at, c.step = c.row) {
        int64_t deep = least(depth - k, DEEP);
        result sums = c;
        if (k + deep < depth) sums.gate = 0; /* until they are whole */
        for (int64_t n = 0; n < columns; n += BROAD) {
            int64_t broad = least(columns - n, BROAD);
            pack(deep, broad, from(b, k, n), panels);
            for (int64_t m = 0; m < rows; m += TALLEST) {
                int64_t tall = least(rows - m, TALLEST);
                matrix own = crowded ? beside(tall, deep, from(a, m, k), copies) : from(a, m, k);
                for (int64_t j = 0; j < broad; j += PANEL) {
                    result to = part(sums, m, n + j);
                    int more = m + 2 * TALLEST <= rows; /* and this panel's share of what they need */
                    matrix soon = more ? lines(from(a, m + TALLEST, k), j * deep / broad) : (matrix){own.at, 0, 0};
                    if (broad - j < PANEL) edge(tall, broad - j, deep, own, panels + j * deep, to, soon);
                    else TILES[tall](deep, own, panels + j * deep, to, soon);
                }
            }
        }
    }
}

/* Matrices X (rows, columns), one behind the other, come near what only rotates, by rounds of three coefficients each:
 * G = X Xᵀ, and X becomes ((c G + b I) G + a I) X. There is room for 3 rows² + rows · columns floats. */
void orthogonal(int64_t count, int64_t rows, int64_t columns, float *x, int64_t rounds, const float *abc, float *room) {
    int64_t square = rows * rows;
    float *gram = room, *inner = gram + square, *outer = inner + square, *turned = outer + square;
    for (; count > 0; count--, x += rows * columns)
        for (const float *now = abc; now < abc + 3 * rounds; now += 3) {
            multiply(rows, rows, columns, (matrix){x, columns, 1}, (matrix){x, 1, columns}, (result){gram, rows});
            for (int64_t i = 0; i < square; i++) inner[i] = now[2] * gram[i];
            for (int64_t i = 0; i < square; i += rows + 1) inner[i] += now[1];
            multiply(rows, rows, rows, (matrix){inner, rows, 1}, (matrix){gram, rows, 1}, (result){outer, rows});
            for (int64_t i = 0; i < square; i += rows + 1) outer[i] += now[0];
            multiply(rows, columns, rows, (matrix){outer, rows, 1}, (matrix){x, columns, 1}, (result){turned, columns});
            memcpy(x, turned, rows * columns * sizeof(float));
        }
}
