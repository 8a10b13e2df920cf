import DeviceEvents
import Glibc

// Listens for devices: plug-listener REST LONGEST, both in milliseconds. It prints a line each time that it is told.
@Sendable func say(_ text: String) {
    // Not print: its buffer would be lost when this is killed.
    let line = Array((text + "\n").utf8)
    _ = write(1, line, line.count)
}

let arguments = CommandLine.arguments
guard arguments.count == 3, let rest = Int(arguments[1]), let longest = Int(arguments[2]) else { exit(64) }
let watcher = PlugWatcher(rest: .milliseconds(rest), longest: .milliseconds(longest)) {
    say("plugged")
} failed: {
    say("failed: \($0)")
}
do throws(DeviceEventError) { try watcher.start() } catch {
    say("refused: \(error)")
    exit(1)
}
say("listening")
while true { pause() }
