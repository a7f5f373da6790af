#include "training/matrix.h"

#include <algorithm>

namespace cupel::training {

void add_scaled(std::span<float> sum, float factor, std::span<const float> x) {
  for (std::size_t i = 0; i < x.size(); ++i) sum[i] += factor * x[i];
}

void add_product(const Matrix& a, const Matrix& b, Matrix& sum) {
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < a.columns; ++k)
      add_scaled(sum.row(i), a.values[i * a.columns + k], b.row(k));
}

void add_product_of_transposed(const Matrix& a, const Matrix& b, Matrix& sum) {
  for (std::size_t k = 0; k < a.rows; ++k)
    for (std::size_t i = 0; i < a.columns; ++i)
      add_scaled(sum.row(i), a.values[k * a.columns + i], b.row(k));
}

Matrix transposed(const Matrix& a) {
  Matrix result(a.columns, a.rows);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < a.columns; ++k)
      result.values[k * a.rows + i] = a.values[i * a.columns + k];
  return result;
}

Matrix rows_of(const Matrix& a, std::span<const std::size_t> listed) {
  Matrix result(listed.size(), a.columns);
  for (std::size_t i = 0; i < listed.size(); ++i)
    std::copy_n(a.row(listed[i]).begin(), a.columns, result.row(i).begin());
  return result;
}

}  // namespace cupel::training
