/// The command's exit status. Documented in `--help` and Documentation/command.md; numbers never change.
package enum ExitStatus: Int32, CaseIterable {
    /// The command did its work.
    case done = 0
    /// It was not done, and not because somebody refused: a file, the daemon, the store; or a check with a negative result.
    case failed = 1
    /// The command line makes no sense; nothing was tried.
    case usage = 2
    /// Refused or cancelled: wrong passcode, locked out, not authorized, nobody to ask.
    case refused = 3
}
