#include "repl/line_reader.h"

#include <histedit.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cwchar>

namespace lathe::repl {
namespace {

constexpr int kHistoryLines = 2000;

// Only wakes the read, also one that hasn't begun and from any thread: while a statement runs,
// Ctrl-C has its usual meaning.
int interrupts = -1;  // an eventfd

void OnInterrupt(int) {
  const int before = errno;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(interrupts, &one, sizeof one);
  errno = before;
}

bool TakeInterrupts() {
  uint64_t count = 0;
  return read(interrupts, &count, sizeof count) > 0;
}

class InterruptGuard {
 public:
  InterruptGuard() {
    if (interrupts < 0) interrupts = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    TakeInterrupts();
    struct sigaction action = {};
    action.sa_handler = OnInterrupt;
    sigaction(SIGINT, &action, &before_);
  }
  ~InterruptGuard() { sigaction(SIGINT, &before_, nullptr); }

 private:
  struct sigaction before_ = {};
};

std::string HistoryFile() {
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? "" : std::string(home) + "/.jit_repl_history";
}

std::string CommonStart(const std::vector<std::string>& words) {
  std::string common = words[0];
  for (const std::string& word : words) {
    size_t n = 0;
    while (n < common.size() && n < word.size() && common[n] == word[n]) ++n;
    common.resize(n);
  }
  return common;
}

}  // namespace

struct LineReader::Impl {
  Completer complete;
  EditLine* edit = nullptr;
  History* history = nullptr;
  std::string prompt, history_file = HistoryFile();

  static Impl* Of(EditLine* edit) {
    void* data = nullptr;
    el_get(edit, EL_CLIENTDATA, &data);
    return static_cast<Impl*>(data);
  }
  static char* Prompt(EditLine* edit) { return Of(edit)->prompt.data(); }

  // The next character: 1, 0 at the end, -1 with EINTR for an interrupt. Bytes that are none are
  // skipped.
  static int ReadCharacter(EditLine*, wchar_t* to) {
    std::mbstate_t state = {};
    for (;;) {
      pollfd ready[] = {{STDIN_FILENO, POLLIN, 0}, {interrupts, POLLIN, 0}};
      if (poll(ready, 2, -1) < 0 && errno != EINTR) return -1;
      if (TakeInterrupts()) {
        errno = EINTR;
        return -1;
      }
      if (ready[0].revents == 0) continue;
      char byte = 0;
      const ssize_t count = read(STDIN_FILENO, &byte, 1);
      if (count <= 0) return static_cast<int>(count);
      const size_t used = std::mbrtowc(to, &byte, 1, &state);
      if (used <= 1) return 1;
      if (used == static_cast<size_t>(-1)) state = {};
    }
  }

  static unsigned char OnTab(EditLine* edit, int) {
    const LineInfo* line = el_line(edit);
    const std::string_view before(line->buffer, static_cast<size_t>(line->cursor - line->buffer));
    const Completion found = Of(edit)->complete(before);
    if (found.words.empty()) return CC_REFRESH_BEEP;
    const size_t typed = before.size() - found.word_start;
    std::string more = CommonStart(found.words).substr(typed);
    if (found.words.size() == 1) more += ' ';
    if (!more.empty()) return el_insertstr(edit, more.c_str()) < 0 ? CC_REFRESH_BEEP : CC_REFRESH;
    std::fputc('\n', stdout);
    for (const std::string& word : found.words) std::printf("%s  ", word.c_str());
    std::fputc('\n', stdout);
    std::fflush(stdout);
    return CC_REDISPLAY;
  }
};

LineReader::LineReader(Completer complete) : impl_(std::make_unique<Impl>()) {
  impl_->complete = std::move(complete);
  impl_->edit = el_init("jit-repl", stdin, stdout, stderr);
  if (impl_->edit == nullptr) return;
  EditLine* const edit = impl_->edit;
  impl_->history = history_init();
  HistEvent event;
  history(impl_->history, &event, H_SETSIZE, kHistoryLines);
  history(impl_->history, &event, H_SETUNIQUE, 1);
  if (!impl_->history_file.empty()) {
    history(impl_->history, &event, H_LOAD, impl_->history_file.c_str());
  }
  el_set(edit, EL_CLIENTDATA, impl_.get());
  el_set(edit, EL_PROMPT, &Impl::Prompt);
  el_set(edit, EL_GETCFN, &Impl::ReadCharacter);
  el_set(edit, EL_EDITOR, "emacs");
  el_set(edit, EL_HIST, history, impl_->history);
  el_set(edit, EL_ADDFN, "lathe-complete", "completes a word", &Impl::OnTab);
  el_set(edit, EL_BIND, "^I", "lathe-complete", nullptr);
  el_set(edit, EL_BIND, "^R", "em-inc-search-prev", nullptr);
}

LineReader::~LineReader() {
  if (impl_->history != nullptr) {
    HistEvent event;
    if (!impl_->history_file.empty()) {
      const mode_t mask = umask(S_IRWXG | S_IRWXO);
      history(impl_->history, &event, H_SAVE, impl_->history_file.c_str());
      umask(mask);
    }
    history_end(impl_->history);
  }
  if (impl_->edit != nullptr) el_end(impl_->edit);
}

std::optional<std::string> LineReader::Read(const std::string& prompt, bool* interrupted) {
  *interrupted = false;
  if (impl_->edit == nullptr) return std::nullopt;
  const InterruptGuard guard;
  impl_->prompt = prompt;
  int count = 0;
  errno = 0;
  const char* line = el_gets(impl_->edit, &count);
  if (line == nullptr || count <= 0) {
    if (errno != EINTR) return std::nullopt;
    *interrupted = true;
    el_reset(impl_->edit);
    std::fputc('\n', stdout);
    return "";
  }
  std::string text(line, static_cast<size_t>(count));
  if (text.find_first_not_of(" \t\r\n") != std::string::npos) {
    HistEvent event;
    history(impl_->history, &event, H_ENTER, line);
  }
  return text;
}

}  // namespace lathe::repl
