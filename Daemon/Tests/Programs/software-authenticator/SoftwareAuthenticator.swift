import ArgumentParser
import AuthenticatorRequests
import CTAP
import CTAPHID
import Cancellations
import Dispatch
import Foundation
import Synchronization
import Threading

/// A security key in software, for tests: CTAPHID in reports of 64 bytes over a Unix socket.
///
/// It prints `ready`, and `waiting PURPOSE` when a command waits for the user. Standard input drives it, one command a line, each
/// answered with `ok` or `unknown`; it ends with its standard input.
///
/// | line | |
/// | --- | --- |
/// | `touch`, `hold`, `deny` | what the user does from now on: touches at once, nothing, refuses |
/// | `unplug` | ends all connections, and answers nobody |
/// | `plug` | takes connections again, as an authenticator that just got power |
/// | `pin TEXT`, `pin` | sets the PIN, removes it |
/// | `tries N` | the tries left for the PIN |
/// | `wrong-fingers N` | the next N fingers do not match |
/// | `count` | prints `count N`, how many credentials there are |
@main
struct SoftwareAuthenticator: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "software-authenticator")

    @Argument(help: "The path of the socket; nothing may be there.") var socket: String
    @Option(help: "How it can be reached: usb or nfc.") var transport = "usb"
    @Option(help: "The PIN at the beginning.") var pin: String?
    @Option(help: "Places for discoverable credentials.") var capacity = 25
    @Option(help: "How long a command waits for the user, in seconds.") var timeout = 30.0
    @Flag(help: "It has a sensor of fingers.") var uv = false

    func run() throws {
        let device = SoftwareDevice(
            hub: try ReportHub(path: socket), storage: MemoryStorage(capacity: capacity),
            user: ScriptedUser(timeout: timeout, canVerify: uv) { say($0) }, transport: transport)
        if let pin { device.storage.setPIN(pin) }
        try Threads.start("reports") { device.serve() }
        say("ready")
        while let line = readLine() { say(device.obey(line)) }
        device.hub.unplug()
        unlink(socket)
    }
}

/// Prints a line at once.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

final class SoftwareDevice: Sendable {
    let hub: ReportHub
    let storage: MemoryStorage
    private let user: ScriptedUser
    private let transport: String
    /// nil while it is unplugged.
    private let server = Mutex<HIDServer?>(nil)

    init(hub: ReportHub, storage: MemoryStorage, user: ScriptedUser, transport: String) {
        self.hub = hub
        self.storage = storage
        self.user = user
        self.transport = transport
        plug()
    }

    func serve() {
        while true {
            let reports = hub.receive(within: HIDServer.interval)
            guard let server = server.withLock({ $0 }) else { continue }
            for report in reports { server.receive(report) }
            server.tick()
        }
    }

    /// Does what one line of standard input says.
    func obey(_ line: String) -> String {
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        let number = words.count > 1 ? Int(words[1]) : nil
        switch words.first {
        case "unplug": unplug()
        case "plug": plug()
        case "pin":
            if words.count > 1 { storage.setPIN(words[1]) } else { storage.removePIN() }
        case "tries": storage.setPINTriesLeft(number ?? CTAPLimits.pinTries)
        case "wrong-fingers": user.setWrongFingers(number ?? 1)
        case "count": say("count \(storage.credentials().count)")
        default:
            guard let word = words.first, let habit = ScriptedUser.Habit(rawValue: word) else { return "unknown" }
            user.setHabit(habit)
        }
        return "ok"
    }

    private func unplug() {
        let server = server.withLock { server in
            defer { server = nil }
            return server
        }
        hub.unplug()
        user.setUnplugged(true)
        server?.stop()
    }

    private func plug() {
        user.setUnplugged(false)
        let model = AuthenticatorModel(
            identifier: Array("software-authent".utf8), transports: [transport], isPlatform: false,
            alwaysVerifies: false, allowsReset: true, takesDomainsOnly: false)
        let engine = Engine(
            CTAPAuthenticator(
                model, storage: storage, pins: storage, interaction: user,
                clock: { .nanoseconds(Int64(DispatchTime.now().uptimeNanoseconds)) }))
        let (hub, user) = (hub, user)
        server.withLock {
            // Commands come one after the other, so nobody waits for this lock.
            $0 = HIDServer(
                send: { hub.send($0) }, needsUser: { user.isWaiting },
                respond: { request, cancellation in
                    let stop = Cancellation()
                    cancellation.whenCancelled { stop.cancel() }
                    return engine.respond(to: request.bytes, until: stop)
                })
        }
        hub.plug()
    }
}

private final class Engine: Sendable {
    private let authenticator: Mutex<CTAPAuthenticator>

    init(_ authenticator: CTAPAuthenticator) { self.authenticator = Mutex(authenticator) }

    func respond(to request: [UInt8], until cancellation: Cancellation) -> [UInt8] {
        authenticator.withLock { $0.respond(to: request, until: cancellation) }
    }
}
