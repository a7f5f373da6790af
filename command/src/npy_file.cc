// A NumPy file: a header with dtype, shape and order, padded to a multiple of 64 bytes, then the
// elements. The file is written beside its target and renamed, so that a reader never sees a part
// of it; pipes and open files are written in place. An error of the file system is an Error with
// the name of the file. One thread.

#include "npy_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "cupel/core/error.h"

namespace cupel::command_detail {
namespace {

namespace fs = std::filesystem;

std::string descriptor(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return "|b1";
    case DType::I8:
      return "|i1";
    case DType::I16:
      return "<i2";
    case DType::I32:
      return "<i4";
    case DType::I64:
      return "<i8";
    case DType::U8:
      return "|u1";
    case DType::U16:
      return "<u2";
    case DType::U32:
      return "<u4";
    case DType::U64:
      return "<u8";
    case DType::F16:
      return "<f2";
    case DType::BF16:
    case DType::F32:
      return "<f4";
    case DType::F64:
      return "<f8";
    case DType::Utf8:
      break;
  }
  throw UsageError("a NumPy file of text is not supported: use --json for utf8 tensors");
}

// Returns magic, version, the length of the header, and the header, padded so that the data begin
// at a multiple of 64.
std::string preamble(DType dtype, const std::vector<std::int64_t>& extents) {
  std::string shape;
  for (const std::int64_t extent : extents) shape += std::to_string(extent) + ", ";
  if (extents.size() > 1) shape.erase(shape.size() - 2);
  if (extents.size() == 1) shape.pop_back();
  std::string header =
      "{'descr': '" + descriptor(dtype) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  constexpr std::size_t kBefore = 10;
  constexpr std::size_t kAlignment = 64;
  const std::size_t unpadded = kBefore + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xffU);
  bytes += static_cast<char>(header.size() >> 8U & 0xffU);
  return bytes + header;
}

// /dev/stdout and similar names are files that another process has open.
bool is_device_path(const std::string& file) {
  const std::string path = fs::absolute(file).lexically_normal().string();
  return path.starts_with("/dev/") || path.starts_with("/proc/");
}

bool is_standard_stream(const std::string& file) {
  struct stat own {};
  if (::stat(file.c_str(), &own) != 0) return false;
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat other {};
    if (::fstat(stream, &other) == 0 && other.st_dev == own.st_dev && other.st_ino == own.st_ino)
      return true;
  }
  return false;
}

constexpr std::size_t kWorthWriting = 65536;

}  // namespace

NpyFile::NpyFile(std::string file, DType dtype, const std::vector<std::int64_t>& shape)
    : file_(std::move(file)), target_(file_) {
  const std::string head = preamble(dtype, shape);
  std::error_code none;
  if (fs::is_symlink(file_, none))
    target_ =
        (fs::exists(file_, none) ? fs::canonical(file_, none)
                                 : fs::path(file_).parent_path() / fs::read_symlink(file_, none))
            .string();
  const bool replaceable =
      !fs::exists(target_, none) || (fs::is_regular_file(target_, none) && !is_device_path(file_) &&
                                     !is_standard_stream(target_));
  errno = 0;
  if (replaceable) {
    temporary_ = std::make_unique<TemporaryFile>(AT_FDCWD, target_, FileAccess::Umask);
    descriptor_ = temporary_->descriptor();
    struct stat before {};
    if (descriptor_ >= 0 && ::stat(target_.c_str(), &before) == 0)
      static_cast<void>(::fchmod(descriptor_, before.st_mode & 0777U));
  } else {
    // A file that another process has open is appended to.
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  }
  if (descriptor_ < 0) fail();
  try {
    write(std::as_bytes(std::span(head)));
  } catch (...) {
    if (!temporary_) ::close(descriptor_);
    throw;
  }
}

NpyFile::~NpyFile() {
  if (!temporary_ && descriptor_ >= 0) ::close(descriptor_);
}

void NpyFile::write(std::span<const std::byte> bytes) {
  if (gathered_.size() + bytes.size() > kWorthWriting) flush();
  if (bytes.size() < kWorthWriting) {
    gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
  } else if (!write_all(descriptor_, bytes)) {
    fail();
  }
}

void NpyFile::flush() {
  if (!write_all(descriptor_, gathered_)) fail();
  gathered_.clear();
}

void NpyFile::append(const TensorValue& value) {
  if (value.dtype() != DType::BF16) {
    write(value.bytes());
  } else {
    constexpr std::size_t kPiece = 65536;
    std::vector<float> widened;
    for (std::span<const BFloat16> rest = value.as<BFloat16>(); !rest.empty();
         rest = rest.subspan(widened.size())) {
      const auto piece = rest.first(std::min(kPiece, rest.size()));
      widened.resize(piece.size());
      std::transform(piece.begin(), piece.end(), widened.begin(),
                     [](BFloat16 element) { return static_cast<float>(element); });
      write(std::as_bytes(std::span(widened)));
    }
  }
}

void NpyFile::commit() {
  flush();
  if (temporary_) {
    descriptor_ = -1;
    if (!temporary_->close() || !temporary_->rename_to(target_)) fail();
  } else if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) {
    fail();
  }
}

void NpyFile::fail() const {
  throw Error("cannot write " + file_ + (errno == 0 ? "" : std::string(": ") + strerror(errno)));
}

void write_npy(const std::string& file, const TensorValue& value) {
  const auto extents = value.shape().extents();
  NpyFile npy(file, value.dtype(), {extents.begin(), extents.end()});
  npy.append(value);
  npy.commit();
}

}  // namespace cupel::command_detail
