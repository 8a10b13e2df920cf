import Cancellations
import FingerprintReader
import Glibc

// Another program that uses the reader: fingerprint-asker SOCKET SERVICE-USER-ID (state | verify | hold). It prints a
// line for each thing that happens.
func say(_ text: String) {
    // Not print: its buffer would be lost when this is killed.
    let line = Array((text + "\n").utf8)
    _ = write(1, line, line.count)
}

let arguments = CommandLine.arguments
guard arguments.count == 4, let userID = UInt32(arguments[2]) else { exit(64) }
let reader = FingerprintReader(socketPath: arguments[1], serviceUserID: userID)
do throws(ReaderFailure) {
    switch arguments[3] {
    case "state":
        switch reader.state() {
        case .ready(_, let fingers): say("ready \(fingers.map(\.rawValue).joined(separator: " "))")
        case .nothingEnrolled: say("nothing enrolled")
        case .unusable(let failure): say("\(failure)")
        }
    case "hold":
        guard let stop = try? PollableCancellation() else { exit(1) }
        try reader.withClaim(until: stop) { _ in
            say("held")
            pause()
        }
    default:
        guard let stop = try? PollableCancellation() else { exit(1) }
        let result = try reader.withClaim(until: stop) { (claimed) throws(ReaderFailure) in
            try claimed.verify(within: .seconds(60)) { say("\($0)") }
        }
        say("\(result)")
    }
} catch { say("\(error)") }
