/* The softmax of long rows, in place: a row goes through the fastest caches three times, and through memory once. */
#include "vector.h"
#include <math.h>

/* The last numbers of a row, where they are less than a vector, and −∞ behind them. */
static vector last(const float *from, int64_t count) {
    vector value = all(-INFINITY);
    for (int64_t i = 0; i < count; i++) value[i] = from[i];
    return value;
}

/* Of every row x: eˣ / Σ eˣ in its place, and log Σ eˣ. */
void softmax(int64_t rows, int64_t columns, float *x, float *normalizers) {
    int64_t whole_vectors = columns / LANES * LANES, left = columns - whole_vectors;
    for (int64_t r = 0; r < rows; r++, x += columns) {
        vector end = last(x + whole_vectors, left), tops = end, sums = {0};
        for (int64_t i = 0; i < whole_vectors; i += LANES) tops = larger(tops, load(x + i));
        float top = tops[0], sum = 0;
        for (int i = 1; i < LANES; i++) top = tops[i] > top ? tops[i] : top;
        for (int64_t i = 0; i < whole_vectors; i += LANES) {
            vector e = exponential(load(x + i) - top);
            store(x + i, e);
            sums += e;
        }
        end = exponential(end - top);
        sums += end;
        for (int i = 0; i < LANES; i++) sum += sums[i];
        for (int64_t i = 0; i < whole_vectors; i += LANES) store(x + i, load(x + i) * (1 / sum));
        for (int64_t i = 0; i < left; i++) x[whole_vectors + i] = end[i] * (1 / sum);
        normalizers[r] = top + logf(sum);
    }
}
