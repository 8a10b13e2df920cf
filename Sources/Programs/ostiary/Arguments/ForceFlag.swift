import ArgumentParser

/// `--force`.
struct ForceFlag: ParsableArguments {
    @Flag(name: .customLong("force"), help: "Do not ask before something is destroyed or overwritten; for scripts.")
    var isGiven = false
}
