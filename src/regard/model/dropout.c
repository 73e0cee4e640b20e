/* Dropout, and a sum with what went past it, in one pass. */
#include <stdint.h>

/* y = onto + x · keep · scale, where keep is 0 if the number's byte is less than `of_256`; `onto` may be none. */
void drop(int64_t count, const float *x, const uint8_t *draws, int64_t of_256, const float *onto, float *y) {
    const float scale = 256.0f / (float)(256 - of_256);
    const uint8_t least = (uint8_t)of_256;
    if (onto)
        for (int64_t i = 0; i < count; i++) y[i] = onto[i] + (draws[i] < least ? 0.0f : x[i] * scale);
    else
        for (int64_t i = 0; i < count; i++) y[i] = draws[i] < least ? 0.0f : x[i] * scale;
}
