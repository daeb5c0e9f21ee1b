#include "base/interrupt.h"

#include <atomic>

#include "base/check.h"

namespace softlookup {
namespace {

// Lock-free, so that a signal handler may set it.
std::atomic<bool> asked{false};
std::atomic<bool> exists{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void Ask(int) { asked = true; }

}  // namespace

InterruptRequest::InterruptRequest() {
  SOFTLOOKUP_CHECK(!exists.exchange(true), "one InterruptRequest at a time");
  asked = false;
  struct sigaction action = {};
  action.sa_handler = Ask;
  // Once: the second signal finds the default action.
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &old_interrupt_);
  sigaction(SIGTERM, &action, &old_terminate_);
}

InterruptRequest::~InterruptRequest() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
  exists = false;
}

bool InterruptRequest::Asked() const { return asked; }

}  // namespace softlookup
