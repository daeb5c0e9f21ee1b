// Ctrl-C as a request to finish in good order.
//
//   InterruptRequest interrupt;         // from here on Ctrl-C only asks
//   while (...) {
//     Step();
//     if (interrupt.Asked()) { Save(); return ...; }
//   }
//
// Holds for SIGINT and SIGTERM while the object lives. A second signal ends the
// program as ever, for one who does not want to wait.
#ifndef SOFTLOOKUP_BASE_INTERRUPT_H_
#define SOFTLOOKUP_BASE_INTERRUPT_H_

#include <csignal>

namespace softlookup {

// At most one at a time in a program.
class InterruptRequest {
 public:
  InterruptRequest();
  ~InterruptRequest();
  InterruptRequest(const InterruptRequest&) = delete;
  InterruptRequest& operator=(const InterruptRequest&) = delete;

  // Whether a signal has come since the object was made.
  bool Asked() const;

 private:
  struct sigaction old_interrupt_;
  struct sigaction old_terminate_;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_INTERRUPT_H_
