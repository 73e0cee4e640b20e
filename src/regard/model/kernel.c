/* Attention of short sequences, forward and backward, one head of one sentence at a time.
 *
 *     P = softmax(Q Kᵀ / √d + mask),   O = P V
 *     dV = Pᵀ dO,   dP = dO Vᵀ,   dS = P ⊙ (dP − Σ P ⊙ dP) / √d,   dQ = dS K,   dK = dSᵀ Q
 *
 * A head of a sentence is a few kilobytes, so that all of this stays in the fastest cache. Scores and weights lie
 * transposed, a row for each key: the softmax of a vector of queries then runs down the rows, and nothing is ever
 * summed up within a vector. B sentences, H heads, T queries, S keys, d features of a head.
 */
#include "vector.h"
#include <math.h>

#define LONGEST 128 /* queries or keys */
#define WIDEST 128  /* features */

typedef struct {
    int64_t B, H, T, S, d;
} sizes;

/* (B, H, rows, d): where it begins, and how many floats lie from one sentence, head or row to the next. */
typedef struct {
    float *at;
    int64_t sentence, head, row;
} array;

/* (B, H, T, S): 1 where a query may look at a key, 0 where it may not; without it, all may. */
typedef struct {
    const uint8_t *at;
    int64_t sentence, head, query, key;
} permission;

int64_t lanes(void) { return LANES; }
int64_t longest(void) { return LONGEST; }
int64_t widest(void) { return WIDEST; }

static inline int64_t padded(int64_t count) { return (count + LANES - 1) / LANES * LANES; }

/* Of all heads of all sentences, one after the other, where one begins. */
static inline float *of(sizes n, array x, int64_t head) { return x.at + head / n.H * x.sentence + head % n.H * x.head; }

/* Ask the second cache for some rows of a head: the first is busy with the one at work. (As a function of its own it
 * would be left out, since it changes nothing.) */
static inline __attribute__((always_inline)) void expect(sizes n, array x, int64_t rows, int64_t head) {
    if (head == n.B * n.H) return;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < n.d; i += LINE) __builtin_prefetch(of(n, x, head) + r * x.row + i, 0, 2);
}

#define EMPTY_1(i) vector left##i = {0};
#define EMPTY_2(i) EMPTY_1(i) vector right##i = {0};
#define MULTIPLY_1(i) left##i += a[i * am] * load(b);
#define MULTIPLY_2(i) MULTIPLY_1(i) right##i += a[i * am] * load(b + LANES);
#define STORE_1(i) store(c + i * cm, left##i);
#define STORE_2(i) STORE_1(i) store(c + i * cm + LANES, right##i);

/* A few rows of C = A B, one or two vectors of each, summed up in registers. A's element (m, k) is a[m am + k ak]. */
typedef void tile(int64_t depth, const float *a, int64_t am, int64_t ak, const float *b, int64_t bk, float *c,
                  int64_t cm);
