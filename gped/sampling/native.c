/* Standard normal numbers: Box and Muller's method on sixteen xoshiro128++ generators side by side.
 *
 * Plain loops over lanes, which a compiler turns into vector instructions. xoshiro128++ is Blackman and Vigna's (2021). The
 * polynomials are Chebyshev fits on the intervals that are needed here, right to single precision. The radius' uniform is at
 * least 2^-32, which reaches 6.6 standard deviations.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 16, BLOCK = 512, ROOT_HALF = 0x3f3504f3 /* the float sqrt(1/2) as a word */ };

static inline uint32_t rotated(uint32_t x, int k) { return (x << k) | (x >> (32 - k)); }

static inline uint32_t word_of(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

static inline float float_of(uint32_t word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

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

/* ln u of a positive u = 2^e (1 + m), with 1 + m between the roots of 1/2 and 2. */
static inline float logarithm(float u)
{
    int32_t word = (int32_t)(word_of(u) - ROOT_HALF);
    float e = (float)(word >> 23), m = float_of((uint32_t)(word & 0x7fffff) + ROOT_HALF) - 1.0f;
    float p = 3.33334103e-1f + m * (-2.50009217e-1f + m * (1.99851278e-1f + m * (-1.65928563e-1f
              + m * (1.46763966e-1f + m * (-1.41184249e-1f + m * 9.27221424e-2f)))));
    return e * (float)M_LN2 + (m + m * m * (m * p - 0.5f));
}

/* Pairs of independent normal numbers; one of each pair is in either half of the output. */
static void block(uint32_t state[restrict 4][LANES], float out[restrict 2 * BLOCK])
{
    uint32_t first[BLOCK], second[BLOCK];
    draw(state, first);
    draw(state, second);
    for (int i = 0; i < BLOCK; i++) {
        /* Halves of the words, because signed integers are what vector units convert. The uniform is never 0. */
        float radius = sqrtf(fmaxf(-2.0f * logarithm(((float)(int32_t)(first[i] >> 1) + 0.5f) * 0x1p-31f), 0.0f));
        /* A direction: within an eighth of a turn of an axis by 30 bits, then which axis and which way by the other two. */
        uint32_t word = second[i], across = (uint32_t)((int32_t)(word << 1) >> 31), back = word & 0x80000000;
        float x = (float)(int32_t)(word << 2) * (float)(M_PI_4 * 0x1p-31), y = x * x;
        uint32_t sine = word_of(x + x * y * (-1.66666647e-1f + y * (8.33274864e-3f - y * 1.95879499e-4f)));
        uint32_t cosine = word_of(1.0f - y * (0.5f - y * (4.16666647e-2f - y * (1.38883024e-3f - y * 2.45478752e-5f))));
        uint32_t other = (sine ^ cosine) & across; /* exchanges them, without a branch */
        out[i] = radius * float_of((cosine ^ other) ^ back);
        out[BLOCK + i] = radius * float_of((sine ^ other) ^ back);
    }
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

/* A step of a sampler: value = keep * value + rate * slope + deviation * noise. */
void gped_move(uint32_t state[restrict 4][LANES], float *restrict value, const float *restrict slope, int64_t count,
               float keep, float rate, float deviation)
{
    float noise[2 * BLOCK];
    for (; count > 0; count -= 2 * BLOCK, value += 2 * BLOCK, slope += 2 * BLOCK) {
        block(state, noise);
        int now = count < 2 * BLOCK ? (int)count : 2 * BLOCK;
        for (int i = 0; i < now; i++) value[i] = keep * value[i] + rate * slope[i] + deviation * noise[i];
    }
}
