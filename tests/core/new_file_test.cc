#include "cupel/core/new_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace cupel::testing {
namespace {

namespace fs = std::filesystem;

class NewFile : public ::testing::Test {
 protected:
  NewFile() {
    std::string name = (fs::temp_directory_path() / "cupel-new-file-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~NewFile() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  static unsigned mode_of(const std::string& path) {
    struct stat facts = {};
    return ::lstat(path.c_str(), &facts) == 0 ? facts.st_mode & 07777U : 0;
  }
  std::string victim() const {
    std::ofstream(path("victim")) << "untouched";
    return path("victim");
  }
  static std::string text_of(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string folder_;
};

class Umask {
 public:
  explicit Umask(mode_t mask) : before_(::umask(mask)) {}
  ~Umask() { ::umask(before_); }
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;

 private:
  mode_t before_;
};

TEST_F(NewFile, modes_follow_the_umask_or_are_private_under_any) {
  int number = 0;
  for (const mode_t mask : {0, 022, 077}) {
    const Umask umask(mask);
    for (const FileAccess access : {FileAccess::Umask, FileAccess::Private}) {
      const bool is_private = access == FileAccess::Private;
      const std::string name = path(std::to_string(++number));
      ::close(create_file(AT_FDCWD, (name + "a").c_str(), access));
      ::close(open_or_create_file(AT_FDCWD, (name + "b").c_str(), O_WRONLY, access));
      EXPECT_TRUE(make_directories(name + "/c/d", access));
      const unsigned file = (is_private ? 0600U : 0666U) & ~mask;
      const unsigned folder = (is_private ? 0700U : 0777U) & ~mask;
      EXPECT_EQ(mode_of(name + "a"), file);
      EXPECT_EQ(mode_of(name + "b"), file);
      EXPECT_EQ(mode_of(name), folder);
      EXPECT_EQ(mode_of(name + "/c/d"), folder);
    }
  }
}

TEST_F(NewFile, planted_links_are_not_followed) {
  fs::create_symlink(victim(), path("link"));
  fs::create_symlink(path("nowhere"), path("dangling"));
  for (const char* const name : {"link", "dangling"}) {
    EXPECT_EQ(create_file(AT_FDCWD, path(name).c_str(), FileAccess::Umask), -1);
    EXPECT_EQ(errno, EEXIST);
    EXPECT_EQ(
        open_or_create_file(AT_FDCWD, path(name).c_str(), O_WRONLY | O_NOFOLLOW, FileAccess::Umask),
        -1);
    EXPECT_EQ(errno, ELOOP);
  }
  EXPECT_EQ(text_of(path("victim")), "untouched");
  EXPECT_FALSE(fs::exists(path("nowhere")));
}

TEST_F(NewFile, a_temporary_file_takes_the_place_of_another_or_goes) {
  const std::string target = victim();
  { const TemporaryFile given_up(AT_FDCWD, target, FileAccess::Private); }
  EXPECT_EQ(text_of(target), "untouched");
  TemporaryFile file(AT_FDCWD, target, FileAccess::Private);
  TemporaryFile other(AT_FDCWD, target, FileAccess::Private);
  EXPECT_NE(file.name(), other.name());
  const std::string text = "new";
  ASSERT_TRUE(write_all(file.descriptor(), std::as_bytes(std::span(text))));
  EXPECT_TRUE(file.close());
  EXPECT_TRUE(file.rename_to(target));
  EXPECT_EQ(text_of(target), "new");
  EXPECT_EQ(mode_of(target), 0600U);
}

// What a child that may write 1000 bytes to a file ends with.
int end_of_limited_child(const std::string& path, bool is_ours) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const int file = create_file(AT_FDCWD, path.c_str(), FileAccess::Umask);
    const std::vector<std::byte> bytes(3000);
    if (!is_ours) {
      for (int i = 0; i < 3; ++i) static_cast<void>(!::write(file, bytes.data(), bytes.size()));
      ::_exit(1);
    }
    const bool failed = !write_all(file, bytes) && errno == EFBIG;
    sigset_t pending, blocked;
    struct sigaction action {};
    ::sigpending(&pending);
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    ::sigaction(SIGXFSZ, nullptr, &action);
    const bool as_before = sigismember(&pending, SIGXFSZ) == 0 &&
                           sigismember(&blocked, SIGXFSZ) == 0 && action.sa_handler == SIG_DFL;
    ::_exit(failed && as_before ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST_F(NewFile, a_limit_on_the_size_of_files_is_an_error_and_no_signal) {
  const int without = end_of_limited_child(path("without"), false);
  EXPECT_TRUE(WIFSIGNALED(without) && WTERMSIG(without) == SIGXFSZ) << without;
  EXPECT_EQ(end_of_limited_child(path("with"), true), 0);
}

}  // namespace
}  // namespace cupel::testing
