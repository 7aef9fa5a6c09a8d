/* Standard normal numbers: Box and Muller's method on sixteen xoshiro128++ generators side by side.
 *
 * Plain loops over lanes, which a compiler turns into vector instructions together with the vector mathematics of the C
 * library. xoshiro128++ is Blackman and Vigna's (2021); the radius' uniform is at least 2^-32, which reaches 6.6 standard
 * deviations.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 16, BLOCK = 512 };

static inline uint32_t rotated(uint32_t x, int k) { return (x << k) | (x >> (32 - k)); }

static void draw(uint32_t state[restrict 4][LANES], uint32_t *restrict out)
{
    for (int at = 0; at < BLOCK; at += LANES)
        for (int lane = 0; lane < LANES; lane++) {
            uint32_t a = state[0][lane], b = state[1][lane], c = state[2][lane], d = state[3][lane];
            out[at + lane] = rotated(a + d, 7) + a;
            uint32_t shifted = b << 9;
            c ^= a;
            d ^= b;
            b ^= c;
            a ^= d;
            c ^= shifted;
            d = rotated(d, 11);
            state[0][lane] = a, state[1][lane] = b, state[2][lane] = c, state[3][lane] = d;
        }
}

static void block(uint32_t state[restrict 4][LANES], float *restrict out)
{
    uint32_t first[BLOCK], second[BLOCK];
    float radius[BLOCK], angle[BLOCK];
    draw(state, first);
    draw(state, second);
    for (int i = 0; i < BLOCK; i++) {
        /* Halves of the words, because signed integers are what vector units convert. The uniform is never 0. */
        float uniform = ((float)(int32_t)(first[i] >> 1) + 0.5f) * 0x1p-31f;
        radius[i] = sqrtf(fmaxf(-2.0f * logf(uniform), 0.0f));
        angle[i] = (float)(int32_t)second[i] * (float)(M_PI * 0x1p-31);
    }
    for (int i = 0; i < BLOCK; i++) out[i] = radius[i] * cosf(angle[i]);
    for (int i = 0; i < BLOCK; i++) out[BLOCK + i] = radius[i] * sinf(angle[i]);
}

void gped_normal(uint32_t state[restrict 4][LANES], float *restrict out, int64_t count)
{
    int64_t done = 0;
    for (; done + 2 * BLOCK <= count; done += 2 * BLOCK) block(state, out + done);
    if (done < count) {
        float rest[2 * BLOCK];
        block(state, rest);
        memcpy(out + done, rest, (size_t)(count - done) * sizeof(float));
    }
}