#define TILE(ROWS, VECTORS)                                                                                           \
    static void tile_##ROWS##x##VECTORS(int64_t depth, const float *a, int64_t am, int64_t ak, const float *b,        \
                                        int64_t bk, float *c, int64_t cm) {                                           \
        EACH_##ROWS(EMPTY_##VECTORS)                                                                                  \
        for (int64_t k = 0; k < depth; k++, a += ak, b += bk) { EACH_##ROWS(MULTIPLY_##VECTORS) }                     \
        EACH_##ROWS(STORE_##VECTORS)                                                                                  \
    }
#define TILES_OF(ROWS) TILE(ROWS, 1) TILE(ROWS, 2)
TILES_OF(1) TILES_OF(2) TILES_OF(3) TILES_OF(4) TILES_OF(5) TILES_OF(6) TILES_OF(7)
TILES_OF(8) TILES_OF(9) TILES_OF(10) TILES_OF(11) TILES_OF(12) TILES_OF(13) TILES_OF(14)
#define BOTH(ROWS) {tile_##ROWS##x1, tile_##ROWS##x2}
static tile *const TILES[][2] = {{0, 0},  BOTH(1), BOTH(2), BOTH(3),  BOTH(4),  BOTH(5),  BOTH(6), BOTH(7),
                                 BOTH(8), BOTH(9), BOTH(10), BOTH(11), BOTH(12), BOTH(13), BOTH(14)};

/* C = A B with so many rows and columns, the latter in whole vectors, and so many products in each sum. */
static void multiply(int64_t rows, int64_t columns, int64_t depth, const float *a, int64_t am, int64_t ak,
                     const float *b, int64_t bk, float *c, int64_t cm) {
    for (int64_t n = 0, vectors; n < columns; n += vectors * LANES) {
        vectors = n + LANES < columns ? 2 : 1;
        for (int64_t m = 0, tall; m < rows; m += tall) {
            tall = least(rows - m, TALLEST);
            TILES[tall][vectors - 1](depth, a + m * am, am, ak, b + n, bk, c + m * cm + n, cm);
        }
    }
}

/* `to` (columns, width): the transpose of `from` (rows, columns), and zeros behind it; both widths in whole vectors. */
static void transpose(int64_t rows, int64_t columns, const float *from, int64_t row, float *to, int64_t width) {
    for (int64_t r = 0; r < width; r += LANES)
        for (int64_t c = 0; c < columns; c += LANES) turn(rows - r, from + r * row + c, row, to + c * width + r, width);
}

/* What is added to the scores of a head, (S, width): 0 where a query may look at a key, −∞ where it may not. */
static void forbid(sizes n, permission may, int64_t b, int64_t h, float *added, int64_t width) {
    for (int64_t s = 0; s < n.S; s++)
        for (int64_t t = 0; t < width; t++) {
            const uint8_t *at = may.at + b * may.sentence + h * may.head + t * may.query + s * may.key;
            added[s * width + t] = t >= n.T || *at ? 0.0f : -INFINITY;
        }
}

/* Scores (S, width) become weights, in place; who may look at nothing weighs nothing. */
static void softmax(int64_t keys, int64_t width, float scale, const float *added, float *scores) {
    for (int64_t t = 0; t < width; t += LANES) {
        vector most = all(-INFINITY), sum = {0};
        for (float *at = scores + t; at < scores + keys * width; at += width) {
            vector score = load(at) * scale;
            if (added) score += load(added + (at - scores));
            store(at, score);
            most = larger(most, score);
        }
        most = (vector)((whole)most & (most > -INFINITY));
        for (float *at = scores + t; at < scores + keys * width; at += width) {
            vector e = exponential(load(at) - most);
            store(at, e);
            sum += e;
        }
        sum = 1.0f / (vector)((whole)sum | ((whole)all(1.0f) & (sum == 0.0f)));
        for (float *at = scores + t; at < scores + keys * width; at += width) store(at, load(at) * sum);
    }
}

/* O, and the weights (B, H, S, width), which the way back reads; width is T in whole vectors. */
void forward(sizes n, array q, array k, array v, permission may, float *weights, array o) {
    static _Thread_local _Alignas(64) float turned[WIDEST * LONGEST], added[LONGEST * LONGEST]; /* stacks may be small */
    int64_t width = padded(n.T);
    for (int64_t i = 0; i < n.B * n.H; i++, weights += n.S * width) {
        int64_t b = i / n.H, h = i % n.H;
        int others = (h == 0 && (b == 0 || may.sentence)) || may.head; /* than the head before had */
        if (may.at && others) forbid(n, may, b, h, added, width);
        transpose(n.T, n.d, of(n, q, i), q.row, turned, width);
        expect(n, q, n.T, i + 1), expect(n, o, n.T, i);
        multiply(n.S, width, n.d, of(n, k, i), k.row, 1, turned, width, weights, width);
        expect(n, k, n.S, i + 1);
        softmax(n.S, width, 1.0f / sqrtf((float)n.d), may.at ? added : 0, weights);
        expect(n, v, n.S, i + 1);
        multiply(n.T, n.d, n.S, weights, 1, width, of(n, v, i), v.row, of(n, o, i), o.row);
    }
}

/* dQ, dK and dV, given dO. */
void backward(sizes n, array q, array k, array v, const float *weights, array d_o, array dq, array dk, array dv) {
    static _Thread_local _Alignas(64) float turned[WIDEST * LONGEST], ds[LONGEST * LONGEST];
    int64_t width = padded(n.T);
    float scale = 1.0f / sqrtf((float)n.d);
    for (int64_t i = 0; i < n.B * n.H; i++, weights += n.S * width) {
        transpose(n.T, n.d, of(n, d_o, i), d_o.row, turned, width);
        expect(n, d_o, n.T, i + 1), expect(n, dv, n.S, i);
        multiply(n.S, width, n.d, of(n, v, i), v.row, 1, turned, width, ds, width); /* dP, transposed */
        for (int64_t t = 0; t < width; t += LANES) {
            vector sum = {0};
            for (int64_t at = t; at < n.S * width; at += width) sum += load(weights + at) * load(ds + at);
            for (int64_t at = t; at < n.S * width; at += width)
                store(ds + at, load(weights + at) * (load(ds + at) - sum) * scale);
        }
        expect(n, v, n.S, i + 1), expect(n, dk, n.S, i);
        multiply(n.S, n.d, n.T, weights, width, 1, of(n, d_o, i), d_o.row, of(n, dv, i), dv.row);
        expect(n, q, n.T, i + 1), expect(n, dq, n.T, i);
        multiply(n.S, n.d, n.T, ds, width, 1, of(n, q, i), q.row, of(n, dk, i), dk.row);
        expect(n, k, n.S, i + 1);
        multiply(n.T, n.d, n.S, ds, 1, width, of(n, k, i), k.row, of(n, dq, i), dq.row);
    }
}
