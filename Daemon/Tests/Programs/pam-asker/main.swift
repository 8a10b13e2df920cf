import Cancellations
import Glibc
import HelperProcesses
import PAMBiometry

// A program in the daemon's place that makes one attempt: pam-asker HELPER SERVICE FOLDER TRUSTED-USER-ID. It prints each text
// and the result.
func say(_ text: String) {
    // Not print: its buffer would be lost when this is killed.
    let line = Array((text + "\n").utf8)
    _ = write(1, line, line.count)
}

let arguments = CommandLine.arguments
guard arguments.count == 5, let userID = UInt32(arguments[4]), let stop = try? PollableCancellation() else { exit(64) }
let recognizer = PAMRecognizer(
    .spawned(program: arguments[1]), service: arguments[2], user: nil, systemBus: "/dev/null", folder: arguments[3],
    trustedUserID: userID)
do throws(PAMFailure) { say("\(try recognizer.recognize(until: stop) { say("\($0.text)") })") } catch {
    say("\(error)")
}
