/// The environment of a helper that the daemon starts: these variables and the additions of its kind, and none of the daemon's own.
package enum HelperEnvironment {
    /// Of every helper. Without the first setting, Swift's crash reporter would print registers and the memory that they point to.
    static let base = ["SWIFT_BACKTRACE=enable=no", "LC_ALL=C.UTF-8"]
    /// The addition for all kinds but one: `ostiary-fido` may start no program, so it is told no folder of programs.
    package static let programFolders = "PATH=/usr/bin:/bin"
}
