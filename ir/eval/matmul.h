// c += a * b on dense row-major matrices, the evaluator's one hot loop.
#ifndef ENCORE_IR_EVAL_MATMUL_H_
#define ENCORE_IR_EVAL_MATMUL_H_

#include <cstdint>

namespace encore::eval {

// a is [m, k], b [k, n], c [m, n]. Floats: each element sums its products in
// the order of k, in double, without fused operations, so that the result is
// the same on every machine. Integers wrap.
void MatMul(int64_t m, int64_t k, int64_t n, const double* a, const double* b,
            double* c);
void MatMul(int64_t m, int64_t k, int64_t n, const int64_t* a, const int64_t* b,
            int64_t* c);
void MatMul(int64_t m, int64_t k, int64_t n, const uint64_t* a,
            const uint64_t* b, uint64_t* c);

}  // namespace encore::eval

#endif  // ENCORE_IR_EVAL_MATMUL_H_
