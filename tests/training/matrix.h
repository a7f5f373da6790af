#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace cupel::training {

/// Numbers in rows, each after the other; in a batch a row is an example.
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<float> values = {};

  Matrix() = default;
  Matrix(std::size_t its_rows, std::size_t its_columns)
      : rows(its_rows), columns(its_columns), values(its_rows * its_columns) {}

  std::span<float> row(std::size_t i) { return {&values[i * columns], columns}; }
  std::span<const float> row(std::size_t i) const { return {&values[i * columns], columns}; }
};

/// sum += factor * x, element by element.
void add_scaled(std::span<float> sum, float factor, std::span<const float> x);
/// sum += a b
void add_product(const Matrix& a, const Matrix& b, Matrix& sum);
/// sum += a^T b
void add_product_of_transposed(const Matrix& a, const Matrix& b, Matrix& sum);
Matrix transposed(const Matrix& a);
/// The rows of `a` whose numbers are listed.
Matrix rows_of(const Matrix& a, std::span<const std::size_t> listed);

}  // namespace cupel::training
