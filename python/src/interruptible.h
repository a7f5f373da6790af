#pragma once

#include <functional>
#include <stop_token>

namespace cupel::python {

/// Runs `work`, which may wait for long, without the GIL, and throws what it throws. Called with
/// the GIL held.
///
/// On Python's main thread, which alone runs handlers of signals, another thread runs `work`, and
/// the main thread checks for signals and log lines every 20 ms. An exception of a handler
/// (KeyboardInterrupt) requests the stop of `work` and is thrown as soon as `work` has returned.
void run_interruptibly(const std::function<void(std::stop_token)>& work);

}  // namespace cupel::python
